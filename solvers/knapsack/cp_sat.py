"""`CpSat`: OR-Tools' constraint programming solver; the choice for several capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.knapsack.instance import KnapsackInstance
    from corl.run import Run

__all__ = ["CpSat"]

_MOST = 5_000_000  # entries of the weights, beyond which building the model would take over a few seconds


@dataclass(frozen=True)
class CpSat(Solver):
    """A literal an item, a linear constraint a capacity; it begins from the greedy solution and has the linear bound.

    Numbers must be integers, or decimal fractions that are integers in a smaller unit.
    """

    search_workers: int = 0
    """Its threads, at least 1; 0: as many as `workers`."""
    interleave: bool = False
    """Whether the threads take turns in a fixed order instead of running side by side."""

    limit_free: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True
    title: ClassVar[str] = "CP-SAT (OR-Tools): any number of capacities, with proven bounds"

    def __post_init__(self) -> None:
        from corl.solvers.cp_sat import check_threads

        check_threads(self.search_workers)

    def accepts(self, instance: KnapsackInstance) -> str:
        from corl.solvers.knapsack.whole import whole

        if instance.weights.size > _MOST:
            return f"its model would have {instance.weights.size:,} coefficients; accepted: up to {_MOST:,}"
        if not all(whole(row)[1] for row in (instance.values, *instance.weights)):
            return "it needs integers, or decimal fractions of few digits"
        return ""

    def prepare(self, instance: KnapsackInstance) -> None:
        from corl.solvers.cp_sat import load_engine
        from corl.solvers.knapsack.greedy import Greedy

        load_engine()
        Greedy().prepare(instance)

    def solve(self, instance: KnapsackInstance, run: Run) -> None:
        import numpy as np
        from ortools.sat.python import cp_model

        from corl.solvers.cp_sat import solve_model
        from corl.solvers.knapsack.greedy import Greedy
        from corl.solvers.knapsack.whole import room, whole

        Greedy().solve(instance, run)
        if run.should_stop:
            return
        model = cp_model.CpModel()
        items = [model.new_bool_var("") for _ in range(instance.n)]
        for row, capacity in zip(instance.weights, instance.capacities.tolist()):
            weights, unit = whole(row)
            model.add(cp_model.LinearExpr.weighted_sum(items, weights.astype(np.int64).tolist()) <= room(capacity, unit))
            if run.should_stop:
                return
        values, unit = whole(instance.values)
        model.maximize(cp_model.LinearExpr.weighted_sum(items, values.astype(np.int64).tolist()))
        hint = set(np.asarray(run.solution).tolist())
        for i, item in enumerate(items):
            model.add_hint(item, int(i in hint))
        solve_model(
            model,
            run,
            lambda value: np.array([i for i, item in enumerate(items) if value(item)], np.int32),
            search_workers=self.search_workers,
            interleave=self.interleave,
            bound=lambda bound: float(np.floor(bound + 1e-6)) / unit,
        )
