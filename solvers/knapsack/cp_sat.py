"""`CpSat`: OR-Tools' constraint programming solver; the default for several capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.knapsack.instance import KnapsackInstance
    from corl.run import Run

__all__ = ["CpSat"]

_MAX_COEFFICIENTS = 5_000_000  # greatest number of weights; with more, building the model takes more than a few seconds
_MAX_COEFFICIENTS_IN_PROCESS = 300_000  # with at most so many, presolve ends 0.5 s after the limit; with a million, 4 s after it
_BATCH = 10_000  # variables that are created between two checks of the time limit


@dataclass(frozen=True)
class CpSat(Solver):
    """CP-SAT on a model with a Boolean variable per item and a linear constraint per capacity.

    The greedy solution and the linear bound are reported first; the search gets the best solution so far as a hint. Numbers must
    be integers, or decimal fractions that are integers in a smaller unit.
    """

    search_workers: int = option(0, "Number of threads of CP-SAT; 0: as many as `workers`.", low=0)
    interleave: bool = option(False, "Whether the threads take turns in a fixed order instead of running side by side.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    own_workers: ClassVar[bool] = True
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    engine: ClassVar[str] = "CP-SAT"
    title: ClassVar[str] = "CP-SAT (OR-Tools): any number of capacities, with proven bounds"

    def accepts(self, instance: KnapsackInstance) -> str:
        from corl.solvers.integers import exact_integers

        if instance.weights.size > _MAX_COEFFICIENTS:
            return f"its model would have {instance.weights.size:,} coefficients; accepted: up to {_MAX_COEFFICIENTS:,}"
        if not all(exact_integers(row)[1] for row in (instance.values, *instance.weights)):
            return "it needs integers, or decimal fractions of few digits"
        return ""

    def own_process(self, instance: KnapsackInstance) -> bool:
        return instance.weights.size > _MAX_COEFFICIENTS_IN_PROCESS

    def prepare(self, instance: KnapsackInstance) -> None:
        from corl.solvers.cp_sat import load_engine
        from corl.solvers.knapsack.greedy import Greedy

        load_engine()
        Greedy().prepare(instance)

    def solve(self, instance: KnapsackInstance, run: Run) -> None:
        import numpy as np
        from ortools.sat.python import cp_model

        from corl.solvers.cp_sat import solve_model
        from corl.solvers.integers import exact_integers, integer_capacity
        from corl.solvers.knapsack.greedy import Greedy

        Greedy().solve(instance, run)
        if run.should_stop:
            return
        model = cp_model.CpModel()
        items: list[cp_model.IntVar] = []
        while len(items) < instance.n:
            items += [model.new_bool_var("") for _ in range(min(_BATCH, instance.n - len(items)))]
            if run.should_stop:
                return
        for row, capacity in zip(instance.weights, instance.capacities.tolist()):
            weights, unit = exact_integers(row)
            weight = cp_model.LinearExpr.weighted_sum(items, weights.astype(np.int64).tolist())
            model.add(weight <= integer_capacity(capacity, unit))
            if run.should_stop:
                return
        values, unit = exact_integers(instance.values)
        model.maximize(cp_model.LinearExpr.weighted_sum(items, values.astype(np.int64).tolist()))
        hint = set(np.asarray(run.solution).tolist())
        for i, item in enumerate(items):
            model.add_hint(item, int(i in hint))
            if i % _BATCH == 0 and run.should_stop:
                return
        solve_model(
            model,
            run,
            lambda value: np.array([i for i, item in enumerate(items) if value(item)], np.int32),
            search_workers=self.search_workers,
            interleave=self.interleave,
            bound=lambda bound: float(np.floor(bound + 1e-6)) / unit,
        )
