"""`Dp`: the knapsack with one capacity, proven optimal by dynamic programming over an expanding core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.knapsack.instance import KnapsackInstance
    from corl.run import Run

__all__ = ["Dp"]


@dataclass(frozen=True)
class Dp(Solver):
    """MINKNAP (Pisinger 1997): dynamic programming over a core of items that grows from the break item outwards.

    The break item is the first one, by value over weight, that no longer fits. Computations are exact if values and weights are
    integers or decimal fractions; for other numbers, the optimum is proven up to a relative 1e-9, the judge's tolerance.
    """

    memory: float = option(
        1.0,
        "Memory for states in gigabytes; if more is needed, the run ends with the best solution so far and a bound.",
        above=0,
        scale="log",
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "dynamic programming over an expanding core (MINKNAP); one capacity, proven optimal"
    iteration: ClassVar[str] = "one item of the core"

    def accepts(self, instance: KnapsackInstance) -> str:
        return "" if instance.m == 1 else f"it solves knapsacks with one capacity, not {instance.m}"

    def prepare(self, instance: KnapsackInstance) -> None:
        from corl.solvers.knapsack.dp.engine import prepare

        prepare()

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.knapsack.dp.completing import completion

        return completion(self, environment, row, iterations)

    def solve(self, instance: KnapsackInstance, run: Run) -> None:
        from corl.solvers.knapsack.dp.engine import solve

        solve(self, instance, run)
