"""`Genetic`: hybrid genetic search, for small instances of vehicle routing with capacities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["Genetic"]

_MAX_CLIENTS = 2_000  # a matrix of distances is kept


@dataclass(frozen=True)
class Genetic(Solver):
    """Hybrid genetic search with SWAP* (Vidal, 2022), for one depot, one vehicle type, capacities and maximum lengths.

    A population of feasible and one of infeasible solutions are kept. An iteration crosses two of them, divides the giant tour of
    the child into routes, and improves these by local search, in which overload and excess length are penalised. Survivors are
    selected by cost and by their distance to other solutions. It takes O(n^2) memory.
    """

    neighbours: int = option(20, "Nearest clients next to which local search moves a client.", low=2, scale="log")
    population: int = option(25, "Individuals that survive in each of the two populations.", low=2, scale="log")
    surplus: int = option(
        40, "Individuals that a population may have beyond this before survivors are selected.", low=1, scale="log"
    )
    restart: int = option(
        20_000, "Iterations without a better solution after which a new population replaces the old one.", low=1, scale="log"
    )

    preparation_size: ClassVar[int] = 3
    title: ClassVar[str] = "hybrid genetic search (HGS): capacities and maximum lengths, up to 2,000 clients"
    iteration: ClassVar[str] = "one offspring"
    limit_free: ClassVar[bool] = True

    def accepts(self, instance: VrpInstance) -> str:
        import numpy as np

        vehicles = instance.vehicles
        both_limits = bool(np.isfinite(vehicles.max_duration[0]) and np.isfinite(vehicles.max_distance[0]))
        serving = instance.service is not None and bool(instance.service.any())
        reasons = (
            (instance.clients > _MAX_CLIENTS, f"it takes at most {_MAX_CLIENTS:,} clients"),
            (instance.depots > 1 or vehicles.types > 1, "it takes one depot and one vehicle type"),
            (instance.windows or instance.rules is not None, "it takes no time windows and no side constraints"),
            (not instance.required[instance.depots :].all(), "it takes no optional clients"),
            (not instance.symmetric, "it takes symmetric distances"),
            (bool((vehicles.count >= 0).any()) or instance.fleet == "fewest", "it takes no limited and no fewest vehicles"),
            (both_limits and serving, "it takes no limits of distance and of duration together with service times"),
        )
        return next((reason for refused, reason in reasons if refused), "")

    def prepare(self, instance: VrpInstance) -> None:
        from corl.problems.vrp.problem import Vrp
        from corl.run import Run
        from corl.solvers.vrp.ruin.warm_up import warm_up_instance

        tiny = warm_up_instance(instance)
        if tiny.matrix is not None:  # local search may not end with other matrices than symmetric ones
            tiny = replace(tiny, matrix=tiny.matrix + tiny.matrix.T)
        self.solve(tiny, Run(Vrp(), tiny, iterations=3))

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from corl.solvers.vrp.bounds import radial_bound, report_if_empty
        from corl.solvers.vrp.genetic.engine import Engine

        if report_if_empty(instance, run):
            return
        engine = Engine(instance, self, run)
        if not run.should_stop:
            run.report_bound(radial_bound(instance))
        engine.breed()
