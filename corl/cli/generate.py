"""`corl generate PROBLEM [KIND]`: generate a random instance."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from corl.adapter import Problem
from corl.files.opening import replacing

__all__ = ["arguments", "execute", "write"]


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("problem", metavar="PROBLEM", help="a problem's name (corl list problems)")
    add("kind", metavar="KIND", nargs="?", help="the generator (corl list problems); default: the problem's first")
    add(
        "--size",
        metavar="N",
        type=int,
        help="the size of the instance (for bandits: the number of arms); short for --option size=N",
    )
    add("--seed", metavar="N", type=int, default=0, help="seed of the random numbers; default 0")
    add(
        "--option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="option of the generator; an unknown KEY lists the options",
    )
    add("--output", metavar="FILE", type=Path, help="the file to write; default: standard output")


def execute(args: argparse.Namespace) -> int:
    from corl import options, registry
    from corl.loading import generate

    problem = registry.problem(args.problem)
    size = {} if args.size is None else {problem.size_option: args.size}
    parameters = {"seed": args.seed, **size, **options.parse_pairs(args.option)}
    instance = generate(problem, args.kind or "", **parameters)
    write(problem, instance, args.output)
    return 0


def write(problem: Problem, instance: Any, output: Path | None) -> None:
    """Write an instance to a file, or to standard output."""
    if output is not None:
        with replacing(output) as partial:
            problem.write(instance, partial)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance"
        problem.write(instance, path)
        with open(path, encoding="utf-8") as file:
            shutil.copyfileobj(file, sys.stdout)
