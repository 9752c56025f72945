"""`Genetic`: hybrid genetic search, for small instances of vehicle routing with capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["Genetic"]


@dataclass(frozen=True)
class Genetic(Solver):
    """Hybrid genetic search (Vidal 2022)."""

    neighbours: int = option(20, "Nearest clients next to which local search moves a client.", low=2, scale="log")
    population: int = option(25, "Size of each sub-population after survivors are selected.", low=2, scale="log")
    surplus: int = option(40, "Individuals that a sub-population may have more.", low=1, scale="log")

    title: ClassVar[str] = "hybrid genetic search: small instances with capacities"
    iteration: ClassVar[str] = "one offspring"
    limit_free: ClassVar[bool] = True

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from corl.solvers.vrp.genetic.engine import Engine

        Engine(instance, self.neighbours, self.population, self.surplus, run).breed()
