"""`corl check FILE SOLUTION`: evaluate a solution file, independently of any solver."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from corl.cli.main import one_line
from corl.errors import Infeasible
from corl.files.json_values import to_json
from corl.files.solutions import judge, read_solution
from corl.tolerance import agrees

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the instance")
    parser.add_argument("solution", metavar="SOLUTION", help="JSON (a result, or the solution alone) or the problem's own format")
    parser.add_argument("--problem", metavar="NAME", help="the problem, if the content does not determine it")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def execute(args: argparse.Namespace) -> int:
    from corl.formatting import value
    from corl.loading import load

    problem, instance = load(args.file, args.problem)
    claimed = None
    try:  # reading may already raise Infeasible, for example if a buffer has no offset
        solution, claimed = read_solution(problem, instance, Path(args.solution))
        objective = judge(problem, instance, solution, Path(args.solution))
    except Infeasible as error:
        _say(args, {"feasible": False, "objective": None, "claimed": claimed, "reason": str(error)}, f"infeasible: {error}")
        return 4
    claim_agrees = claimed is None or bool(agrees(claimed, objective))
    text = f"feasible, objective {value(objective)}"
    if not claim_agrees:
        text += f"; the file claims {value(claimed)}"
    if tolerated := problem.tolerance_note(instance, solution):
        text += f"; {tolerated}"
    found = {"feasible": True, "objective": objective, "claimed": claimed, "reason": None if claim_agrees else "wrong claim"}
    _say(args, found | {"tolerated": tolerated}, text)
    return 0 if claim_agrees else 4


def _say(args: argparse.Namespace, values: dict[str, Any], text: str) -> None:
    print(to_json(values) if args.json else one_line(text))
