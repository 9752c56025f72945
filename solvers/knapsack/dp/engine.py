"""The engine of `Dp`: the loop around the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.problems.knapsack.instance import KnapsackInstance
from corl.run import Run
from corl.solvers.integers import exact_integers, integer_capacity
from corl.solvers.knapsack.dp.core import (
    BEST,
    DECIDED,
    DONE,
    GOING,
    RIGHT,
    VALUE,
    collect,
    decisions,
    enlarge,
    expand,
    new_core,
    upper_bound,
)
from corl.solvers.knapsack.filling import fill

if TYPE_CHECKING:
    from corl.solvers.knapsack.dp.solver import Dp

__all__ = ["prepare", "solve"]

_STATES = 5_000_000  # examined between two time checks, in about 30 ms


def prepare() -> None:
    """Compile the kernels."""
    fill(np.ones(2), 1.0)
    core = new_core(np.array([3.0, 2.0]), np.ones(2), 1.0, True, 0.0)
    expand(core, 2)
    upper_bound(core)
    collect(core)
    decisions(core, np.array([True, False]))


def solve(solver: Dp, instance: KnapsackInstance, run: Run) -> None:
    """See `Solver.solve`."""
    values, value_unit = exact_integers(instance.values)
    weights, weight_unit = exact_integers(instance.weights[0])
    capacity = float(instance.capacities[0])
    # sums of integers cannot lie between two integers; for other numbers, half the judge's tolerance is used
    capacity = float(integer_capacity(capacity, weight_unit)) if weight_unit else capacity * (1.0 + 5e-10)
    free = np.flatnonzero((weights == 0.0) & (values > 0.0))
    some = np.flatnonzero((weights > 0.0) & (weights <= capacity) & (values > 0.0))
    some = some[np.argsort(-values[some] / weights[some], kind="stable")]
    if weights[some].sum() <= capacity:
        run.report(np.sort(np.concatenate([free, some])).astype(np.int32))
        run.report_bound(run.problem.evaluate(instance, run.solution))
        return
    _Search(instance, run, free, some, values[some], weights[some], capacity, value_unit).search(solver.memory)


class _Search:
    """An expanding core, and the reports of its incumbent and bound.

    Args:
        instance: The instance.
        run: The run.
        free: int64, items without weight, which are always taken.
        some: int64 [K], the items that fit, by decreasing density.
        values: float64 [K], their values, integers if `unit` is positive.
        weights: float64 [K], their weights; their sum exceeds the capacity.
        capacity: The capacity, in the unit of the weights.
        unit: The number by which values were multiplied to be integers; 0: they are not integers.
    """

    def __init__(
        self,
        instance: KnapsackInstance,
        run: Run,
        free: NDArray[np.int64],
        some: NDArray[np.int64],
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
        capacity: float,
        unit: float,
    ) -> None:
        self.instance, self.run, self.free, self.some = instance, run, free, some
        self.unit = unit or 1.0
        chosen = fill(weights, capacity)
        self._report_items(chosen)
        fixed = float(instance.values[free].sum())
        known = float(values[chosen].sum())
        if run.objective is not None:  # a warm start may be better
            known = max(known, (run.objective - fixed) * self.unit * (1.0 - 1e-12))
        self.fixed = fixed
        self.core = new_core(values, weights, capacity, unit > 0.0, float(int(known + 1e-6)) if unit else known)
        self.split = int(self.core.at[RIGHT])
        self.reported = 0.0

    def _report_items(self, chosen: NDArray[np.bool_]) -> None:
        self.run.report(np.sort(np.concatenate([self.free, self.some[chosen]])).astype(np.int32))

    def search(self, memory: float) -> None:
        """Expand the core until the incumbent is proven optimal, or the budget or the memory ends."""
        run = self.run
        while units := run.budget():
            status = self._expand(units, memory)
            if status == DONE:
                self._report_incumbent()
                return run.report_bound(run.objective or 0.0)
            if status != GOING:
                run.stop()
            elif run.report_due:
                self._report_progress()
        self._report_progress()

    def _expand(self, units: int, memory: float) -> int:
        """Decide on `units` items, or fewer if time runs out: an item takes longer the more states there are.

        Returns the kernel's status: DONE, GOING, or another one if the memory is too small.
        """
        status: int = GOING
        goal = int(self.core.at[DECIDED]) + units
        while (left := goal - int(self.core.at[DECIDED])) > 0 and not self.run.should_stop:
            status = expand(self.core, min(left, max(1, _STATES // self.core.value.shape[1])))
            if status == DONE:
                break
            if status != GOING:
                if 40.0 * self.core.value.shape[1] + 8.0 * len(self.core.parent) > 0.5e9 * memory:
                    return status
                self.core, status = enlarge(self.core, status), GOING
        return status

    def _report_progress(self) -> None:
        self._report_incumbent()
        self._report_bound()

    def _report_incumbent(self) -> None:
        if self.core.at[BEST] >= 0 and self.core.numbers[VALUE] > self.reported:
            self.reported = float(self.core.numbers[VALUE])
            taken = np.zeros(len(self.some), bool)
            taken[: self.split] = True
            decisions(self.core, taken)
            self._report_items(taken)

    def _report_bound(self) -> None:
        self.run.report_bound(upper_bound(self.core) / self.unit + self.fixed)
