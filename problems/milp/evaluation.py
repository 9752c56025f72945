"""The judge of solutions: bounds, integrality and rows in NumPy, sharing nothing with any solver.

Tolerances, those that MIP solvers share: a variable may pass its bound by 1e-6 x max(1, |bound|); an integer variable may
be 1e-6 from an integer; a row may pass its side by 1e-6 x max(1, |side|, its largest |a_ij x_j|).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.milp.instance import MilpInstance

__all__ = ["TOLERANCE", "activities", "check_solution", "objective", "objective_of"]

TOLERANCE = 1e-6


def objective(instance: MilpInstance, solution: Any) -> float:
    """c x + offset of a feasible solution, float64 [n]. Raises Infeasible, naming the first limit that is broken."""
    return objective_of(instance, check_solution(instance, solution))


def objective_of(instance: MilpInstance, x: NDArray[np.float64]) -> float:
    """c x + offset."""
    return float(instance.c @ x + instance.offset)


def activities(instance: MilpInstance, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """A x, [m]."""
    return np.asarray(np.bincount(instance.row, instance.value * x[instance.column], instance.m), np.float64)


def check_solution(instance: MilpInstance, solution: Any) -> NDArray[np.float64]:
    """The solution as float64 [n], if it is one. Raises Infeasible otherwise."""
    try:
        x = np.asarray(solution, np.float64)
    except (TypeError, ValueError):
        raise Infeasible("a solution is an array of numbers, one for each variable") from None
    if x.shape != (instance.n,):
        raise Infeasible(f"a solution has a number for each of {instance.n} variables; this has shape {x.shape}")
    if not np.isfinite(x).all():
        raise Infeasible(f"variable {instance.names[int(np.argmin(np.isfinite(x)))]} has no finite value")
    _check_limits(instance.names, "variable", x, instance.lower, instance.upper, np.zeros(instance.n))
    fraction = np.where(instance.integer, np.abs(x - np.round(x)), 0.0)
    if (fraction > TOLERANCE).any():
        j = int(np.argmax(fraction > TOLERANCE))
        raise Infeasible(f"variable {instance.names[j]} is {float(x[j])!r}, not an integer")
    largest = np.zeros(instance.m)
    np.maximum.at(largest, instance.row, np.abs(instance.value * x[instance.column]))
    activity = activities(instance, x)
    _check_limits(instance.row_names, "constraint", activity, instance.row_lower, instance.row_upper, largest)
    return x


def _check_limits(
    names: tuple[str, ...],
    what: str,
    values: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    largest: NDArray[np.float64],
) -> None:
    """Raise Infeasible at the first value outside its limits by more than the tolerance."""
    for limit, beyond, word in ((lower, lower - values, "below"), (upper, values - upper, "above")):
        scale = np.maximum(np.maximum(1.0, largest), np.where(np.isinf(limit), 1.0, np.abs(limit)))
        broken = beyond > TOLERANCE * scale
        if broken.any():
            k = int(np.argmax(broken))
            raise Infeasible(f"{what} {names[k]} is {float(values[k])!r}, {word} its limit {float(limit[k])!r}")
