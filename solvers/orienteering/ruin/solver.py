"""`RuinRecreate`: ruin and recreate under simulated annealing; the default for orienteering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.orienteering.instance import OrienteeringInstance
    from corl.run import Run

__all__ = ["RuinRecreate"]


@dataclass(frozen=True)
class RuinRecreate(Solver):
    """Ruin and recreate with simulated annealing: strings of nodes are removed from the path, and nearby nodes inserted.

    Length has a price, which is adjusted so that the path uses the whole limit. The bound is that of a knapsack of nodes whose
    weights are half the sum of their two shortest edges.
    """

    neighbours: int = option(12, "Nearest nodes beside which a node may be inserted.", low=1, scale="log")
    longest: int = option(10, "Nodes of the longest string that is removed.", low=1)
    strings: int = option(2, "The greatest number of strings that an iteration removes.", low=1)
    excess: float = option(
        0.15, "The share of the limit by which a path may be too long at first; it falls to 0 with time.", low=0
    )
    hot: float = option(1.5, "First temperature, in mean scores.", above=0, scale="log")
    cold: float = option(0.01, "Last temperature, in mean scores.", above=0, scale="log")
    coolings: int = option(
        4, "Annealing runs, of equal time; all but the last begin with the direct way, the last with the best path so far.", low=1
    )
    reheat: float = option(
        0.3, "First temperature of the last of several coolings, in mean scores, at most `hot`.", above=0, scale="log"
    )

    alike: ClassVar[int] = 2
    title: ClassVar[str] = "ruin and recreate with simulated annealing; any size"
    iteration: ClassVar[str] = "one ruin and its recreation"

    def prepare(self, instance: OrienteeringInstance) -> None:
        from corl.problems.orienteering.generators import generation_2
        from corl.problems.orienteering.problem import Orienteering
        from corl.run import Run

        tiny = generation_2(size=20, share=0.6)
        self.solve(tiny, Run(Orienteering(), tiny, iterations=50))

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.orienteering.ruin.completing import completion

        return completion(self, environment, row, iterations, seed)

    def solve(self, instance: OrienteeringInstance, run: Run) -> None:
        from corl.solvers.orienteering.ruin.engine import solve

        solve(self, instance, run)
