"""`corl check FILE SOLUTION`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from corl.cli.main import one_line
from corl.errors import CorlError, Infeasible, InputError, described
from corl.files.json_values import from_json, is_number, to_json
from corl.files.opening import reading
from corl.problem import Problem
from corl.tolerance import agrees

__all__ = ["arguments", "execute", "judge", "read_solution"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the instance")
    parser.add_argument("solution", metavar="SOLUTION", help="JSON (a result, or the solution alone) or the problem's own format")
    parser.add_argument("--problem", metavar="NAME", help="the problem, where the content does not say")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def execute(args: argparse.Namespace) -> int:
    from corl.formatting import value
    from corl.loading import load

    problem, instance = load(args.file, args.problem)
    claimed = None
    try:  # a reader may see that it is none, as where a buffer has no offset
        solution, claimed = read_solution(problem, instance, Path(args.solution))
        objective = judge(problem, instance, solution, Path(args.solution))
    except Infeasible as error:
        _say(args, {"feasible": False, "objective": None, "claimed": claimed, "reason": str(error)}, f"infeasible: {error}")
        return 4
    fits = claimed is None or bool(agrees(claimed, objective))
    text = f"feasible, objective {value(objective)}"
    if not fits:
        text += f"; the file claims {value(claimed)}"
    if tolerated := problem.tolerated(instance, solution):
        text += f"; {tolerated}"
    found = {"feasible": True, "objective": objective, "claimed": claimed, "reason": None if fits else "wrong claim"}
    _say(args, found | {"tolerated": tolerated}, text)
    return 0 if fits else 4


def judge(problem: Problem, instance: Any, solution: Any, path: Path) -> float:
    """The objective of a solution that was read from `path`. Raises Infeasible, or InputError where it is none at all."""
    try:
        return float(problem.evaluate(instance, solution))
    except CorlError:
        raise
    except Exception as error:  # a judge that meets what is no solution
        raise InputError(f"no solution of {problem.name}: {described(error)}", file=str(path)) from error


def read_solution(problem: Problem, instance: Any, path: Path) -> tuple[Any, float | None]:
    """The solution in a file, and the objective that the file claims for it, if any.

    Raises InputError, or Infeasible where the reader sees already that it is no solution.
    """
    with reading(path):
        if path.suffix in problem.suffixes:
            return problem.read_solution(instance, path), None
        text = path.read_text(encoding="utf-8-sig")
    try:
        values = from_json(text)
    except InputError as error:
        accepted = ", ".join(["JSON", *(f"*{suffix}" for suffix in problem.suffixes)])
        raise InputError(f"{error.reason}; accepted: {accepted}", file=str(path)) from error
    claimed = None
    if isinstance(values, dict) and {"problem", "solution", "objective"} <= values.keys():
        if values["problem"] != problem.name:
            raise InputError(f"a solution of {values['problem']!r}, not of {problem.name}", file=str(path), field="problem")
        claimed, values = values["objective"], values["solution"]
        if values is None or not is_number(claimed):
            raise InputError("this result holds no solution with an objective", file=str(path), field="solution")
    try:
        return problem.from_json(instance, values), claimed
    except InputError as error:
        raise InputError(error.reason, file=str(path), line=error.line, field=error.field or "solution") from error


def _say(args: argparse.Namespace, values: dict[str, Any], text: str) -> None:
    print(to_json(values) if args.json else one_line(text))
