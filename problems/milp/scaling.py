"""Units of a program's variables, rows and objective, and the program divided by these units.

The judge's tolerances are relative to the units; engines (SCIP, HiGHS, CP-SAT) solve the scaled program. The unit of a row, or of
the objective, is 1 if 1 lies between its smallest and its largest absolute coefficient, so that ordinary programs do not change.
Otherwise it is the absolute coefficient nearest to 1. Units are rounded to powers of two, so that dividing by them is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.milp.exact import beyond_side, digits, total
from corl.problems.milp.instance import INFINITY, MilpInstance

__all__ = ["Scaled", "column_units", "cost_unit", "unreliable", "integer_limits", "row_units", "scaled"]

_MIN_UNIT = 1e-9  # of a row in `shifted_to`: smaller distances to a side may be rounding errors of the data
_MAX_SPREAD_INTEGER = 1e9  # largest / smallest coefficient of a row of integers: engines treat 1e-9 as zero
_MAX_SPREAD_MIXED = 1e6  # ... of a row with continuous variables: above it, engines that substituted these lost solutions
_MAX_SIDE = 1e8  # side / smallest coefficient of a row: engines treat sides that differ by a relative 1e-9 as equal
_Floats = NDArray[np.float64]


def integer_limits(instance: MilpInstance) -> tuple[_Floats, _Floats]:
    """Return the variables' lower and upper limits, float64 [n] each; limits of integer variables are rounded inwards."""
    low, high = instance.lower, instance.upper
    with np.errstate(invalid="ignore"):
        least, most = np.ceil(low - digits(low)), np.floor(high + digits(high))
    return np.where(instance.integer & np.isfinite(low), least, low), np.where(instance.integer & np.isfinite(high), most, high)


def column_units(instance: MilpInstance) -> _Floats:
    """Return the units of the variables, float64 [n], powers of two.

    The unit of a continuous variable is the largest absolute value of its finite limits, but at most 1; without finite limits
    other than 0 it is 1, as for integer variables.
    """
    largest = np.zeros(instance.n)
    for limit in (instance.lower, instance.upper):
        largest = np.maximum(largest, np.where(np.isfinite(limit), np.abs(limit), 0.0))
    return _power(np.where(~instance.integer & (largest > 0.0), np.minimum(1.0, largest), 1.0))


def row_units(instance: MilpInstance) -> _Floats:
    """Return the units of the rows, float64 [m], powers of two.

    A unit is 1, clipped to the range of the row's absolute coefficients when variables are measured in their units.
    """
    sizes, unit = np.abs(instance.value) * column_units(instance)[instance.column], np.ones(instance.m)
    filled = np.diff(instance.first) > 0
    if filled.any():
        begins = instance.first[:-1][filled]
        unit[filled] = np.clip(1.0, np.minimum.reduceat(sizes, begins), np.maximum.reduceat(sizes, begins))
    return _power(unit)


def cost_unit(instance: MilpInstance) -> float:
    """Return the unit of the objective, a power of two: 1, clipped like the units of the rows."""
    sizes = np.abs(instance.c * column_units(instance))[instance.c != 0.0]
    return float(_power(np.clip(np.ones(1), sizes.min(), sizes.max()))[0]) if len(sizes) else 1.0


