"""`corl view FILE [SOLUTION]`: write a web page about an instance or a solution."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.result import Result

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the instance")
    parser.add_argument(
        "solution",
        metavar="SOLUTION",
        nargs="?",
        help="a solution file; if it is a result of corl solve in JSON, the page also shows the run",
    )
    parser.add_argument("--problem", metavar="NAME", help="the problem, if the content does not determine it")
    parser.add_argument(
        "--output", metavar="PAGE", type=Path, help="the page; default: FILE's name with .html, in the current folder"
    )
    parser.add_argument(
        "--against", metavar="OTHER", help="another solution file, of a job shop; the page marks the operations that have moved"
    )
    parser.add_argument(
        "--tiles",
        metavar="URL",
        default="",
        help="address of map tiles with {z}, {x} and {y}, for a map behind routes between longitudes and latitudes; "
        "without it, the page loads nothing",
    )


def execute(args: argparse.Namespace) -> int:
    from corl.cli.main import one_line
    from corl.errors import UsageError
    from corl.files.opening import plain_name, replacing
    from corl.files.solutions import judge, read_solution
    from corl.loading import load
    from corl.view.page import page

    output = args.output or Path(plain_name(args.file).stem + ".html")
    problem, instance = load(args.file, args.problem)
    solution = None
    if args.solution is not None:
        solution, _ = read_solution(problem, instance, Path(args.solution))
        judge(problem, instance, solution, Path(args.solution))
    if args.against is not None and solution is None:
        raise UsageError("--against: there is no SOLUTION to compare; accepted: FILE SOLUTION --against OTHER")
    against = None if args.against is None else read_solution(problem, instance, Path(args.against))[0]
    result = _result(args.solution, instance)
    facts, trace = (result.facts(), result.trace) if result else ((), ())
    html = page(problem, instance, solution, facts, trace, args.tiles, against)
    with replacing(output) as partial:
        partial.write_text(html, encoding="utf-8")
    print(one_line(output))
    return 0


def _result(path: str | None, instance: Any) -> Result | None:
    """Return the Result in a file, with its trace; None if the file holds only a solution."""
    from corl.errors import CorlError
    from corl.result import Result

    if path is None or Path(path).suffix != ".json":
        return None
    try:
        return Result.from_json(Path(path).read_text(encoding="utf-8-sig"), instance)
    except CorlError:
        return None
