"""`Greedy`: take items by density, once or repeatedly with noise; for any number of capacities, with the linear bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.knapsack.instance import KnapsackInstance
    from corl.run import Run

__all__ = ["Greedy"]


@dataclass(frozen=True)
class Greedy(Solver):
    """Take the items that fit, by decreasing density: value over the cost of the item's weights.

    The cost of the weights is computed at the dual prices of the linear relaxation, which also gives the bound.
    """

    noise: float = option(
        0.0,
        "Densities are multiplied by random factors from 1 to 1 + noise, for one filling after another; 0: a single filling.",
        low=0,
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "items by density, or by density with noise; any number of capacities"
    iteration: ClassVar[str] = "one filling"

    def prepare(self, instance: KnapsackInstance) -> None:
        from corl.problems.knapsack.generators import multi
        from corl.solvers.knapsack.filling import linear_bound, prices

        tiny = multi(size=5, constraints=2)
        price = prices(tiny)
        assert price is not None  # without a time limit
        linear_bound(tiny, price)
        self._first(tiny, price)

    @staticmethod
    def _first(instance: KnapsackInstance, price: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the densities at dual prices `price`, float64 [n], and the items of the greedy filling by density, int32 [k]."""
        import numpy as np

        from corl.solvers.knapsack.filling import fill_all

        cost = price @ instance.weights
        if not cost.any():  # all prices are 0, as everything or nothing fits: use shares of the capacities as costs
            from corl.problems.knapsack.environment import density

            densities = density(instance)
        else:
            densities = instance.values / np.maximum(cost, 1e-12 * max(1.0, float(instance.values.max())))
        return densities, fill_all(instance, np.argsort(-densities, kind="stable"))

    def solve(self, instance: KnapsackInstance, run: Run) -> None:
        import numpy as np

        from corl.problems.knapsack.environment import density
        from corl.solvers.knapsack.filling import fill_all, linear_bound, prices

        price = prices(instance, run.remaining)
        if price is None:  # too little time for the linear relaxation
            run.report(fill_all(instance, np.argsort(-density(instance), kind="stable")))
            run.stop("time_limit")
        if price is None or run.should_stop:
            return
        densities, items = self._first(instance, price)
        run.report(items)
        run.report_bound(linear_bound(instance, price))
        if self.noise == 0.0:
            return
        random = np.random.default_rng(run.seed)
        finite = np.minimum(densities, 1e300)
        while units := run.budget():
            for _ in range(units):
                order = np.argsort(-finite * (1.0 + self.noise * random.random(instance.n)), kind="stable")
                run.report(fill_all(instance, order))