class Scaled(NamedTuple):
    """A scaled program, possibly shifted to another origin, and the conversion back to the instance."""

    program: MilpInstance
    """The scaled program; the instance itself if all units are 1 and the limits of integer variables are integers."""
    origin: _Floats
    """[n] the point of the scaled program that is 0 in `program`: integers for integer variables, 0 for continuous ones."""
    column: _Floats
    """[n] the units of the variables, powers of two."""
    cost: float
    """The unit of the objective, a power of two."""
    offset: float
    """The objective value of the instance for a solution whose objective value in `program` is 0."""

    def to_instance(self, x: _Floats) -> _Floats:
        """Return a solution of `program`, [n], as a solution of the instance, [n]."""
        return (x + self.origin) * self.column

    def to_program(self, x: _Floats) -> _Floats:
        """Return a solution of the instance, [n], as a solution of `program`, [n]."""
        return x / self.column - self.origin

    def bound(self, value: float) -> float:
        """Return a bound on the objective of `program` as a bound on that of the instance."""
        return value * self.cost + self.offset

    def shifted_to(self, x: _Floats) -> Scaled:
        """Return the program shifted so that the integer variables are 0 at the point `x`, [n], of `program`, after rounding.

        Each row is divided by the distance between its activity at that point and its nearer side, if this distance is below 1.
        Engines' tolerances are relative to the sides, so that the tolerances become as small as these distances.
        """
        program = self.program
        origin = np.where(program.integer, np.round(x), 0.0)
        origin_of_entries = origin[program.column]
        rounding = np.bincount(program.row, digits(program.value) * np.abs(origin_of_entries), program.m)
        lower, upper = (
            np.where(np.abs(distance) <= rounding + np.where(np.isfinite(side), digits(side), 0.0), 0.0, distance)
            for side in (program.row_lower, program.row_upper)
            for distance in (-beyond_side(program.value, origin_of_entries, program.first, side, 1.0),)
        )
        nearer = np.minimum(*(np.where((side != 0.0) & np.isfinite(side), np.abs(side), 1.0) for side in (lower, upper)))
        row = _power(np.minimum(1.0, np.maximum(nearer, _MIN_UNIT)))
        moved = replace(
            program, offset=0.0, value=program.value / row[program.row], row_lower=_in_units(lower, row),
            row_upper=_in_units(upper, row), lower=program.lower - origin, upper=program.upper - origin,
        )  # fmt: skip
        return Scaled(moved, self.origin + origin, self.column, self.cost, self.bound(total(program.c, origin, program.offset)))


def scaled(instance: MilpInstance) -> Scaled:
    """Return the program divided by its units."""
    column, row, cost = column_units(instance), row_units(instance), cost_unit(instance)
    lower, upper = integer_limits(instance)
    origin = np.zeros(instance.n)
    all_one = (column == 1.0).all() and (row == 1.0).all() and cost == 1.0
    if all_one and np.array_equal(lower, instance.lower) and np.array_equal(upper, instance.upper):
        return Scaled(instance, origin, column, 1.0, 0.0)
    program = replace(
        instance, c=instance.c * column / cost, offset=instance.offset if cost == 1.0 else 0.0,
        value=instance.value * column[instance.column] / row[instance.row], row_lower=_in_units(instance.row_lower, row),
        row_upper=_in_units(instance.row_upper, row), lower=lower / column, upper=upper / column,
    )  # fmt: skip
    return Scaled(program, origin, column, cost, instance.offset - program.offset)


def unreliable(program: MilpInstance) -> str:
    """Return why engines may prove something wrong about a scaled program, in one line; "" if their proofs are reliable."""
    mixed = np.bincount(program.row, ~program.integer[program.column], program.m) > 0
    sides = np.zeros(program.m)
    for side in (program.row_lower, program.row_upper):
        sides = np.maximum(sides, np.where(np.isfinite(side), np.abs(side), 0.0))
    smallest = np.full(program.m, np.inf)
    np.minimum.at(smallest, program.row, np.abs(program.value))
    with np.errstate(over="ignore"):
        sides /= smallest
    for what, ratios, limit in (
        ("largest coefficient", np.where(mixed, program.spreads, 1.0), _MAX_SPREAD_MIXED),
        ("largest coefficient", program.spreads, _MAX_SPREAD_INTEGER),
        ("side", sides, _MAX_SIDE),
    ):
        if (ratios > limit).any():
            i = int(ratios.argmax())
            message = f"the {what} of constraint {program.row_names[i]} is {ratios[i]:.3g} times its smallest coefficient"
            return f"{message}; engines are believed up to {limit:g}"
    return ""


def _power(values: _Floats) -> _Floats:
    """Return the nearest powers of two."""
    return np.exp2(np.round(np.log2(values)))


def _in_units(sides: _Floats, units: _Floats) -> _Floats:
    """Return the sides divided by the units, with absolute values of at most INFINITY / 10.

    Engines would treat a larger number as no side. No solution comes near such a side, so that the limit changes nothing.
    """
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(sides), np.clip(sides / units, -INFINITY / 10, INFINITY / 10), sides)
