"""The state of a run: the plan, what was reported of it, and the phases before annealing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.solvers.vrp.enumeration import NO_PLAN, countable, least_plan
from corl.solvers.vrp.ruin.absence import drop_route, missing, seek
from corl.solvers.vrp.ruin.annealing import anneal, begin
from corl.solvers.vrp.ruin.choice import choose
from corl.solvers.vrp.ruin.construction import cost_of, insert_all, restore
from corl.solvers.vrp.ruin.conversion import load_routes, new_plan, new_work, routes_in, routing_data, under_way
from corl.solvers.vrp.ruin.costs import scale_of
from corl.solvers.vrp.ruin.joining import breaking
from corl.solvers.vrp.ruin.pairs import fill_keys
from corl.solvers.vrp.ruin.pool import gather_all, new_pool
from corl.solvers.vrp.ruin.savings import applies, savings_plan
from corl.solvers.vrp.ruin.state import BEST, CURRENT, DONE, FOUND, MISSED, USED

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run
    from corl.solvers.vrp.ruin.state import RoutingData

__all__ = ["Search", "compile_rest"]

_ANY = 1 << 40  # routes: no limit
_POOLED, _LENGTH = 1200, 20  # routes are chosen by integer programming up to so many clients, and so many in a route
_PLACES = 1 << 15  # in the pool of routes
_LEVELS = 50  # of how much prizes count,
_GENEROUS = 0.5  # in this part of a cooling more than they are
_COLUMNS = 10  # routes a client that the first choice is from


class Search:
    """A plan of an instance and the run that it is made for."""

    def __init__(self, instance: VrpInstance, neighbours: int, farther: int, run: Run) -> None:
        self.instance, self.run = instance, run
        self.data = routing_data(instance, neighbours, farther)
        self.plan = new_plan(instance, self.data)
        self.work = new_work(self.data, self.plan, run.seed)
        self.unit = scale_of(instance, self.data.near, self.data.apart)
        self.pool = new_pool(self.data, self.plan, 0, 1)
        self._most = 0
        self._reported, self._reporting = 0, 0.0  # times that a best had been found, seconds that its report took
        self._idle = run.fraction  # share of the run in which no iterations were made
        self._spare = 0

    @property
    def done(self) -> int:
        """Iterations made so far."""
        return int(self.plan.counts[DONE])

    def planned(self, since: float, share: float) -> float:
        """How many iterations there will be from iteration `since` to that share of the run, by the present speed."""
        run = self.run
        if run.iterations is not None:
            return max(1.0, int(share * run.iterations) - since)
        busy = run.fraction - self._idle
        if busy <= 0.0:
            return 1e18
        return max(1.0, self.done * (share - self._idle) / busy - since)

    def grant(self, share: float = 1.0) -> int:
        """How many iterations to make now; 0 where that share of the run, or the run, is over. See `give_back`."""
        run, most = self.run, None
        if run.remaining <= self._reporting:  # thousands of clients: the last report takes tens of milliseconds
            run.stop("time_limit")
        if share < 1.0:
            if run.iterations is not None:
                most = int(share * run.iterations) - self.done
            if (most is not None and most <= 0) or (most is None and run.fraction >= share):
                return 0
        if self._spare:
            units = self._spare if most is None else min(self._spare, most)
            self._spare -= units
            return 0 if run.should_stop else units
        return run.budget(most)

    def give_back(self, units: int) -> None:
        """Return iterations that were granted and not made; the next grant is of these, so that grants choose no path."""
        self._spare += units

    def report(self) -> None:
        """Report the best plan, if it is new."""
        if self.plan.counts[FOUND] > self._reported:
            self._reported, began = int(self.plan.counts[FOUND]), self.run.elapsed
            self.run.report(routes_in(self.instance, self.plan, self.plan.best))
            self._reporting = self.run.elapsed - began

    def serve_all(self, heat: float) -> bool:
        """Begin with the user's solution, by savings or greedily, and then look until all are served that must be.

        False: no place was found for somebody.
        """
        if self.run.warm_start is not None and self.run.solution is not None:
            load_routes(self.instance, self.data, self.plan, self.work, self.run.solution)
        else:
            if self.instance.rules is not None:
                load_routes(self.instance, self.data, self.plan, self.work, under_way(self.instance))
            if applies(self.instance, self.data):
                restore(self.data, self.plan, self.work, savings_plan(self.instance, self.data))
            insert_all(self.data, self.plan, self.work, _ANY)
            if self.work.counts[MISSED] > 0 or self._broken:
                self._enumerate()
                if not self._seek(_ANY, heat, 1.0):
                    return False
        begin(self.plan, cost_of(self.data, self.plan))
        return True

    def _enumerate(self) -> None:
        """Where there are few routes, the cheapest plan of all becomes the present one; where there is none, the run says so."""
        if not countable(self.instance):
            return
        if (plan := least_plan(self.instance, lambda: self.run.should_stop)) is not None:
            restore(self.data, self.plan, self.work, np.full(self.data.clients, -1, np.int32))
            load_routes(self.instance, self.data, self.plan, self.work, plan)
        elif not self.run.should_stop:
            self.run.report_infeasible(NO_PLAN.format(self.instance.clients))

    @property
    def _broken(self) -> bool:
        """Whether a route breaks a limit: a fixed beginning alone, that is, before others are served behind it."""
        rules = self.data.rules
        return rules is not None and bool(rules.locked.any()) and breaking(self.data, self.plan) > 0

    @property
    def routes(self) -> int:
        """How many routes the present plan has."""
        return int(self.plan.counts[USED])

    def drop_routes(self, share: float, heat: float) -> None:
        """Look for plans of fewer routes until that share of the run is over; the plan is then the best one."""
        absences = np.zeros(self.data.clients, np.int64)
        while self.plan.counts[USED] > 1 and not self.run.should_stop:
            absent, used = np.zeros(self.data.clients + 1, np.int32), self.routes
            most = drop_route(self.data, self.plan, self.work, absent, absences)
            if self.routes == used or not self._seek(int(most), heat, share, absent, absences):  # all are under way, or no place
                break
            if (value := cost_of(self.data, self.plan)) >= self.plan.value[BEST]:  # prizes above what a route counts
                break
            begin(self.plan, value)
            self.report()
        self.return_to_best()

    def cool(self, heat: float, cold: float, share: float, prizes: float = 1.0) -> None:
        """Anneal between these temperatures, in units of `unit`, until that share of the run is over.

        prizes: times what they are that prizes count at first, where clients are optional; over the first part of the cooling
        this falls to 1. A route does not pay for its first client, so that few of them would ever be opened.
        """
        cooling = np.array([heat * self.unit, cold * self.unit, self.done, np.inf])
        data, level = self.data, _LEVELS if prizes == 1.0 or not self.data.prizes else -1
        while units := self.grant(share):
            cooling[3] = self.planned(cooling[2], share)
            if level < _LEVELS:
                each = max(1.0, _GENEROUS * cooling[3] / _LEVELS)
                if (now := min(_LEVELS, int((self.done - cooling[2]) / each))) > level:
                    data, level = self._counted(prizes ** (1.0 - now / _LEVELS), level < 0), now
                if level < _LEVELS:  # no grant goes on into the next level: grants choose no path
                    made = max(1, min(units, int(np.ceil(cooling[2] + (level + 1) * each)) - self.done))
                    self.give_back(units - made)
                    units = made
            anneal(data, self.plan, self.work, self.pool, cooling, units)
            if self.run.report_due:
                self.report()
        if data is not self.data:
            self._counted(1.0, False)

    def _counted(self, times: float, first: bool) -> RoutingData:
        """What the kernels work on where prizes count so many times what they are; the plan's value is told in these, after it
        was compared with the best one in true ones. first: everybody is inserted who then pays."""
        if (value := cost_of(self.data, self.plan)) < self.plan.value[BEST]:
            begin(self.plan, value)
        data = self.data if times == 1.0 else self.data._replace(prize=times * self.data.prize)
        if first:
            insert_all(data, self.plan, self.work, _ANY)
        self.plan.value[CURRENT] = cost_of(data, self.plan)
        return data

    def keep_routes(self) -> bool:
        """Let annealing keep the routes that it sees, where choosing among them pays; whether it does."""
        n, used = self.data.clients, max(1, int(self.plan.counts[USED]))
        rules = self.data.rules
        other = rules is not None and (rules.trips or rules.grouped or rules.lasting or bool(rules.locked.any()))
        if other or n > _POOLED or n > _LENGTH * used:
            return False
        self.pool = new_pool(self.data, self.plan, _PLACES, min(n, 2 * n // used + 8))
        self._most = max(_COLUMNS * n, 500)
        return True

    def choose_routes(self, seconds: float) -> None:
        """The cheapest plan of routes that were seen, if that is better, and otherwise the best plan, becomes the present one.

        seconds: inf for a limit on steps instead.
        """
        self.return_to_best()
        gather_all(self.data, self.plan, self.pool)
        run, counts, before = self.run, self.instance.vehicles.count, self.run.elapsed
        idle, best = run.fraction, float(self.plan.value[BEST])
        places = run.call_interruptible(
            lambda: choose(self.data, self.pool, counts, best, self._most, seconds), stop=lambda: None
        )
        if seconds < np.inf:  # as many columns as there is time for
            share = (run.elapsed - before) / seconds
            self._most = int(self._most * (0.6 if share > 0.6 else 1.5 if share < 0.2 else 1.0))
            self._idle += run.fraction - idle
        if places is not None:
            restore(self.data, self.plan, self.work, self._chosen(places))
            begin(self.plan, cost_of(self.data, self.plan))
            self.report()

    def _chosen(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """int32 [n]: before which client which node comes (see `restore`) where routes of the pool make up the plan."""
        before = np.full(self.data.clients, -1, np.int32)
        slots = self.plan.first.copy()
        for place in places:
            kind = self.pool.kind[place]
            visits = self.pool.visits[place, : self.pool.length[place]]
            before[visits] = np.concatenate([[self.data.clients + slots[kind]], visits[:-1]])
            slots[kind] += 1
        return before

    def return_to_best(self) -> None:
        """Make the best plan the present one."""
        restore(self.data, self.plan, self.work, self.plan.best.copy())
        self.plan.best[:] = self.plan.prev[: self.data.clients]
        self.plan.value[:] = cost_of(self.data, self.plan)

    def _seek(
        self, most: int, heat: float, share: float, absent: np.ndarray | None = None, absences: np.ndarray | None = None
    ) -> bool:
        """Iterate until nobody is absent, or that share of the run is over; whether nobody is."""
        if absent is None:
            absent = np.zeros(self.data.clients + 1, np.int32)
            missing(self.data, self.plan, absent)
        if absences is None:
            absences = np.zeros(self.data.clients, np.int64)
        heat = heat * self.unit
        while (absent[0] or self._broken) and (units := self.grant(share)):
            made = seek(self.data, self.plan, self.work, absent, absences, heat, most, units)
            self.give_back(units - int(made))
        return not absent[0] and not self._broken


def compile_rest(instance: VrpInstance, scarce: bool) -> None:
    """Call once, on a tiny instance, what only warm starts, savings, several coolings and many clients need.

    scarce: also what looks for places for clients that no route has.
    """
    data = routing_data(instance, 2)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    load_routes(instance, data, plan, work, [[node] for node in range(instance.depots, instance.n)])
    restore(data, plan, work, plan.prev[: data.clients].copy())
    for kind in (np.int32, np.int64):
        fill_keys(np.zeros((1, 1)), np.empty((1, 1), kind), 1.0)
    if not data.timed:
        savings_plan(instance, data)
    if scarce:
        absent, absences = np.zeros(data.clients + 1, np.int32), np.zeros(data.clients, np.int64)
        most = drop_route(data, plan, work, absent, absences)
        seek(data, plan, work, absent, absences, 1.0, int(most), 3)
        missing(data, plan, absent)
        breaking(data, plan)
