"""Judging: what a solution is worth, by a Problem that must not touch it."""

from __future__ import annotations

from typing import Any

from corl.adapter import Problem
from corl.errors import SolverError

__all__ = ["judged"]


def judged(problem: Problem, instance: Any, solution: Any) -> float:
    """What a problem's `evaluate` says. Raises SolverError where it changes the arrays, lists and dicts that it is to judge."""
    before = _contents(solution)
    value = float(problem.evaluate(instance, solution))
    if _contents(solution) != before:
        raise SolverError(f"problem {problem.name} changes the solution that it evaluates")
    return value


def _contents(part: Any) -> Any:
    """What arrays, and lists, tuples and dicts of them, hold; None for other objects, which are not looked into."""
    if isinstance(part, dict):
        return {key: _contents(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [type(part), *map(_contents, part)]
    if hasattr(part, "tobytes"):
        return part.dtype, part.shape, part.tobytes()
    if isinstance(part, float):
        return part.hex()  # NaN is equal to itself
    return part if isinstance(part, (int, str)) else None
