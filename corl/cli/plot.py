"""`corl plot FILE [SOLUTION]`"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the instance")
    parser.add_argument("solution", metavar="SOLUTION", nargs="?", help="without it the instance alone is drawn")
    parser.add_argument("--problem", metavar="NAME")
    parser.add_argument("--output", metavar="IMAGE", type=Path, help="default: FILE's name with .png, in the current folder")


def execute(args: argparse.Namespace) -> int:
    from corl.cli.check import read_solution
    from corl.drawing import save
    from corl.solving import load

    problem, instance = load(args.file, args.problem)
    solution = None
    if args.solution is not None:
        solution, _ = read_solution(problem, instance, Path(args.solution))
        problem.evaluate(instance, solution)
    output = args.output or Path(Path(args.file).stem + ".png")
    save(problem, instance, solution, output)
    print(output)
    return 0
