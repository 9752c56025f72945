"""`corl info FILE [SOLUTION]`: print facts about an instance, and about a solution of it."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the instance")
    parser.add_argument(
        "solution",
        metavar="SOLUTION",
        nargs="?",
        help="a solution file; also prints its objective value, and which parts are unserved and why",
    )
    parser.add_argument("--problem", metavar="NAME", help="the problem, if the content does not determine it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    from corl.cli.main import one_line
    from corl.files.json_values import to_json
    from corl.files.solutions import judge, read_solution
    from corl.loading import facts, load

    problem, instance = load(args.file, args.problem)
    found = facts(problem, instance)
    if args.solution is not None:
        solution, _ = read_solution(problem, instance, Path(args.solution))
        found["objective"] = judge(problem, instance, solution, Path(args.solution))
        found |= problem.explain(instance, solution)
    if args.json:
        print(to_json(found))
    else:
        width = max(map(len, found)) + 2
        print("\n".join(f"{key:<{width}}{one_line(fact)}" for key, fact in found.items()))
    return 0
