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
    """Ruin and recreate with simulated annealing: strings of nodes are removed from the path, and nearby nodes are inserted.

    A string is a sequence of consecutive nodes. Length has a price, which is adjusted so that the path uses the whole limit, and
    2-opt and or-opt moves shorten the path now and then. The bound is that of a knapsack in which the weight of a node is half
    the sum of its two shortest edges.
    """

    neighbours: int = option(12, "Number of nearest nodes next to which a node may be inserted.", low=1, scale="log")
    longest: int = option(10, "Greatest number of nodes of a string that is removed.", low=1)
    strings: int = option(2, "Greatest number of strings that an iteration removes.", low=1)
    excess: float = option(
        0.15, "Share of the limit by which a path may be too long at first; it falls to 0 in the course of a cooling.", low=0
    )
    kink: float = option(
        2.0,
        "The price of length is multiplied by this factor beyond the limit, and divided by it up to the limit.",
        low=1,
        scale="log",
    )
    hot: float = option(0.7, "First temperature, in mean scores.", above=0, scale="log")
    cold: float = option(0.02, "Last temperature, in mean scores.", above=0, scale="log")
    coolings: int = option(
        0,
        "Number of annealing runs, of equal time; 0: 4, or 16 for up to 400 nodes if there is time. The last one begins with the "
        "best path so far, the others with the direct way.",
        low=0,
    )
    reheat: float = option(
        0.3, "First temperature of the last of several coolings, in mean scores, at most `hot`.", above=0, scale="log"
    )

    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
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
