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
from corl.problems.milp.scaling import cost_unit, integer_limits, row_units
from corl.solver import Solver
from corl.tolerance import tied

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run

__all__ = ["CpSat"]

_LARGEST_DENOMINATOR = 10**6  # of each coefficient in the unit of its row, and common to the row
_LARGEST_SUM = 2**60  # of |coefficient x value| over a row; the engine's integers have 63 bits
_Known = dict[tuple[float, float], Fraction | None]  # (coefficient, unit) -> coefficient / unit as a fraction; None if it is none
_MOST = 5_000_000  # entries of the matrix; building a larger model would take over ten seconds


@dataclass(frozen=True)
class CpSat(Solver):
    """CP-SAT with an integer variable per variable and a linear constraint per row, times the row's common denominator.

    The result is exact. Continuous variables, integers without limits, and rows whose coefficients, in the unit of the row, have
    no common denominator up to a million are refused.
    """

    search_workers: int = option(0, "Its threads; 0: as many as `workers`.", low=1, also=0, scale="log")
    interleave: bool = option(False, "Whether the threads take turns in a fixed order instead of running side by side.")

    limit_free: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True
    title: ClassVar[str] = "CP-SAT (OR-Tools): integers with limits, fractions as coefficients"

    def accepts(self, instance: MilpInstance) -> str:
        if instance.nonzeros > _MOST:
            return f"its model would have {instance.nonzeros:,} coefficients; accepted: up to {_MOST:,}"
        for j in (~instance.integer).nonzero()[0][:1].tolist():
            return f"variable {instance.names[j]} is continuous; accepted: integer variables"
        return _misfit(instance)

    def prepare(self, instance: MilpInstance) -> None:
        from corl.solvers.cp_sat import load_engine

        load_engine()

    def solve(self, instance: MilpInstance, run: Run) -> None:
        from corl.solvers.cp_sat import solve_model

        model, variables, scale = _model(instance, run)
        if run.should_stop:
            return
        if run.solution is not None:
            for variable, value in zip(variables, np.round(run.solution).astype(np.int64).tolist()):
                model.add_hint(variable, value)
        sign = -1.0 if instance.sense == "max" else 1.0

        def bound(value: float) -> float:
            """Return the bound on the objective for one on the engine's, which is `scale` times as large.

            A bound that differs from the incumbent's objective value only by rounding becomes that value.
            """
            own = sign * math.ceil(sign * value - 1e-6) / float(scale) + instance.offset
            best = run.objective
            return best if best is not None and tied(own, best) else own

        solve_model(
            model, run, lambda value: np.array([value(variable) for variable in variables], np.float64),
            search_workers=self.search_workers, interleave=self.interleave, bound=bound,
        )  # fmt: skip


def _misfit(instance: MilpInstance) -> str:
    """Return which variable or row the engine cannot represent, in one line; "" if it can represent all."""
    largest = [max(abs(a), abs(b)) for a, b in zip(*(limits.tolist() for limits in integer_limits(instance)))]
    for name, value in zip(instance.names, largest):
        if not value < _LARGEST_SUM:
            return f"variable {name} has no limits, or too large ones; accepted: integers between -2**60 and 2**60"
    values, columns, first = instance.value.tolist(), instance.column.tolist(), instance.first.tolist()
    rows = [("the objective", list(range(instance.n)), instance.c.tolist(), cost_unit(instance))]
    units = row_units(instance).tolist()
    rows += [
        (f"constraint {name}", columns[a:b], values[a:b], unit)
        for name, a, b, unit in zip(instance.row_names, first[:-1], first[1:], units)
    ]
    known: _Known = {}
    for place, row, coefficients, unit in rows:
        whole, scale = _integers(coefficients, unit, known)
        if scale == 0:
            worst = next((v for v in coefficients if known[v, unit] is None), None)
            what = (
                f"the coefficients have no common denominator in {place}"
                if worst is None
                else f"coefficient {worst!r} in {place}"
            )
            return f"{what}; accepted: fractions with a common denominator up to 10**6"
        if sum(map(mul, map(abs, whole), map(largest.__getitem__, row))) >= _LARGEST_SUM:
            return f"{place} may reach 2**60; accepted: smaller sums"
    return ""


def _integers(coefficients: Sequence[float], unit: float, known: _Known) -> tuple[list[int], Fraction]:
    """Return the coefficients as integers without a common divisor, and the factor that makes them so.

    ([], 0) if the common denominator is too large.

    Args:
        coefficients: The coefficients of a row.
        unit: The unit of the row.
        known: The fractions found so far, extended in place.
    """
    scale, distinct = 1, dict.fromkeys(coefficients)  # a row of thousands often has few different coefficients
    for value in distinct:
        if (value, unit) not in known:
            fraction = Fraction(value / unit).limit_denominator(_LARGEST_DENOMINATOR)
            known[value, unit] = fraction if float(fraction) == value / unit else None
        found = known[value, unit]
        scale = 0 if found is None else math.lcm(scale, found.denominator)
        if not 0 < scale <= _LARGEST_DENOMINATOR:
            return [], Fraction(0)
    whole = {value: int((known[value, unit] or Fraction(0)) * scale) for value in distinct}
    divisor = math.gcd(*whole.values()) or 1
    whole = {value: number // divisor for value, number in whole.items()}
    return [whole[value] for value in coefficients], Fraction(scale, divisor) / Fraction(unit)


def _model(instance: MilpInstance, run: Run) -> tuple[Any, list[Any], Fraction]:
    """Return the engine's model, its variables, and the factor by which the program's objective is multiplied in the model."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [model.new_int_var(int(a), int(b), "") for a, b in zip(*integer_limits(instance))]
    known: _Known = {}

    def expression(columns: list[int], coefficients: list[float], unit: float) -> tuple[Any, Fraction]:
        whole, scale = _integers(coefficients, unit, known)
        return cp_model.LinearExpr.weighted_sum([variables[j] for j in columns], whole), scale

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
    """Return the largest integer that `scale` times a row may be; an upper side from the largest sum on means no limit."""
    if abs(upper * float(scale)) >= _LARGEST_SUM:
        return int(math.copysign(_LARGEST_SUM, upper))
    known = float(digits(np.array([upper]))[0])
    return math.floor((Fraction(upper) + Fraction(known)) * scale)
