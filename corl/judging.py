"""Judging: the objective value of a solution, by a Problem that must not modify it."""

from __future__ import annotations

from typing import Any

from corl.adapter import Problem
from corl.errors import SolverError

__all__ = ["judged"]


def judged(problem: Problem, instance: Any, solution: Any) -> float:
    """Return the objective value by the problem's `evaluate`.

    Raises SolverError if it modifies the solution's arrays, lists or dicts.
    """
    before = _contents(solution)
    value = float(problem.evaluate(instance, solution))
    if _contents(solution) != before:
        raise SolverError(f"problem {problem.name} changes the solution that it evaluates")
    return value


def _contents(part: Any) -> Any:
    """Return the contents of arrays, and of lists, tuples and dicts of them; None for other objects, which are not compared."""
    if isinstance(part, dict):
        return {key: _contents(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [type(part), *map(_contents, part)]
    if hasattr(part, "tobytes"):
        return part.dtype, part.shape, part.tobytes()
    if isinstance(part, float):
        return part.hex()  # NaN is equal to itself
    return part if isinstance(part, (int, str)) else None
