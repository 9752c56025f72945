"""The units of a program's variables, rows and objective, and the program in them: what is judged, and what engines see.

A unit is 1 where numbers on both sides of 1 stand beside it, so that ordinary programs are left as they are, else the size of the
one nearest to 1. Programs are divided by the power of two nearest to it, which changes no digit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.milp.exact import beyond_side, digits, total
from corl.problems.milp.instance import INFINITY, MilpInstance

__all__ = ["Scaled", "column_units", "cost_unit", "doubt", "integer_limits", "row_units", "scaled"]

_SMALLEST = 1e-9  # unit of a row about a point: what it lacks there may be the rounding of its data
_SPREAD_INTEGER = 1e9  # largest coefficient by smallest: engines take 1e-9 for zero
_SPREAD_MIXED = 1e6  # beyond it, they were seen to lose solutions where they replace a continuous variable by the rest of its row
_LARGEST_SIDE = 1e8  # by smallest coefficient: engines see no difference between two sides that differ by 1e-9 of themselves
_Floats = NDArray[np.float64]


def integer_limits(instance: MilpInstance) -> tuple[_Floats, _Floats]:
    """The limits, [n] each, those of integer variables the least and the greatest integer between them."""
    low, high = instance.lower, instance.upper
    with np.errstate(invalid="ignore"):
        least, most = np.ceil(low - digits(low)), np.floor(high + digits(high))
    return np.where(instance.integer & np.isfinite(low), least, low), np.where(instance.integer & np.isfinite(high), most, high)


def column_units(instance: MilpInstance) -> _Floats:
    """[n] powers of two: of a continuous variable the larger of its finite limits, in size, where that is below 1; else 1."""
    largest = np.zeros(instance.n)
    for limit in (instance.lower, instance.upper):
        largest = np.maximum(largest, np.where(np.isfinite(limit), np.abs(limit), 0.0))
    return _power(np.where(~instance.integer & (largest > 0.0), np.minimum(1.0, largest), 1.0))


def row_units(instance: MilpInstance) -> _Floats:
    """[m] powers of two: 1, but no more than the largest coefficient in the variables' units, and no less than the smallest."""
    sizes, unit = np.abs(instance.value) * column_units(instance)[instance.column], np.ones(instance.m)
    filled = np.diff(instance.first) > 0
    if filled.any():
        begins = instance.first[:-1][filled]
        unit[filled] = np.clip(1.0, np.minimum.reduceat(sizes, begins), np.maximum.reduceat(sizes, begins))
    return _power(unit)


def cost_unit(instance: MilpInstance) -> float:
    """The same of the objective."""
    sizes = np.abs(instance.c * column_units(instance))[instance.c != 0.0]
    return float(_power(np.clip(np.ones(1), sizes.min(), sizes.max()))[0]) if len(sizes) else 1.0


class Scaled(NamedTuple):
    """A program in its own units, perhaps about another origin, and the way back."""

    program: MilpInstance
    """The instance itself where all units are 1 and the integers' limits integers."""
    origin: _Floats
    """[n] integers, of integer variables alone: what the program calls 0."""
    column: _Floats
    """[n] powers of two: what the program calls 1."""
    cost: float
    """A power of two: what its objective calls 1."""
    offset: float
    """What the instance's objective is where the program's is 0."""

    def values(self, x: _Floats) -> _Floats:
        """A solution of the program as one of the instance, [n]."""
        return (x + self.origin) * self.column

    def own(self, x: _Floats) -> _Floats:
        """The inverse."""
        return x / self.column - self.origin

    def bound(self, value: float) -> float:
        """A bound on the program's objective as one on the instance's."""
        return value * self.cost + self.offset

    def about(self, x: _Floats) -> Scaled:
        """The same about the integers of x, [n], a point of the program, with rows in units of what x lacks of their sides.

        Engines' tolerances are shares of the sides, hence as small as these.
        """
        program = self.program
        origin = np.where(program.integer, np.round(x), 0.0)
        beside = origin[program.column]
        known = np.bincount(program.row, digits(program.value) * np.abs(beside), program.m)
        lower, upper = (
            np.where(np.abs(rest) <= known + np.where(np.isfinite(side), digits(side), 0.0), 0.0, rest)
            for side in (program.row_lower, program.row_upper)
            for rest in (-beyond_side(program.value, beside, program.first, side, 1.0),)
        )
        least = np.minimum(*(np.where((side != 0.0) & np.isfinite(side), np.abs(side), 1.0) for side in (lower, upper)))
        row = _power(np.minimum(1.0, np.maximum(least, _SMALLEST)))
        moved = replace(
            program, offset=0.0, value=program.value / row[program.row], row_lower=_held(lower, row),
            row_upper=_held(upper, row), lower=program.lower - origin, upper=program.upper - origin,
        )  # fmt: skip
        return Scaled(moved, self.origin + origin, self.column, self.cost, self.bound(total(program.c, origin, program.offset)))


def scaled(instance: MilpInstance) -> Scaled:
    """The program in its own units."""
    column, row, cost = column_units(instance), row_units(instance), cost_unit(instance)
    lower, upper = integer_limits(instance)
    origin = np.zeros(instance.n)
    same = (column == 1.0).all() and (row == 1.0).all() and cost == 1.0
    if same and np.array_equal(lower, instance.lower) and np.array_equal(upper, instance.upper):
        return Scaled(instance, origin, column, 1.0, 0.0)
    program = replace(
        instance, c=instance.c * column / cost, offset=instance.offset if cost == 1.0 else 0.0,
        value=instance.value * column[instance.column] / row[instance.row], row_lower=_held(instance.row_lower, row),
        row_upper=_held(instance.row_upper, row), lower=lower / column, upper=upper / column,
    )  # fmt: skip
    return Scaled(program, origin, column, cost, instance.offset - program.offset)


def doubt(program: MilpInstance) -> str:
    """Why what engines prove of a program in its own units may be false, in words; "" if they can be believed."""
    mixed = np.bincount(program.row, ~program.integer[program.column], program.m) > 0
    sides = np.zeros(program.m)
    for side in (program.row_lower, program.row_upper):
        sides = np.maximum(sides, np.where(np.isfinite(side), np.abs(side), 0.0))
    smallest = np.full(program.m, np.inf)
    np.minimum.at(smallest, program.row, np.abs(program.value))
    with np.errstate(over="ignore"):
        sides /= smallest
    for what, found, most in (
        ("largest coefficient", np.where(mixed, program.spreads, 1.0), _SPREAD_MIXED),
        ("largest coefficient", program.spreads, _SPREAD_INTEGER),
        ("side", sides, _LARGEST_SIDE),
    ):
        if (found > most).any():
            i = int(found.argmax())
            said = f"the {what} of constraint {program.row_names[i]} is {found[i]:.3g} times its smallest coefficient"
            return f"{said}; engines are believed up to {most:g}"
    return ""


def _power(values: _Floats) -> _Floats:
    """The nearest powers of two."""
    return np.exp2(np.round(np.log2(values)))


def _held(sides: _Floats, units: _Floats) -> _Floats:
    """Sides in units; those that a unit lifts to where engines see none are put below that: no solution comes near either."""
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(sides), np.clip(sides / units, -INFINITY / 10, INFINITY / 10), sides)
