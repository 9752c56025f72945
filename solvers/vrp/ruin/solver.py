"""`RuinRecreate`: slack induction by string removals, the default for vehicle routing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver
from corl.solvers.vrp.ruin import LONG_ROUTE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run
    from corl.solvers.vrp.ruin.search import Search

__all__ = ["RuinRecreate"]

_COOLING_ITERATIONS = 1_000.0  # iterations per client for one cooling; a run makes k coolings if it has k * k times as many
_COOLING_ITERATIONS_LONG = 667.0  # the same with time windows and long routes: slow coolings end with too few routes
_LEAST_COOLINGS = 3.4  # a run with time for fewer coolings makes one
_FULL_HEAT_ITERATIONS = 2_000.0  # iterations per client from which a run begins at the full temperature
_MAX_COOLINGS = 16
_REHEATS = 5  # temperatures that later coolings without a better solution begin at, in turn, each twice the previous one
_SPEED_SHARE = 0.005  # share of the run that measures the speed of iterations, at the last temperature
_LAST_SELECTION = 0.93  # share of the run after which routes are selected for the last time; then the solution is improved
_FINAL_HEAT = 3.0  # first temperature of this final improvement, as a multiple of the last temperature
_DROP_SHARE = 0.3  # share of the first cooling's time for a search with one route fewer, if there are windows and few routes
_DROP_ITERATIONS = 1_500.0  # iterations per client from which a run has time for it
_DROP_HEAT = 2.0  # first temperature of this search, in the unit of `heat`
_FLEET_SHARE = 0.3  # greatest share of the run for reducing the number of routes
_WINDOW_HEAT, _WINDOW_COLD = 0.2, 2.0  # factors of both temperatures with time windows: above and below, time was wasted
_WINDOW_CLIENTS = 500  # greatest number of clients for these factors; with 1,000 they gained nothing
_WINDOW_FARTHER = 6  # with time windows, at most a client in so many is an additional neighbour


@dataclass(frozen=True)
class RuinRecreate(Solver):
    """Ruin and recreate under simulated annealing (SISR: Christiaens & Vanden Berghe, 2020), with route selection.

    It solves instances with capacities, time windows, optional clients, several depots and different vehicles. If the instance
    asks for the fewest vehicles (`fleet` is "fewest"), it first reduces the number of routes. With time windows and few routes, a
    part of the run searches for a better solution with one route fewer. The time of an iteration does not depend on the size of
    the instance.
    """

    neighbours: int = option(40, "Clients next to which a client may be inserted.", low=2, scale="log")
    farther: int = option(
        150,
        "Additional clients, sampled among those farther away, considered in a quarter of the iterations; at most a sixth of all "
        "clients if there are only capacities and time windows, and up to 500 clients.",
        low=0,
    )
    heat: float = option(
        5.0,
        "First temperature, in mean distances to the ten nearest clients; short runs begin colder. If there are only capacities "
        "and time windows, and up to 500 clients, it is a fifth of this.",
        above=0,
        scale="log",
    )
    cold: float = option(
        0.025,
        "Last temperature, in the same unit. If there are only capacities and time windows, and up to 500 clients, it is twice "
        "this.",
        above=0,
        scale="log",
    )
    coolings: int = option(
        0,
        "Number of coolings, each from the best solution; 0: chosen by the expected iterations per client, with fewer and slower "
        "coolings if routes are short.",
        low=0,
        tuning=(0, 16),
    )
    reheat: float = option(
        0.1,
        "First temperature of the later coolings, as a multiple of the first cooling's; it is doubled after each cooling without "
        "a better solution, four times, up to the first cooling's.",
        above=0,
        scale="log",
    )
    prizes: float = option(
        3.0,
        "Factor of prizes at the beginning, which falls to 1. A larger factor opens more routes: one client rarely pays for a "
        "route.",
        low=1,
        scale="log",
    )
    choices: bool = option(True, "Whether integer programming selects the best set among all routes found, if routes are short.")

    preparation_size: ClassVar[int] = 3  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "ruin and recreate (SISR): any size, windows, depots, fleets, prizes"
    iteration: ClassVar[str] = "one ruin and recreate"
    completes_starts: ClassVar[bool] = True

    def accepts(self, instance: VrpInstance) -> str:
        rules = instance.rules
        if rules is not None and rules.distances is not None and len(rules.distances) > 1:
            return "it takes one matrix of distances for all vehicles"
        if rules is not None and rules.backhauls_last and not instance.required[instance.depots :].all():
            return "it takes no optional clients if deliveries precede pickups"
        return ""

    def kind(self, instance: VrpInstance) -> str:
        if instance.rules is not None or _needs_rules(instance):
            return "rules"
        # With few vehicles or windows, more kernels are compiled: those that search for positions for unserved clients.
        limited = instance.fleet == "fewest" or bool((instance.vehicles.count >= 0).any())
        return "scarce" if limited or instance.windows else ""

    def prepare(self, instance: VrpInstance) -> None:
        from corl.problems.vrp.problem import Vrp
        from corl.run import Run
        from corl.solvers.vrp.ruin.warm_up import compile_other_kernels, warm_up_instance

        tiny = warm_up_instance(_with_rules(instance))
        self.solve(tiny, Run(Vrp(), tiny, iterations=20))
        compile_other_kernels(tiny, self.kind(instance) != "")

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.vrp.ruin.completing import completion

        return completion(self, environment, row, iterations, seed)

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from corl.solvers.vrp.bounds import radial_bound, report_if_empty
        from corl.solvers.vrp.ruin.fewer_routes import drop_routes
        from corl.solvers.vrp.ruin.search import Search

        if report_if_empty(instance, run):
            return
        instance = _with_rules(instance)
        colder = instance.clients <= _WINDOW_CLIENTS and _has_only_windows(instance)
        options = self._for_windows(instance.clients) if colder else self
        search = Search(instance, options.neighbours, options.farther, run)
        if not search.serve_all(options.heat):
            return
        search.report()
        if not run.should_stop:
            run.report_bound(radial_bound(instance))
        if instance.fleet == "fewest":
            drop_routes(search, _FLEET_SHARE, options.heat)
        options.anneal(instance, search, run)

    def _for_windows(self, clients: int) -> RuinRecreate:
        """Return the options for an instance that has only capacities and time windows.

        With windows, routes are random above a fifth of the first temperature, and frozen at twice the last one. If clients are
        few, 150 additional neighbours are most of them: iterations take a third longer, for no gain.
        """
        farther = min(self.farther, clients // _WINDOW_FARTHER)
        return replace(self, heat=_WINDOW_HEAT * self.heat, cold=_WINDOW_COLD * self.cold, farther=farther)

    def anneal(self, instance: VrpInstance, search: Search, run: Run) -> None:
        """Make coolings until the run ends, each from the best solution or from a better selection of stored routes.

        Later coolings begin at a lower temperature, which keeps most of the best solution. After coolings that found nothing
        better, it is raised in steps, until nothing of the solution is kept; then it is low again.
        """
        from corl.solvers.vrp.ruin.fewer_routes import drop_one, may_drop_route

        start = run.fraction if run.iterations is None else search.done / run.iterations
        selects = self.choices and search.keep_routes()
        seconds = float("inf") if run.iterations is not None or run.time_limit is None else _selection_time(run.time_limit)
        long_routes = instance.windows and instance.clients >= LONG_ROUTE * search.routes
        planned = float(run.iterations) if run.iterations is not None else self._expected_iterations(search, run)
        count = self._cooling_count(instance.clients, planned, long_routes)
        steps = self._steps(selects, count, self._first_temperature(instance.clients, planned))
        drops = may_drop_route(search) and instance.fleet != "fewest" and planned >= _DROP_ITERATIONS * instance.clients
        failures, best = 0, float("inf")
        for number, (heat, share) in enumerate(steps):
            if number and selects and not run.should_stop:
                search.choose_routes(min(seconds, 0.8 * run.remaining))
            elif number:
                search.return_to_best()
            failures, best = failures + 1 if search.best_cost >= best else 0, search.best_cost
            if 0 < number < count:
                heat = min(steps[0][0], heat * 2.0 ** (failures % _REHEATS))
            end = 1.0 if number + 1 == len(steps) else start + (1.0 - start) * share
            if drops and not number:
                search.cool(heat, self.cold, start + (1.0 - _DROP_SHARE) * (end - start), self.prizes)
                drop_one(search, min(heat, _DROP_HEAT), self.cold, end)
            else:
                search.cool(heat, self.cold, end, 1.0 if number else self.prizes)
        search.report()

    def _steps(self, selects: bool, count: int, heat: float) -> list[tuple[float, float]]:
        """Return the coolings as pairs (first temperature, end); the last pair is the final improvement, if routes are selected.

        The end is a share of the time from the first cooling to the end of the run.

        Args:
            selects: Whether stored routes are selected between coolings.
            count: The number of coolings, without the final improvement.
            heat: The first temperature of the first cooling.
        """
        last = _LAST_SELECTION if selects else 1.0
        steps = [(heat * (self.reheat if k else 1.0), last * (k + 1) / count) for k in range(count)]
        return [*steps, (min(heat, _FINAL_HEAT * self.cold), 1.0)] if selects else steps

    def _expected_iterations(self, search: Search, run: Run) -> float:
        """Return the expected number of iterations of the run, from the speed of a few iterations; inf without a time limit."""
        if run.time_limit is None:
            return float("inf")
        done, elapsed = search.done, run.elapsed
        search.cool(self.cold, self.cold, run.fraction + _SPEED_SHARE)
        return (search.done - done) / max(1e-9, run.elapsed - elapsed) * run.time_limit

    def _cooling_count(self, clients: int, planned: float, long_routes: bool) -> int:
        """Return the number of coolings.

        Args:
            clients: The number of clients.
            planned: The expected number of iterations of the run.
            long_routes: Whether there are time windows and long routes.
        """
        one_cooling = (_COOLING_ITERATIONS_LONG if long_routes else _COOLING_ITERATIONS) * clients
        count = min(_MAX_COOLINGS, math.sqrt(planned / one_cooling))
        return self.coolings or (int(count) if count >= _LEAST_COOLINGS else 1)

    def _first_temperature(self, clients: int, planned: float) -> float:
        """Return the first temperature: lower in a short run, which has no time to cool down from a high one."""
        return max(self.cold, self.heat * math.sqrt(min(1.0, planned / (_FULL_HEAT_ITERATIONS * clients))))


def _with_rules(instance: VrpInstance) -> VrpInstance:
    """Return the instance, with empty side constraints added if its maximum durations need them.

    Side constraints, even empty ones, make the kernels keep the segments of routes, which compute waiting times.
    """
    from corl.problems.vrp.rules import SideConstraints

    return replace(instance, rules=SideConstraints()) if instance.rules is None and _needs_rules(instance) else instance


def _has_only_windows(instance: VrpInstance) -> bool:
    """Return whether there are time windows, one depot and vehicle type, and no other constraints than capacities.

    All clients must be served.
    """
    simple = instance.rules is None and instance.depots == 1 and instance.vehicles.types == 1 and instance.fleet != "fewest"
    return instance.windows and simple and bool(instance.required[1:].all())


def _needs_rules(instance: VrpInstance) -> bool:
    """Return whether maximum durations cannot be expressed as maximum lengths (distance plus service time)."""
    import numpy as np

    vehicles = instance.vehicles
    serving = instance.service is not None and bool(instance.service.any())
    duration_differs = instance.windows or (serving and bool(np.isfinite(vehicles.max_distance).any()))
    return duration_differs and bool(np.isfinite(vehicles.max_duration).any())


def _selection_time(limit: float) -> float:
    """Return the seconds that one route selection may take in a run of `limit` seconds."""
    return max(0.05, min(2.0, 0.04 * limit))
