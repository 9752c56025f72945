"""`Greedy`: items by density, once or again and again with noise; any knapsack, with the linear bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.knapsack.instance import KnapsackInstance
    from corl.run import Run

__all__ = ["Greedy"]


@dataclass(frozen=True)
class Greedy(Solver):
    """Take what fits, the items with the most value for what their weights cost first.

    What a weight costs are the dual prices of the linear relaxation, which gives the bound as well.
    """

    noise: float = 0.0
    """Above 0: densities are multiplied by 1 to 1 + noise at random, and the run goes on to its limit."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "items by density, or by density with noise; any number of capacities"
    iteration: ClassVar[str] = "one filling"

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise < float("inf"):
            raise UsageError(f"noise is {self.noise}; accepted: a number from 0")

    def prepare(self, instance: KnapsackInstance) -> None:
        from corl.problems.knapsack.generators import multi
        from corl.solvers.knapsack.filling import linear_bound, prices

        tiny = multi(size=5, constraints=2)
        linear_bound(tiny, prices(tiny))
        self._first(tiny, prices(tiny))

    @staticmethod
    def _first(instance: KnapsackInstance, price):
        """The densities, and the filling by them."""
        import numpy as np

        from corl.solvers.knapsack.filling import fill_all

        cost = price @ instance.weights
        if not cost.any():  # nothing is scarce, or nothing fits: shares of the capacities instead
            from corl.problems.knapsack.environment import density

            found = density(instance)
        else:
            found = instance.values / np.maximum(cost, 1e-12 * max(1.0, float(instance.values.max())))
        return found, fill_all(instance, np.argsort(-found, kind="stable"))

    def solve(self, instance: KnapsackInstance, run: Run) -> None:
        import numpy as np

        from corl.solvers.knapsack.filling import fill_all, linear_bound, prices

        price = prices(instance)
        density, items = self._first(instance, price)
        run.report(items)
        run.report_bound(linear_bound(instance, price))
        if self.noise == 0.0:
            return
        random = np.random.default_rng(run.seed)
        finite = np.minimum(density, 1e300)
        while units := run.budget():
            for _ in range(units):
                order = np.argsort(-finite * (1.0 + self.noise * random.random(instance.n)), kind="stable")
                run.report(fill_all(instance, order))
