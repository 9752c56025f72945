"""Solutions in files: reading, and evaluation independently of any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corl.adapter import Problem
from corl.errors import CorlError, InputError, described
from corl.files.json_values import from_json, is_number
from corl.files.opening import opened, plain_name, reading

__all__ = ["judge", "read_solution"]


def read_solution(problem: Problem, instance: Any, path: Path) -> tuple[Any, float | None]:
    """Return the solution in a file, and the objective value that the file states, or None.

    The file is JSON (a Result, or only the solution) or in one of the problem's own formats. Raises InputError, or Infeasible if
    the reader already finds that the solution is infeasible.
    """
    with reading(path):
        if plain_name(path).suffix.lower() in problem.suffixes:
            return problem.read_solution(instance, path), None
        with opened(path) as stream:
            text = stream.read().decode("utf-8-sig")
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


def judge(problem: Problem, instance: Any, solution: Any, path: Path) -> float:
    """Return the objective value of a solution from the file `path`. Raises Infeasible, or InputError if it is malformed."""
    try:
        return float(problem.evaluate(instance, solution))
    except CorlError:
        raise
    except Exception as error:  # `evaluate` may raise anything for a malformed solution
        raise InputError(f"not a solution of {problem.name}: {described(error)}", file=str(path)) from error
