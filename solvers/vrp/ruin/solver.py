"""`RuinRecreate`: slack induction by string removals, the default for vehicle routing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run
    from corl.solvers.vrp.ruin.search import Search

__all__ = ["RuinRecreate"]

_FLEET_SHARE = 0.3  # of the run that looking for fewer routes may take


@dataclass(frozen=True)
class RuinRecreate(Solver):
    """Ruin and recreate under simulated annealing (SISR: Christiaens & Vanden Berghe, 2020).

    Capacities, time windows, optional clients, several depots and different vehicles; with `fleet` "fewest" it first looks
    for fewer routes. An iteration costs the same in a large instance as in a small one.
    """

    neighbours: int = 40
    """Clients beside which a client may be inserted, at least 2 (20: 0.05 to 0.3 % worse on X instances)."""
    heat: float = 5.0
    """First temperature, in mean distances to the ten nearest clients; above 0."""
    cold: float = 0.025
    """Last temperature, likewise; above 0."""

    title: ClassVar[str] = "ruin and recreate (SISR): any size, windows, depots, fleets, prizes"
    iteration: ClassVar[str] = "one ruin and recreate"

    def __post_init__(self) -> None:
        if self.neighbours < 2:
            raise UsageError(f"neighbours is {self.neighbours}; accepted: an integer from 2")
        for field in ("heat", "cold"):
            if not 0.0 < getattr(self, field) < float("inf"):
                raise UsageError(f"{field} is {getattr(self, field)}; accepted: a number above 0")

    def accepts(self, instance: VrpInstance) -> str:
        import numpy as np

        vehicles = instance.vehicles
        if (vehicles.start != vehicles.end).any():
            return "it takes vehicles that end at the depot where they begin"
        lasting = np.isfinite(vehicles.max_duration).any()
        if lasting and instance.windows:
            return "it takes no longest duration beside time windows"
        serving = instance.service is not None and bool(instance.service.any())
        if lasting and serving and np.isfinite(vehicles.max_distance).any():
            return "it takes a longest distance or a longest duration, not both"
        return ""

    def prepare(self, instance: VrpInstance) -> None:
        from corl.problems.vrp.problem import Vrp
        from corl.run import Run
        from corl.solvers.vrp.ruin.search import compile_rest
        from corl.solvers.vrp.ruin.tiny import tiny_like

        tiny = tiny_like(instance)
        self.solve(tiny, Run(Vrp(), tiny, iterations=20))
        scarce = instance.fleet == "fewest" or bool((instance.vehicles.count >= 0).any())
        compile_rest(tiny, scarce)

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from corl.problems.vrp.feasibility import unservable
        from corl.solvers.vrp.bounds import radial_bound
        from corl.solvers.vrp.ruin.search import Search

        if run.objective is None and unservable(instance):
            return run.report_infeasible()
        search = Search(instance, self.neighbours, run)
        if not search.serve_all(self.heat):
            return
        search.report()
        if not run.should_stop:
            run.report_bound(radial_bound(instance))
        if instance.fleet == "fewest":
            search.drop_routes(_FLEET_SHARE, self.heat)
        self._anneal(search, run)

    def _anneal(self, search: Search, run: Run) -> None:
        """One cooling over what is left of the run."""
        import numpy as np

        from corl.solvers.vrp.ruin.annealing import anneal

        unit = search.unit
        cooling = np.array([self.heat * unit, self.cold * unit, search.done, float("inf")])
        while units := search.grant():
            cooling[3] = search.planned(cooling[2])
            anneal(search.net, search.plan, search.work, cooling, units)
            if run.report_due:
                search.report()
        search.report()
