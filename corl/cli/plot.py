"""`corl plot FILE [SOLUTION]`: draw an instance or a solution into an image file."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the instance")
    parser.add_argument("solution", metavar="SOLUTION", nargs="?", help="a solution file; default: draw only the instance")
    parser.add_argument("--problem", metavar="NAME", help="the problem, if the content does not determine it")
    parser.add_argument(
        "--output",
        metavar="IMAGE",
        type=Path,
        help="a .png, .svg or .pdf file; default: FILE's name with .png, in the current folder",
    )


def execute(args: argparse.Namespace) -> int:
    from corl.cli.main import one_line
    from corl.files.drawing import check_name, save
    from corl.files.opening import plain_name
    from corl.files.solutions import judge, read_solution
    from corl.loading import load

    output = args.output or Path(plain_name(args.file).stem + ".png")
    check_name(output)
    problem, instance = load(args.file, args.problem)
    solution = None
    if args.solution is not None:
        solution, _ = read_solution(problem, instance, Path(args.solution))
        judge(problem, instance, solution, Path(args.solution))
    save(problem, instance, solution, output)
    print(one_line(output))
    return 0
