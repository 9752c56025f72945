"""`RuinRecreate`: slack induction by string removals, the default for vehicle routing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run
    from corl.solvers.vrp.ruin.search import Search

__all__ = ["RuinRecreate"]

_COOLING = 3_000.0  # iterations a client of one cooling; with four times as many there are two, twice as long, and so on
_COOLING_LONG = 2_000.0  # likewise, with windows and long routes: slow coolings end with too few routes
_LONG = 25.0  # clients in a route, from which on it is long
_HOT = 2_000.0  # iterations a client from which a run begins at the full temperature
_MOST = 8  # coolings
_SPEED = 150_000.0  # iterations a second, about: a busy machine shall not change how many coolings there are
_BEFORE_LAST = 0.93  # of the run: then comes the last choice of routes, and what is left goes into improving it
_TAIL = 3.0  # times the last temperature: the first one after that choice
_FLEET_SHARE = 0.3  # of the run that looking for fewer routes may take


@dataclass(frozen=True)
class RuinRecreate(Solver):
    """Ruin and recreate under simulated annealing (SISR: Christiaens & Vanden Berghe, 2020), and choice of routes seen.

    Capacities, time windows, optional clients, several depots and different vehicles; with `fleet` "fewest" it first looks
    for fewer routes. An iteration costs the same in a large instance as in a small one.
    """

    neighbours: int = 40
    """Clients beside which a client may be inserted, at least 2 (20: 0.05 to 0.3 % worse on X instances)."""
    farther: int = 150
    """More clients, a sample that thins out with distance, looked at in a quarter of the iterations; from 0. In clusters the
    nearest alone are not enough (one seed, 10 to 15 s: X-n153-k22 0.66 % with 60 and 0.14 with all, n376 0.23 and 0.11 with 150,
    n670 1.54 and 1.34; X-n200-k36 the other way round, 0.10 and 0.25)."""
    heat: float = 5.0
    """First temperature, in mean distances to the ten nearest clients; above 0. Short runs begin colder: at this times the root
    of iterations a client / 2,000 (6,000 clients in 10 s, which is 200 each: 0.5 1.57 %, 1.5 1.36 % above the best known)."""
    cold: float = 0.025
    """Last temperature, likewise; above 0."""
    coolings: int = 0
    """So many, each from the best plan; 0: the square root of the iterations a client / 3,000, or / 2,000 where routes are long
    and have windows. A small instance may freeze in a basin that it does not leave (X-n106-k14, 40 s: one cooling 0.54 %, four
    0.08), and slow coolings of long routes end with too few (RC2_10_5, 60 s: one 1.55 and 1.70 %, two 1.14 and 1.15)."""
    reheat: float = 1.0
    """First temperature of the later ones, times the first one's; above 0."""
    choices: bool = True
    """Whether the best set of the routes seen is looked for by integer programming, where routes are short."""

    title: ClassVar[str] = "ruin and recreate (SISR): any size, windows, depots, fleets, prizes"
    iteration: ClassVar[str] = "one ruin and recreate"

    def __post_init__(self) -> None:
        if self.neighbours < 2:
            raise UsageError(f"neighbours is {self.neighbours}; accepted: an integer from 2")
        if self.farther < 0:
            raise UsageError(f"farther is {self.farther}; accepted: an integer from 0")
        if self.coolings < 0:
            raise UsageError(f"coolings is {self.coolings}; accepted: an integer from 0")
        for field in ("heat", "cold", "reheat"):
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
        search = Search(instance, self.neighbours, self.farther, run)
        if not search.serve_all(self.heat):
            return
        search.report()
        if not run.should_stop:
            run.report_bound(radial_bound(instance))
        if instance.fleet == "fewest":
            search.drop_routes(_FLEET_SHARE, self.heat)
        self._anneal(instance, search, run)

    def _anneal(self, instance: VrpInstance, search: Search, run: Run) -> None:
        """Coolings over what is left of the run, each from the best plan, or from one of routes seen that is better."""
        begun = run.fraction if run.iterations is None else search.done / run.iterations
        choosing = self.choices and search.keep_routes()
        seconds = float("inf") if run.iterations is not None or run.time_limit is None else _choice_time(run.time_limit)
        long = instance.windows and instance.clients >= _LONG * search.routes
        steps = self._steps(choosing, self._count(instance.clients, run, long), self._heat(instance.clients, run))
        for number, (heat, share) in enumerate(steps):
            if number and choosing and not run.should_stop:
                search.choose_routes(min(seconds, 0.8 * run.remaining))
            elif number:
                search.return_to_best()
            search.cool(heat, self.cold, 1.0 if number + 1 == len(steps) else begun + (1.0 - begun) * share)
        search.report()

    def _steps(self, choosing: bool, count: int, heat: float) -> list[tuple[float, float]]:
        """First temperature and end, as a share of what is left of the run, of each of `count` coolings and of what follows."""
        last = _BEFORE_LAST if choosing else 1.0
        steps = [(heat * (self.reheat if k else 1.0), last * (k + 1) / count) for k in range(count)]
        return [*steps, (min(heat, _TAIL * self.cold), 1.0)] if choosing else steps

    def _count(self, clients: int, run: Run, long: bool) -> int:
        """How many coolings there will be; long: whether there are windows and long routes."""
        each = (_COOLING_LONG if long else _COOLING) * clients
        return self.coolings or max(1, int(min(_MOST, math.sqrt(_iterations(run) / each))))

    def _heat(self, clients: int, run: Run) -> float:
        """The first temperature: in a short run a hot plan would not have the time to cool."""
        return max(self.cold, self.heat * math.sqrt(min(1.0, _iterations(run) / (_HOT * clients))))


def _iterations(run: Run) -> float:
    """About how many there will be; inf without a limit."""
    if run.iterations is not None:
        return float(run.iterations)
    return float("inf") if run.time_limit is None else _SPEED * run.time_limit


def _choice_time(limit: float) -> float:
    """Seconds that one choice of routes may take in a run of so many."""
    return max(0.05, min(2.0, 0.04 * limit))
