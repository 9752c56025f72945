"""Judging: the objective value of a solution, with a check that the Problem does not modify the solution."""

from __future__ import annotations

from typing import Any

from corl.adapter import Problem
from corl.errors import SolverError

__all__ = ["judged"]


def judged(problem: Problem, instance: Any, solution: Any) -> float:
    """Return the objective value that `problem.evaluate` computes.

    Raises SolverError if `evaluate` modifies the solution's arrays, lists or dicts.
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
        return part.hex()  # so that NaN equals NaN
    return part if isinstance(part, (int, str)) else None
