"""`RuinRecreate`: slack induction by string removals, the default for vehicle routing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run
    from corl.solvers.vrp.ruin.search import Search

__all__ = ["RuinRecreate"]

_COOLING = 3_000.0  # iterations per client of one cooling; with four times as many there are two, twice as long, and so on
_COOLING_LONG_ROUTES = 2_000.0  # the same with windows and long routes: slow coolings end with too few routes
_LONG = 25.0  # clients in a route from which it is long
_HOT = 2_000.0  # iterations per client from which a run begins at the full temperature
_MOST = 8  # greatest number of coolings
_TRIAL = 0.005  # share of the run, at the last temperature, that measures the speed of iterations
_BEFORE_LAST = 0.93  # share of the run before the last route selection; the rest improves its solution
_TAIL = 3.0  # multiple of the last temperature with which that improvement begins
_FLEET_SHARE = 0.3  # greatest share of the run for reducing the number of routes


@dataclass(frozen=True)
class RuinRecreate(Solver):
    """Ruin and recreate under simulated annealing (SISR: Christiaens & Vanden Berghe, 2020), with route selection.

    It takes capacities, time windows, optional clients, several depots and different vehicles; with `fleet` "fewest" it first
    reduces the number of routes. An iteration costs the same in a large instance as in a small one.
    """

    neighbours: int = option(40, "Clients next to which a client may be inserted.", low=2, scale="log")
    farther: int = option(
        150, "More such clients, a sample that thins out with distance, considered in a quarter of the iterations.", low=0
    )
    heat: float = option(
        5.0, "First temperature, in mean distances to the ten nearest clients; short runs begin colder.", above=0, scale="log"
    )
    cold: float = option(0.025, "Last temperature, in the same unit.", above=0, scale="log")
    coolings: int = option(
        0,
        "Number of coolings, each from the best solution; 0: chosen by the expected iterations per client, fewer and slower ones "
        "if routes are short.",
        low=0,
    )
    reheat: float = option(
        1.0, "First temperature of the later coolings, as a multiple of the first cooling's.", above=0, scale="log"
    )
    prizes: float = option(
        3.0, "Factor of prizes at the beginning, which falls to 1: no route pays for its first client.", low=1, scale="log"
    )
    choices: bool = option(
        True, "Whether the best set of the routes found is selected by integer programming, if routes are short."
    )

    alike: ClassVar[int] = 3
    title: ClassVar[str] = "ruin and recreate (SISR): any size, windows, depots, fleets, prizes"
    iteration: ClassVar[str] = "one ruin and recreate"

    def accepts(self, instance: VrpInstance) -> str:
        rules = instance.rules
        if rules is not None and rules.distances is not None and len(rules.distances) > 1:
            return "it takes one matrix of distances"
        if rules is not None and rules.backhauls_last and not instance.required[instance.depots :].all():
            return "it takes no optional clients if deliveries precede pickups"
        return ""

    def kind(self, instance: VrpInstance) -> str:
        if instance.rules is not None or _needs_rules(instance):
            return "rules"
        return "scarce" if instance.fleet == "fewest" or bool((instance.vehicles.count >= 0).any()) else ""

    def prepare(self, instance: VrpInstance) -> None:
        from corl.problems.vrp.problem import Vrp
        from corl.run import Run
        from corl.solvers.vrp.ruin.search import compile_rest
        from corl.solvers.vrp.ruin.warm_up import warm_up_instance

        tiny = warm_up_instance(_with_rules(instance))
        self.solve(tiny, Run(Vrp(), tiny, iterations=20))
        compile_rest(tiny, self.kind(instance) != "")

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.vrp.ruin.completing import completion

        return completion(self, environment, row, iterations, seed)

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from corl.solvers.vrp.bounds import radial_bound, report_if_empty
        from corl.solvers.vrp.ruin.search import Search

        if report_if_empty(instance, run):
            return
        instance = _with_rules(instance)
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
        """Make coolings during the rest of the run, each from the best solution or a better selection of stored routes."""
        begun = run.fraction if run.iterations is None else search.done / run.iterations
        choosing = self.choices and search.keep_routes()
        seconds = float("inf") if run.iterations is not None or run.time_limit is None else _selection_time(run.time_limit)
        long = instance.windows and instance.clients >= _LONG * search.routes
        planned = float(run.iterations) if run.iterations is not None else self._expected_iterations(search, run)
        steps = self._steps(
            choosing, self._cooling_count(instance.clients, planned, long), self._first_temperature(instance.clients, planned)
        )
        for number, (heat, share) in enumerate(steps):
            if number and choosing and not run.should_stop:
                search.choose_routes(min(seconds, 0.8 * run.remaining))
            elif number:
                search.return_to_best()
            end = 1.0 if number + 1 == len(steps) else begun + (1.0 - begun) * share
            search.cool(heat, self.cold, end, 1.0 if number else self.prizes)
        search.report()

    def _steps(self, choosing: bool, count: int, heat: float) -> list[tuple[float, float]]:
        """Return (first temperature, end) of each of `count` coolings and of the final improvement.

        The end is a share of what is left of the run.
        """
        last = _BEFORE_LAST if choosing else 1.0
        steps = [(heat * (self.reheat if k else 1.0), last * (k + 1) / count) for k in range(count)]
        return [*steps, (min(heat, _TAIL * self.cold), 1.0)] if choosing else steps

    def _expected_iterations(self, search: Search, run: Run) -> float:
        """Return the expected number of iterations of the run, from the speed of a few; inf without a limit."""
        if run.time_limit is None:
            return float("inf")
        done, elapsed = search.done, run.elapsed
        search.cool(self.cold, self.cold, run.fraction + _TRIAL)
        return (search.done - done) / max(1e-9, run.elapsed - elapsed) * run.time_limit

    def _cooling_count(self, clients: int, planned: float, long: bool) -> int:
        """Return the number of coolings. planned: expected iterations; long: whether there are windows and long routes."""
        each = (_COOLING_LONG_ROUTES if long else _COOLING) * clients
        return self.coolings or max(1, int(min(_MOST, math.sqrt(planned / each))))

    def _first_temperature(self, clients: int, planned: float) -> float:
        """Return the first temperature: lower in a short run, which has no time to cool down from a high one."""
        return max(self.cold, self.heat * math.sqrt(min(1.0, planned / (_HOT * clients))))


def _with_rules(instance: VrpInstance) -> VrpInstance:
    """Return the instance, with (empty) side constraints if its maximum durations need the segments that come with them."""
    from corl.problems.vrp.rules import SideConstraints

    return replace(instance, rules=SideConstraints()) if instance.rules is None and _needs_rules(instance) else instance


def _needs_rules(instance: VrpInstance) -> bool:
    """Return whether maximum durations do not reduce to maximum distances."""
    import numpy as np

    vehicles = instance.vehicles
    serving = instance.service is not None and bool(instance.service.any())
    both = instance.windows or (serving and bool(np.isfinite(vehicles.max_distance).any()))
    return both and bool(np.isfinite(vehicles.max_duration).any())


def _selection_time(limit: float) -> float:
    """Return the seconds that one route selection may take in a run of `limit` seconds."""
    return max(0.05, min(2.0, 0.04 * limit))
