"""`corl generate PROBLEM [KIND]`"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from corl.errors import UsageError
from corl.files import replacing

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("problem", metavar="PROBLEM", help="a name (corl list problems)")
    add("kind", metavar="KIND", nargs="?", help="the generator (corl list problems); default: the first")
    add("--size", metavar="N", type=int, help="short for --option size=N")
    add("--seed", metavar="N", type=int, default=0, help="of the random numbers; default 0")
    add("--option", metavar="KEY=VALUE", action="append", default=[], help="of the generator; an unknown KEY lists them")
    add("--output", metavar="FILE", type=Path, help="default: standard output")


def execute(args: argparse.Namespace) -> int:
    from corl import options, registry

    problem = registry.problem(args.problem)
    kinds = problem.generators
    if not kinds:
        raise UsageError(f"{args.problem} has no generators")
    kind: str = args.kind or next(iter(kinds))
    if kind not in kinds:
        raise UsageError(f"{args.problem} has no generator {kind!r}; there are: {', '.join(kinds)}")
    size = {} if args.size is None else {"size": args.size}
    instance = options.call(kinds[kind], {"seed": args.seed, **size, **options.parse_pairs(args.option)})
    if args.output is not None:
        with replacing(args.output) as partial:
            problem.write(instance, partial)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance"
        problem.write(instance, path)
        with open(path, encoding="utf-8") as file:
            shutil.copyfileobj(file, sys.stdout)
    return 0
