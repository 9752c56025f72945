"""The search of `Dp`: the loop that calls the kernels of core.py and reports solutions and bounds."""

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

_STATES_PER_CHECK = 5_000_000  # states examined between two checks of the time limit, in about 30 ms


def prepare() -> None:
    """Compile the kernels."""
    fill(np.ones(2), 1.0)
    core = new_core(np.array([3.0, 2.0]), np.ones(2), 1.0, True, 0.0)
    expand(core, 2)
    upper_bound(core)
    collect(core)
    decisions(core, np.array([True, False]))


def solve(solver: Dp, instance: KnapsackInstance, run: Run) -> None:
    """Solve an instance with the options `solver`: see `Solver.solve`."""
    values, value_unit = exact_integers(instance.values)
    weights, weight_unit = exact_integers(instance.weights[0])
    capacity = float(instance.capacities[0])
    # Sums of integers need no tolerance; for other numbers, half the judge's tolerance is used.
    capacity = float(integer_capacity(capacity, weight_unit)) if weight_unit else capacity * (1.0 + 5e-10)
    weightless = np.flatnonzero((weights == 0.0) & (values > 0.0))
    items = np.flatnonzero((weights > 0.0) & (weights <= capacity) & (values > 0.0))
    items = items[np.argsort(-values[items] / weights[items], kind="stable")]
    if weights[items].sum() <= capacity:
        run.report(np.sort(np.concatenate([weightless, items])).astype(np.int32))
        run.report_bound(run.problem.evaluate(instance, run.solution))
        return
    _Search(instance, run, weightless, items, values[items], weights[items], capacity, value_unit).search(solver.memory)


class _Search:
    """An expanding core, and the reports of its incumbent and bound.

    Args:
        instance: The instance.
        run: The run.
        weightless: int64 [k], items without weight, which are always taken.
        items: int64 [K], the other items that fit, by decreasing density (value over weight).
        values: float64 [K], the values of `items`, integers if `unit` is positive.
        weights: float64 [K], the weights of `items`; their sum exceeds the capacity.
        capacity: The capacity, in the unit of the weights.
        unit: The number by which values were multiplied to become integers; 0 if they are not integers.
    """

    def __init__(
        self,
        instance: KnapsackInstance,
        run: Run,
        weightless: NDArray[np.int64],
        items: NDArray[np.int64],
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
        capacity: float,
        unit: float,
    ) -> None:
        self.instance, self.run, self.weightless, self.items = instance, run, weightless, items
        self.unit = unit or 1.0
        chosen = fill(weights, capacity)
        self._report_items(chosen)
        weightless_value = float(instance.values[weightless].sum())
        incumbent = float(values[chosen].sum())
        if run.objective is not None:  # a warm start may be better
            incumbent = max(incumbent, (run.objective - weightless_value) * self.unit * (1.0 - 1e-12))
        self.weightless_value = weightless_value
        self.core = new_core(values, weights, capacity, unit > 0.0, float(int(incumbent + 1e-6)) if unit else incumbent)
        self.split = int(self.core.at[RIGHT])  # the index of the break item
        self.reported = 0.0

    def _report_items(self, chosen: NDArray[np.bool_]) -> None:
        """Report the solution with the items `chosen`, bool [K], and those without weight."""
        self.run.report(np.sort(np.concatenate([self.weightless, self.items[chosen]])).astype(np.int32))

    def search(self, memory: float) -> None:
        """Expand the core until the incumbent is proven optimal, the run ends, or `memory` gigabytes are full."""
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
        """Decide on `units` items, or on fewer if the run ends before.

        The time of an item grows with the number of states, so that the kernel is called for fewer items if states are many.

        Returns:
            DONE if the incumbent is optimal, GOING if the search continues, another status if the memory is too small.
        """
        status: int = GOING
        target = int(self.core.at[DECIDED]) + units
        while (undecided := target - int(self.core.at[DECIDED])) > 0 and not self.run.should_stop:
            status = expand(self.core, min(undecided, max(1, _STATES_PER_CHECK // self.core.value.shape[1])))
            if status == DONE:
                break
            if status != GOING:
                if 40.0 * self.core.value.shape[1] + 8.0 * len(self.core.parent) > 0.5e9 * memory:
                    return status
                self.core, status = enlarge(self.core, status), GOING
        return status

    def _report_progress(self) -> None:
        """Report the incumbent, if it is new, and the bound."""
        self._report_incumbent()
        self._report_bound()

    def _report_incumbent(self) -> None:
        """Report the incumbent if it is better than the last one reported."""
        if self.core.at[BEST] >= 0 and self.core.numbers[VALUE] > self.reported:
            self.reported = float(self.core.numbers[VALUE])
            taken = np.zeros(len(self.items), bool)
            taken[: self.split] = True
            decisions(self.core, taken)
            self._report_items(taken)

    def _report_bound(self) -> None:
        """Report the upper bound, in the instance's unit."""
        self.run.report_bound(upper_bound(self.core) / self.unit + self.weightless_value)
