"""The judge of solutions: checks integrality, bounds and constraints in NumPy, and shares no code with solvers.

The tolerances, as in MIP solvers:
- An integer variable may differ by 1e-6 from an integer. It is rounded to this integer before anything else is checked.
- A continuous variable may violate its bound by 1e-6 * max(unit, |bound|).
- A row whose variables are all integer must hold exactly, except for the precision of decimal coefficients (exact.digits).
- Any other row may violate its side by 1e-6 * max(unit, |side|, largest |a_ij x_j| of the row).
- A semi-continuous variable, or a member of a special ordered set, of at most 1e-6 * unit in absolute value is 0.
- A row with an indicator must hold if its binary variable, after rounding, has the value that activates it.

Units (scaling.py) are powers of two. They are 1 in ordinary programs, smaller if all numbers are small, and larger if all
coefficients of a row are large, so that the verdict does not depend on the units in which the data are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.milp.conditions import Conditions, OrderedSet
from corl.problems.milp.exact import beyond_side, digits, total
from corl.problems.milp.instance import INFINITY, MilpInstance
from corl.problems.milp.scaling import column_units, integer_limits, row_units
from corl.tolerance import FEASIBILITY

__all__ = ["check", "contradiction", "objective", "objective_of", "violation"]

_ROUNDING = 1e-9  # relative violations up to this size are attributed to rounding in sums


def objective(instance: MilpInstance, solution: Any) -> float:
    """Return c @ x + offset for a solution x, float64 [n], that must be feasible. Raises Infeasible as `check` does."""
    return objective_of(instance, check(instance, solution))


def objective_of(instance: MilpInstance, x: NDArray[np.float64]) -> float:
    """Return c @ x + offset for x, float64 [n], after rounding its integer variables."""
    return total(instance.c, _whole(instance, x), instance.offset)


def check(instance: MilpInstance, solution: Any) -> NDArray[np.float64]:
    """Return the solution as float64 [n], if it is feasible. Raises Infeasible otherwise, naming the first violated limit."""
    try:
        x = np.asarray(solution, np.float64)
    except (TypeError, ValueError):
        raise Infeasible("a solution is an array of numbers, one for each variable") from None
    if x.shape != (instance.n,):
        raise Infeasible(f"a solution has a number for each of {instance.n} variables; this has shape {x.shape}")
    within = np.abs(x) < INFINITY  # false for NaN as well
    if not within.all():
        j = int(np.argmin(within))
        raise Infeasible(f"variable {instance.names[j]} has no finite value below {INFINITY:g} in size: {float(x[j])!r}")
    whole = _whole(instance, x)
    fraction = np.where(instance.integer, np.abs(x - whole), 0.0)
    if (fraction > FEASIBILITY).any():
        j = int(np.argmax(fraction > FEASIBILITY))
        raise Infeasible(f"variable {instance.names[j]} is {float(x[j])!r}, not an integer")
    for part in _limits(instance, whole):
        if (broken := part.broken(FEASIBILITY)).any():
            k = int(np.argmax(broken > 0.0))
            limit = f"its limit {float(part.limit[k])!r}"
            raise Infeasible(f"{part.what} {part.names[k]} is {part.outside} {limit} by {float(broken[k]):.10g}")
    if instance.conditions is not None:
        for ordered in instance.conditions.sets:
            _check_set(instance, ordered, whole)
    return x


def _zero(instance: MilpInstance, x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return bool [n], whether each value counts as 0."""
    return np.asarray(np.abs(x) <= FEASIBILITY * column_units(instance))


def _check_set(instance: MilpInstance, ordered: OrderedSet, x: NDArray[np.float64]) -> None:
    """Raise Infeasible if too many members of an ordered set differ from 0, or two that are not neighbours."""
    used = np.flatnonzero(~_zero(instance, x)[ordered.columns])
    if len(used) > ordered.kind or (len(used) == 2 and used[1] - used[0] > 1):
        first, last = (instance.names[int(ordered.columns[k])] for k in (used[0], used[-1]))
        most = "at most one member" if ordered.kind == 1 else "at most two members, which are neighbours,"
        raise Infeasible(f"set {ordered.name}: {first} and {last} differ from 0; accepted: {most} different from 0")


