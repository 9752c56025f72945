"""The state of a run of ruin and recreate, the phases before annealing, and the coolings.

A cooling is simulated annealing from a first to a last temperature. Mandatory clients must be served; optional ones may stay
unserved, at the cost of their prizes. The fixed beginning of a route is the visits with which it must begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.solvers.vrp.enumeration import NO_SOLUTION, can_enumerate, cheapest_solution
from corl.solvers.vrp.ruin import LONG_ROUTE
from corl.solvers.vrp.ruin.annealing import anneal, save_best
from corl.solvers.vrp.ruin.construction import cost_of, insert_all, restore
from corl.solvers.vrp.ruin.conversion import fixed_beginnings, load_routes, new_plan, new_work, routes_in, routing_data
from corl.solvers.vrp.ruin.costs import scale_of
from corl.solvers.vrp.ruin.pool import new_pool, store_all
from corl.solvers.vrp.ruin.route_checks import count_infeasible
from corl.solvers.vrp.ruin.route_selection import select_routes
from corl.solvers.vrp.ruin.savings import applies, savings_plan
from corl.solvers.vrp.ruin.state import BEST, CURRENT, DONE, IMPROVED, SERVED, UNSERVED, USED
from corl.solvers.vrp.ruin.unserved_clients import insert_unserved, list_unserved

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.problems.vrp.routes import Route
    from corl.run import Run
    from corl.solvers.vrp.ruin.state import RoutingData

__all__ = ["Search"]

_NO_ROUTE_LIMIT = 1 << 40  # a number of routes that is never reached
_MAX_CLIENTS = 1200  # greatest number of clients for route selection
_MAX_ROUTE_LENGTH = 20  # greatest mean number of clients per route for route selection
_POOL_SIZE = 1 << 15  # routes that the pool can hold
_PRIZE_LEVELS = 50  # steps in which the factor of prizes falls to 1
_PRIZE_PHASES = 0.9, 0.5  # share of a cooling during which the factor falls, with short and with long routes
_COLUMNS_PER_CLIENT = 10  # stored routes per client that the first selection considers


class Search:
    """The current and the best solution of an instance, and the run that they belong to."""

    def __init__(self, instance: VrpInstance, neighbours: int, farther: int, run: Run) -> None:
        self.instance, self.run = instance, run
        self.data = routing_data(instance, neighbours, farther)
        self.plan = new_plan(instance, self.data)
        self.work = new_work(self.data, self.plan, run.seed)
        self.unit = scale_of(instance, self.data.near, self.data.near_distance)  # unit of temperatures, in units of cost
        self.pool = new_pool(self.data, self.plan, 0, 1)
        self._columns = 0  # number of stored routes that the next selection considers
        self._reported = 0  # number of improvements of the best solution at the last report
        self._report_seconds = 0.0  # duration of the last report
        self._idle = run.fraction  # share of the run spent without iterations
        self._unused = 0  # iterations that batches were granted and did not make

    @property
    def done(self) -> int:
        """The number of iterations made so far."""
        return int(self.plan.counts[DONE])

    @property
    def best_cost(self) -> float:
        """The cost of the best solution, in the instance's units times its scale."""
        return float(self.plan.cost[BEST])

    def expected_iterations(self, since: float, share: float) -> float:
        """Return the expected number of iterations from iteration `since` to the given share of the run, at the current speed."""
        run = self.run
        if run.iterations is not None:
            return max(1.0, int(share * run.iterations) - since)
        busy = run.fraction - self._idle
        if busy <= 0.0:
            return 1e18
        return max(1.0, self.done * (share - self._idle) / busy - since)

    def next_batch(self, share: float = 1.0) -> int:
        """Return how many iterations to make next; 0 if the run, or the given share of the run, is over.

        Iterations given back to `return_unused` are granted first.
        """
        run, max_units = self.run, None
        if run.remaining <= self._report_seconds:  # with thousands of clients a report takes tens of milliseconds
            run.stop("time_limit")
        if share < 1.0:
            if run.iterations is not None:
                max_units = int(share * run.iterations) - self.done
            if (max_units is not None and max_units <= 0) or (max_units is None and run.fraction >= share):
                return 0
        if self._unused:
            units = self._unused if max_units is None else min(self._unused, max_units)
            self._unused -= units
            return 0 if run.should_stop else units
        return run.budget(max_units)

    def return_unused(self, units: int) -> None:
        """Give back `units` iterations that were granted but not made; `next_batch` grants them again.

        The number of iterations, and so the result, does not depend on how iterations are divided into batches.
        """
        self._unused += units

    def report(self) -> None:
        """Report the best solution, if it was not reported yet."""
        if self.plan.counts[IMPROVED] > self._reported:
            self._reported, began = int(self.plan.counts[IMPROVED]), self.run.elapsed
            self.run.report(routes_in(self.instance, self.plan, self.plan.best))
            self._report_seconds = self.run.elapsed - began

    def serve_all(self, heat: float) -> bool:
        """Make an initial solution, and search until it serves all mandatory clients; return whether it does.

        The initial solution is the warm start, if there is one, otherwise that of the savings method or of greedy insertion. An
        incomplete warm start is completed by greedy insertion; it is reported before a better initial solution replaces it.

        heat: The temperature of the search, in units of `self.unit`.
        """
        if self.run.warm_start is not None and self.run.solution is not None:
            load_routes(self.instance, self.data, self.plan, self.work, self.run.solution)
        else:
            given = self.run.partial_start
            completed = given is not None and self._complete(given)
            self._construct()
            if self._is_incomplete:
                if completed:
                    self.return_to_best()
                    return True
                if given is not None:
                    if reason := self.run.problem.infeasible(self.instance):
                        self.run.report_infeasible(reason)
                        return False
                    self._complete(given, keep=True)
                self._enumerate()
                if not self.insert_unserved(_NO_ROUTE_LIMIT, heat, 1.0):
                    return False
        if (value := cost_of(self.data, self.plan)) < self.plan.cost[BEST] or not self.plan.counts[IMPROVED]:
            save_best(self.plan, value)
        else:
            self.return_to_best()
        return True

    def _complete(self, routes: list[Route], keep: bool = False) -> bool:
        """Make `routes` the current solution, insert the missing clients, and return whether all mandatory clients are served.

        If so, the solution is reported.

        keep: Whether it remains the current solution; otherwise no client is served afterwards.
        """
        self._clear()
        load_routes(self.instance, self.data, self.plan, self.work, routes)
        insert_all(self.data, self.plan, self.work, _NO_ROUTE_LIMIT)
        if complete := not self._is_incomplete:
            save_best(self.plan, cost_of(self.data, self.plan))
            self.report()
        if not keep:
            self._clear()
        return complete

    def _clear(self) -> None:
        """Remove all clients from the current solution."""
        restore(self.data, self.plan, self.work, np.full(self.data.clients, -1, np.int32))

    def _construct(self) -> None:
        """Make an initial solution, of an empty one, by the savings method or by greedy insertion."""
        if self.instance.rules is not None:
            load_routes(self.instance, self.data, self.plan, self.work, fixed_beginnings(self.instance))
        if applies(self.instance, self.data):
            restore(self.data, self.plan, self.work, savings_plan(self.instance, self.data))
        insert_all(self.data, self.plan, self.work, _NO_ROUTE_LIMIT)

    def _enumerate(self) -> None:
        """If there are few possible routes, make the cheapest solution current, or report that no solution is feasible."""
        if not can_enumerate(self.instance):
            return
        if (routes := cheapest_solution(self.instance, lambda: self.run.should_stop)) is not None:
            self._clear()
            load_routes(self.instance, self.data, self.plan, self.work, routes)
        elif not self.run.should_stop:
            self.run.report_infeasible(NO_SOLUTION.format(self.instance.clients))

    @property
    def _is_incomplete(self) -> bool:
        """Whether, after greedy insertion, a mandatory client is unserved or a fixed beginning violates a limit."""
        return bool(self.work.counts[UNSERVED] > 0) or self._infeasible

    @property
    def _infeasible(self) -> bool:
        """Whether a fixed beginning of a route violates a limit: clients served after it may repair that."""
        rules = self.data.rules
        return rules is not None and bool(rules.locked.any()) and count_infeasible(self.data, self.plan) > 0

    @property
    def routes(self) -> int:
        """The number of routes of the current solution."""
        return int(self.plan.counts[USED])

    def cool(self, heat: float, cold: float, share: float, prizes: float = 1.0) -> None:
        """Anneal until the given share of the run is over.

        Args:
            heat: First temperature, in units of `self.unit`.
            cold: Last temperature, in the same units.
            share: The share of the run at which the cooling ends.
            prizes: With optional clients, the factor of prizes at the beginning; it falls to 1 during the cooling. With the true
                prizes few routes would be opened, as the first client of a route rarely pays for the route.
        """
        cooling = np.array([heat * self.unit, cold * self.unit, self.done, np.inf])  # see `anneal`
        data, level = self.data, _PRIZE_LEVELS
        if prizes != 1.0 and self.data.has_optional:
            data, level = self._scale_prizes(prizes, True), 0
        phase = _PRIZE_PHASES[int(self.plan.counts[SERVED] >= LONG_ROUTE * self.routes)]
        while units := self.next_batch(share):
            cooling[3] = self.expected_iterations(cooling[2], share)
            if level < _PRIZE_LEVELS:
                level_units = max(1.0, phase * cooling[3] / _PRIZE_LEVELS)
                if (new_level := min(_PRIZE_LEVELS, int((self.done - cooling[2]) / level_units))) > level:
                    data, level = self._scale_prizes(prizes ** (1.0 - new_level / _PRIZE_LEVELS), False), new_level
                if level < _PRIZE_LEVELS:  # end the batch where the level ends: the result does not depend on batches
                    made = max(1, min(units, int(np.ceil(cooling[2] + (level + 1) * level_units)) - self.done))
                    self.return_unused(units - made)
                    units = made
            anneal(data, self.plan, self.work, self.pool, cooling, units)
            if self.run.report_due:
                self.report()
        if data is not self.data:
            self._scale_prizes(1.0, False)

    def _scale_prizes(self, factor: float, first: bool) -> RoutingData:
        """Return the data with the prizes multiplied by `factor`, and compute the current cost with these prizes.

        Before this, the current solution is saved as the best one, if it is better at the true prizes.

        Args:
            factor: The factor of the true prizes.
            first: Whether to insert the clients that are profitable at these prizes.
        """
        if (value := cost_of(self.data, self.plan)) < self.plan.cost[BEST]:
            save_best(self.plan, value)
        data = self.data if factor == 1.0 else self.data._replace(prize=factor * self.data.prize)
        if first:
            insert_all(data, self.plan, self.work, _NO_ROUTE_LIMIT)
        self.plan.cost[CURRENT] = cost_of(data, self.plan)
        return data

    def keep_routes(self) -> bool:
        """Start to store the routes of good solutions, if route selection applies; return whether it does.

        It applies if the instance is not too large, routes are short, all groups of clients must be served, and there are no
        reloads, costs of time, fixed beginnings of routes, costs or limits that couple routes, or clusters of optional clients.
        """
        n, used = self.data.clients, max(1, int(self.plan.counts[USED]))
        rules = self.data.rules
        visits = int(self.plan.counts[SERVED]) if rules is not None and rules.has_groups else n
        unsuitable = rules is not None and (
            rules.multi_trip
            or rules.has_time_costs
            or bool(rules.locked.any())
            or not bool(rules.group_required.all())
            or rules.structure.is_coupled
            or (rules.structure.has_clusters and self.data.has_optional)
        )
        if unsuitable or n > _MAX_CLIENTS or visits > _MAX_ROUTE_LENGTH * used:
            return False
        self.pool = new_pool(self.data, self.plan, _POOL_SIZE, min(n, 2 * visits // used + 8))
        self._columns = max(_COLUMNS_PER_CLIENT * n, 500)
        return True

    def choose_routes(self, seconds: float) -> None:
        """Make the cheapest selection of stored routes the current solution, if it is better than the best solution.

        Otherwise the best solution becomes the current one.

        seconds: The time limit; inf to limit the steps of the selection instead.
        """
        self.return_to_best()
        store_all(self.data, self.plan, self.pool)
        run, counts, before = self.run, self.instance.vehicles.count, self.run.elapsed
        idle, best = run.fraction, float(self.plan.cost[BEST])
        places = run.call_interruptible(
            lambda: select_routes(self.data, self.pool, counts, best, self._columns, seconds), stop=lambda: None
        )
        if seconds < np.inf:  # consider fewer routes next time if the selection took long, more if it was fast
            share = (run.elapsed - before) / seconds
            self._columns = int(self._columns * (0.6 if share > 0.6 else 1.5 if share < 0.2 else 1.0))
            self._idle += run.fraction - idle
        if places is not None:
            restore(self.data, self.plan, self.work, self._predecessors(places))
            save_best(self.plan, cost_of(self.data, self.plan))
            self.report()

    def _predecessors(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return int32 [n]: the predecessor of each client, as `restore` takes it, in the solution made of pool routes.

        places: int64 [k], the indices of the routes in the pool.
        """
        before = np.full(self.data.clients, -1, np.int32)
        slots = self.plan.stack_start.copy()
        for place in places:
            kind = self.pool.kind[place]
            visits = self.pool.visits[place, : self.pool.length[place]]
            before[visits] = np.concatenate([[self.data.clients + slots[kind]], visits[:-1]])
            slots[kind] += 1
        return before

    def return_to_best(self) -> None:
        """Make the best solution the current one."""
        restore(self.data, self.plan, self.work, self.plan.best.copy())
        self.plan.best[:] = self.plan.prev[: self.data.clients]
        self.plan.cost[:] = cost_of(self.data, self.plan)

    def insert_unserved(
        self,
        max_routes: int,
        heat: float,
        share: float,
        unserved: np.ndarray | None = None,
        unserved_counts: np.ndarray | None = None,
    ) -> bool:
        """Make iterations until all mandatory clients are served, or the given share of the run is over.

        Args:
            max_routes: No route is opened beyond this number.
            heat: The temperature, in units of `self.unit`.
            share: The share of the run at which the search ends.
            unserved: int32 [n + 1], the unserved mandatory clients, see `insert_unserved`; None: they are listed here.
            unserved_counts: int64 [n], how often each client has been unserved; None: never.

        Returns:
            Whether all mandatory clients are served.
        """
        if unserved is None:
            unserved = np.zeros(self.data.clients + 1, np.int32)
            list_unserved(self.data, self.plan, unserved)
        if unserved_counts is None:
            unserved_counts = np.zeros(self.data.clients, np.int64)
        heat = heat * self.unit
        while (unserved[0] or self._infeasible) and (units := self.next_batch(share)):
            made = insert_unserved(self.data, self.plan, self.work, unserved, unserved_counts, heat, max_routes, units)
            self.return_unused(units - int(made))
        return not unserved[0] and not self._infeasible
