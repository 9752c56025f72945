"""`CpSat`: OR-Tools' CP-SAT for programs with bounded integer variables and rational coefficients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corl.options import option
from corl.problems.milp.exact import digits
from corl.problems.milp.linearisation import linear
from corl.problems.milp.scaling import cost_unit, integer_limits, row_units
from corl.solver import Solver
from corl.tolerance import tied

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run

__all__ = ["CpSat"]

_MAX_DENOMINATOR = 10**6  # of a row's coefficients, divided by the unit of the row
_MAX_SUM = 2**60  # of |coefficient * value| over a row; the engine's integers have 63 bits
_Fractions = dict[tuple[float, float], Fraction | None]
"""(coefficient, unit) -> coefficient / unit as a fraction; None if its denominator would be too large."""
_MAX_ENTRIES = 5_000_000  # of the constraint matrix; building a larger model would take over ten seconds


@dataclass(frozen=True)
class CpSat(Solver):
    """CP-SAT, whose coefficients are integers: each row is multiplied by the common denominator of its coefficients.

    The result is exact. Programs are refused if they have continuous variables, variables without limits, or a row whose
    coefficients, divided by the unit of the row (problems/milp/scaling.py), have no common denominator up to a million.
    """

    search_workers: int = option(0, "The number of CP-SAT's threads; 0: as many as `workers`.", low=1, special=0, scale="log")
    interleave: bool = option(False, "Whether the threads take turns in a fixed order instead of running side by side.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    own_workers: ClassVar[bool] = True  # `solve` itself uses all workers
    engine: ClassVar[str] = "CP-SAT"
    title: ClassVar[str] = "CP-SAT (OR-Tools): integers with limits, fractions as coefficients"

    def accepts(self, instance: MilpInstance) -> str:
        instance = linear(instance).program
        if instance.nonzeros > _MAX_ENTRIES:
            return f"its model would have {instance.nonzeros:,} coefficients; accepted: up to {_MAX_ENTRIES:,}"
        for j in (~instance.integer).nonzero()[0][:1].tolist():
            return f"variable {instance.names[j]} is continuous; accepted: integer variables"
        return _misfit(instance)

    def prepare(self, instance: MilpInstance) -> None:
        from corl.solvers.cp_sat import load_engine

        load_engine()

    def solve(self, instance: MilpInstance, run: Run) -> None:
        from corl.solvers.cp_sat import solve_model

        rows = linear(instance)
        model, variables, scale = _model(rows.program, run)
        if run.should_stop:
            return
        if run.solution is not None:
            hint = rows.extend(np.asarray(run.solution, np.float64))
            for variable, value in zip(variables, np.round(hint).astype(np.int64).tolist()):
                model.add_hint(variable, value)
        sign = -1.0 if instance.sense == "max" else 1.0

        def bound(value: float) -> float:
            """Return a bound on the model's objective, which is `scale` times the instance's, as a bound on the instance's.

            A bound that differs from the incumbent's objective value only by rounding becomes equal to that value.
            """
            unscaled = sign * math.ceil(sign * value - 1e-6) / float(scale) + instance.offset
            best = run.objective
            return best if best is not None and tied(unscaled, best) else unscaled

        solve_model(
            model, run, lambda value: np.array([value(variable) for variable in variables[: instance.n]], np.float64),
            search_workers=self.search_workers, interleave=self.interleave, bound=bound,
        )  # fmt: skip


def _misfit(instance: MilpInstance) -> str:
    """Return, in one line, which variable or row CP-SAT cannot represent; "" if it can represent all."""
    largest = [max(abs(a), abs(b)) for a, b in zip(*(limits.tolist() for limits in integer_limits(instance)))]
    for name, value in zip(instance.names, largest):
        if not value < _MAX_SUM:
            return f"variable {name} has no limits, or too large ones; accepted: integers between -2**60 and 2**60"
    values, columns, first = instance.value.tolist(), instance.column.tolist(), instance.first.tolist()
    rows = [("the objective", list(range(instance.n)), instance.c.tolist(), cost_unit(instance))]
    units = row_units(instance).tolist()
    rows += [
        (f"constraint {name}", columns[a:b], values[a:b], unit)
        for name, a, b, unit in zip(instance.row_names, first[:-1], first[1:], units)
    ]
    fractions: _Fractions = {}
    for place, row, coefficients, unit in rows:
        integers, scale = _integers(coefficients, unit, fractions)
        if scale == 0:
            worst = next((v for v in coefficients if fractions[v, unit] is None), None)
            what = (
                f"the coefficients have no common denominator in {place}"
                if worst is None
                else f"coefficient {worst!r} in {place}"
            )
            return f"{what}; accepted: fractions with a common denominator up to 10**6"
        if sum(map(mul, map(abs, integers), map(largest.__getitem__, row))) >= _MAX_SUM:
            return f"{place} may reach 2**60; accepted: smaller sums"
    return ""


def _integers(coefficients: Sequence[float], unit: float, fractions: _Fractions) -> tuple[list[int], Fraction]:
    """Return the coefficients multiplied by the factor that makes them integers without a common divisor, and this factor.

    Returns ([], 0) if the common denominator is too large.

    Args:
        coefficients: The coefficients of a row.
        unit: The unit of the row.
        fractions: A cache of the coefficients as fractions, extended in place.
    """
    scale, distinct = 1, dict.fromkeys(coefficients)  # a row of thousands often has few different coefficients
    for value in distinct:
        if (value, unit) not in fractions:
            fraction = Fraction(value / unit).limit_denominator(_MAX_DENOMINATOR)
            fractions[value, unit] = fraction if float(fraction) == value / unit else None
        fraction_or_none = fractions[value, unit]
        scale = 0 if fraction_or_none is None else math.lcm(scale, fraction_or_none.denominator)
        if not 0 < scale <= _MAX_DENOMINATOR:
            return [], Fraction(0)
    integers = {value: int((fractions[value, unit] or Fraction(0)) * scale) for value in distinct}
    divisor = math.gcd(*integers.values()) or 1
    integers = {value: number // divisor for value, number in integers.items()}
    return [integers[value] for value in coefficients], Fraction(scale, divisor) / Fraction(unit)


def _model(instance: MilpInstance, run: Run) -> tuple[Any, list[Any], Fraction]:
    """Return CP-SAT's model, its variables, and the factor by which the objective is multiplied in the model."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [model.new_int_var(int(a), int(b), "") for a, b in zip(*integer_limits(instance))]
    fractions: _Fractions = {}

    def expression(columns: list[int], coefficients: list[float], unit: float) -> tuple[Any, Fraction]:
        integers, scale = _integers(coefficients, unit, fractions)
        return cp_model.LinearExpr.weighted_sum([variables[j] for j in columns], integers), scale

    values, columns, first = instance.value.tolist(), instance.column.tolist(), instance.first.tolist()
    units = row_units(instance).tolist()
    for i, (low, high) in enumerate(zip(instance.row_lower.tolist(), instance.row_upper.tolist())):
        a, b = first[i], first[i + 1]
        if a == b:
            continue
        row, scale = expression(columns[a:b], values[a:b], units[i])
        model.add_linear_constraint(row, -_side(-low, scale), _side(high, scale))
        if i % 256 == 0 and run.should_stop:
            break
    target, scale = expression(list(range(instance.n)), instance.c.tolist(), cost_unit(instance))
    (model.maximize if instance.sense == "max" else model.minimize)(target)
    return model, variables, scale


def _side(upper: float, scale: Fraction) -> int:
    """Return the largest integer that `scale` times a row may reach; an upper side of at least _MAX_SUM means no limit."""
    if abs(upper * float(scale)) >= _MAX_SUM:
        return int(math.copysign(_MAX_SUM, upper))
    rounding = float(digits(np.array([upper]))[0])
    return math.floor((Fraction(upper) + Fraction(rounding)) * scale)