def _enforced(conditions: Conditions, x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return bool [m], whether each row must hold for the values x, float64 [n], with integer variables rounded."""
    return np.asarray((conditions.indicator < 0) | (x[conditions.indicator] == conditions.active))


def violation(instance: MilpInstance, x: NDArray[np.float64]) -> str:
    """Return one line about the largest violation of a feasible x, float64 [n]; "" if all are within rounding."""
    whole = _whole(instance, x)
    fraction = np.abs(x - whole)
    violations = [("integer variable", instance.names, np.where(fraction > _ROUNDING, fraction, 0.0))]
    violations += [(part.what, part.names, part.broken(_ROUNDING)) for part in _limits(instance, whole)]
    size, place = max(
        (float(sizes.max()), f"{what} {names[int(sizes.argmax())]}") for what, names, sizes in violations if len(sizes)
    )
    return f"{place} is broken by {size:.2g}, within the tolerance {FEASIBILITY:g}" if size else ""


class _Limits(NamedTuple):
    """The lower or the upper limits of all variables or all rows, and by how much the values violate them."""

    what: str
    """"variable" or "constraint"."""
    names: tuple[str, ...]
    """[k] the names of the variables or constraints."""
    outside: str
    """"below" for lower limits, "above" for upper limits: the side on which violating values lie."""
    limit: NDArray[np.float64]
    """[k]"""
    beyond: NDArray[np.float64]
    """[k] by how much each value violates its limit; negative if it does not."""
    size: NDArray[np.float64]
    """[k] the size by which the relative tolerance is multiplied; 0 for no tolerance."""
    rounding: NDArray[np.float64]
    """[k] the precision of the limit and of the value: violations up to it are always accepted."""

    def broken(self, tolerance: float) -> NDArray[np.float64]:
        """Return [k] violations in `beyond` that exceed tolerance * `size` + `rounding`; 0 for the others."""
        return np.where(self.beyond > tolerance * self.size + self.rounding, self.beyond, 0.0)


def _whole(instance: MilpInstance, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x, float64 [n], with integer variables rounded."""
    return np.where(instance.integer, np.round(x), x)


def _limits(instance: MilpInstance, x: NDArray[np.float64]) -> Iterator[_Limits]:
    """Yield the lower and upper limits of the variables, then those of the rows.

    Limits of integer variables, and of rows whose variables are all integer, have no relative tolerance.

    Args:
        instance: A program of n variables.
        x: float64 [n], with integer variables rounded.
    """
    units = column_units(instance)
    low, high = integer_limits(instance)
    below, above = instance.row_lower, instance.row_upper
    if instance.conditions is not None:
        out, enforced = instance.conditions.semicontinuous & _zero(instance, x), _enforced(instance.conditions, x)
        low, high = np.where(out, np.minimum(low, x), low), np.where(out, np.maximum(high, x), high)
        below, above = np.where(enforced, below, -np.inf), np.where(enforced, above, np.inf)
    for outside, limit, beyond in (("below", low, low - x), ("above", high, x - high)):
        size = np.where(instance.integer, 0.0, np.maximum(units, _finite(limit)))
        yield _Limits("variable", instance.names, outside, limit, beyond, size, np.zeros(instance.n))
    x_of_entries, m = x[instance.column], instance.m
    terms = np.abs(instance.value * x_of_entries)
    mixed = np.bincount(instance.row, ~instance.integer[instance.column], m) > 0
    largest = row_units(instance)
    np.maximum.at(largest, instance.row, terms)
    row_rounding = np.bincount(instance.row, digits(instance.value) * np.abs(x_of_entries), m).astype(np.float64)
    for outside, limit, sign in (("below", below, -1.0), ("above", above, 1.0)):
        side = _finite(limit)
        size = np.where(mixed, np.maximum(largest, side), 0.0)
        rounding = row_rounding + digits(side)
        beyond = beyond_side(instance.value, x_of_entries, instance.first, limit, sign, np.where(mixed, np.inf, rounding))
        yield _Limits("constraint", instance.row_names, outside, limit, beyond, size, rounding)


def _finite(limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the absolute values of the limits; 0 for infinite ones."""
    return np.where(np.isfinite(limits), np.abs(limits), 0.0)


def contradiction(instance: MilpInstance) -> str:
    """Return why the program is infeasible, if single limits prove it; "" otherwise.

    Reasons are a lower limit above an upper one, limits of an integer variable with no integer between them, and a row without
    coefficients whose limits exclude 0.
    """
    lower, upper, below, above = instance.lower, instance.upper, instance.row_lower, instance.row_upper
    least, most = integer_limits(instance)
    if instance.conditions is not None:
        out, always = instance.conditions.semicontinuous, instance.conditions.indicator < 0
        least, most = np.where(out, np.minimum(least, 0.0), least), np.where(out, np.maximum(most, 0.0), most)
        below, above = np.where(always, below, -np.inf), np.where(always, above, np.inf)
    empty = np.diff(instance.first) == 0
    for k in np.flatnonzero(lower > upper)[:1].tolist():
        return f"variable {instance.names[k]} has the lower limit {lower[k]:.10g} and the upper limit {upper[k]:.10g}"
    for k in np.flatnonzero(instance.integer & (least > most))[:1].tolist():
        return f"there is no integer between the limits of variable {instance.names[k]}, {lower[k]:.10g} and {upper[k]:.10g}"
    for k in np.flatnonzero(below > above)[:1].tolist():
        return f"constraint {instance.row_names[k]} is to be at least {below[k]:.10g} and at most {above[k]:.10g}"
    for k in np.flatnonzero(empty & ((below > 0.0) | (above < 0.0)))[:1].tolist():
        return f"constraint {instance.row_names[k]} has no coefficients, and 0 is not from {below[k]:.10g} to {above[k]:.10g}"
    return ""
