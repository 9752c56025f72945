"""`CpSat`: OR-Tools' CP-SAT for programs whose variables are all integers with limits and whose numbers are fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run

__all__ = ["CpSat"]

_LARGEST_DENOMINATOR = 10**6  # of coefficients, and of a row's coefficients together
_LARGEST_SUM = 2**60  # of |coefficient x value| over a row; the engine's integers have 63 bits
_MOST = 5_000_000  # entries of the matrix, beyond which building the model would take over ten seconds
_SLACK = 1e-9  # relative: what rounding may have added to a side


@dataclass(frozen=True)
class CpSat(Solver):
    """An integer variable each and a linear constraint a row, multiplied by its coefficients' common denominator.

    The answer is exact: of the judge's tolerances it uses none but the 1e-9 that rounding may have moved a side by. Refused,
    by name, are continuous variables, integers without limits and coefficients that are no fractions with denominators up to
    a million.
    """

    search_workers: int = 0
    """Its threads, at least 1; 0: as many as `workers`."""
    interleave: bool = False
    """Whether the threads take turns in a fixed order instead of running side by side."""

    limit_free: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True
    title: ClassVar[str] = "CP-SAT (OR-Tools): integers with limits, fractions as coefficients"

    def __post_init__(self) -> None:
        from corl.solvers.cp_sat import check_threads

        check_threads(self.search_workers)

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
        import numpy as np

        from corl.solvers.cp_sat import solve_model
        from corl.solvers.milp.reporting import contradictory

        if contradictory(instance):
            run.report_infeasible()
            return
        model, variables, scale = _model(instance, run)
        if run.should_stop:
            return
        if run.solution is not None:
            for variable, value in zip(variables, np.round(run.solution).astype(np.int64).tolist()):
                model.add_hint(variable, value)
        sign = -1.0 if instance.sense == "max" else 1.0

        def bound(value: float) -> float:
            """On the objective, from the engine's on that times `scale`; the incumbent's where only rounding is between them."""
            own = sign * math.ceil(sign * value - 1e-6) / scale + instance.offset
            best = run.objective
            return best if best is not None and abs(own - best) <= _SLACK * max(1.0, abs(best)) else own

        solve_model(
            model, run, lambda value: np.array([value(variable) for variable in variables], np.float64),
            search_workers=self.search_workers, interleave=self.interleave, bound=bound,
        )  # fmt: skip


def _limits(instance: MilpInstance) -> tuple[list[float], list[float]]:
    """The least and the greatest integers of the variables."""
    import numpy as np

    from corl.problems.milp.evaluation import TOLERANCE

    return np.ceil(instance.lower - TOLERANCE).tolist(), np.floor(instance.upper + TOLERANCE).tolist()


def _misfit(instance: MilpInstance) -> str:
    """What of the integers and the coefficients the engine cannot hold; "" if nothing."""
    low, high = _limits(instance)
    largest = [max(abs(a), abs(b)) for a, b in zip(low, high)]
    for name, value in zip(instance.names, largest):
        if not value < _LARGEST_SUM:
            return f"variable {name} has no limits, or too large ones; accepted: integers between -2**60 and 2**60"
    values, columns, first = instance.value.tolist(), instance.column.tolist(), instance.first.tolist()
    rows = [("the objective", list(range(instance.n)), instance.c.tolist())]
    rows += [(f"constraint {name}", columns[a:b], values[a:b]) for name, a, b in zip(instance.row_names, first[:-1], first[1:])]
    known: dict[float, Fraction | None] = {}
    for place, row, coefficients in rows:
        scale = _scale(coefficients, known)
        if scale == 0:
            worst = next((v for v in coefficients if known[v] is None), None)
            what = f"the coefficients have no common denominator in {place}" if worst is None else f"{worst!r} stands in {place}"
            return f"{what}; accepted: fractions with a common denominator up to 10**6"
        if scale * sum(abs(v) * largest[j] for v, j in zip(coefficients, row)) >= _LARGEST_SUM:
            return f"{place} may reach 2**60; accepted: smaller sums"
    return ""


def _scale(coefficients: Iterable[float], known: dict[float, Fraction | None]) -> int:
    """The least common denominator of the coefficients; 0 if there is none up to the largest accepted."""
    scale = 1
    for value in coefficients:
        if value not in known:
            fraction = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
            known[value] = fraction if float(fraction) == value else None
        found = known[value]
        if found is None:
            return 0
        scale = math.lcm(scale, found.denominator)
        if scale > _LARGEST_DENOMINATOR:
            return 0
    return scale


def _model(instance: MilpInstance, run: Run) -> tuple[Any, list[Any], int]:
    """(the engine's model, its variables, what its objective is the objective without its constant times)."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [model.new_int_var(int(a), int(b), "") for a, b in zip(*_limits(instance))]
    known: dict[float, Fraction | None] = {}

    def expression(columns: list[int], coefficients: list[float]) -> tuple[Any, int]:
        scale = _scale(coefficients, known)
        whole = [int((known[value] or Fraction(0)) * scale) for value in coefficients]
        return cp_model.LinearExpr.weighted_sum([variables[j] for j in columns], whole), scale

    values, columns, first = instance.value.tolist(), instance.column.tolist(), instance.first.tolist()
    for i, (low, high) in enumerate(zip(instance.row_lower.tolist(), instance.row_upper.tolist())):
        a, b = first[i], first[i + 1]
        if a == b:
            continue
        row, scale = expression(columns[a:b], values[a:b])
        model.add_linear_constraint(row, -_side(-low, scale), _side(high, scale))
        if i % 256 == 0 and run.should_stop:
            break
    target, scale = expression(list(range(instance.n)), instance.c.tolist())
    (model.maximize if instance.sense == "max" else model.minimize)(target)
    return model, variables, scale


def _side(upper: float, scale: int) -> int:
    """The greatest integer that `scale` times a row may be; a side from the largest sum on is none."""
    if upper * scale >= _LARGEST_SUM:
        return _LARGEST_SUM
    if upper * scale <= -_LARGEST_SUM:
        return -_LARGEST_SUM
    return math.floor(Fraction(upper + _SLACK * max(1.0, abs(upper))) * scale)
