"""The state of a run: the plan, what was reported of it, and the phases before annealing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corl.solvers.vrp.ruin.absence import drop_route, seek
from corl.solvers.vrp.ruin.annealing import begin
from corl.solvers.vrp.ruin.construction import cost_of, insert_all
from corl.solvers.vrp.ruin.network import load_routes, network, new_plan, new_work, routes_in
from corl.solvers.vrp.ruin.state import DONE, FOUND, MISSED, USED

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["Search", "compile_rest"]

_NEAREST = 10  # neighbours whose mean distance is the unit of temperatures
_ANY = 1 << 40  # routes: no limit


class Search:
    """A plan of an instance and the run that it is made for."""

    def __init__(self, instance: VrpInstance, neighbours: int, run: Run) -> None:
        self.instance, self.run = instance, run
        self.net = network(instance, neighbours)
        self.plan = new_plan(instance, self.net)
        self.work = new_work(self.net, self.plan, run.seed)
        apart = self.net.apart[:, :_NEAREST]
        self.unit = max(1e-9, float(apart.mean() if apart.size else 1.0) * float(self.net.unit.mean()))
        self._reported = 0
        self._spare = 0

    @property
    def done(self) -> int:
        """Iterations made so far."""
        return int(self.plan.counts[DONE])

    def planned(self, since: float) -> float:
        """How many iterations there will be from iteration `since` to the end of the run, by the present speed."""
        run = self.run
        if run.iterations is not None:
            return max(1.0, run.iterations - since)
        if run.fraction <= 0.0:
            return 1e18
        return max(1.0, self.done / run.fraction - since)

    def grant(self, share: float = 1.0) -> int:
        """How many iterations to make now; 0 where that share of the run, or the run, is over. See `give_back`."""
        run, most = self.run, None
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
            self._reported = int(self.plan.counts[FOUND])
            self.run.report(routes_in(self.instance, self.plan, self.plan.best))

    def serve_all(self, heat: float) -> bool:
        """Begin with the user's solution, or greedily, and then look until all are served that must be. False: not found."""
        if self.run.warm_start is not None and self.run.solution is not None:
            load_routes(self.instance, self.net, self.plan, self.work, self.run.solution)
        else:
            insert_all(self.net, self.plan, self.work, _ANY)
            if self.work.counts[MISSED] > 0 and not self._seek(_ANY, heat, 1.0):
                return False
        begin(self.plan, cost_of(self.net, self.plan))
        return True

    def drop_routes(self, share: float, heat: float) -> None:
        """Look for plans of fewer routes until that share of the run is over; the plan is then the best one."""
        absences = np.zeros(self.net.clients, np.int64)
        while self.plan.counts[USED] > 1 and not self.run.should_stop:
            absent = np.zeros(self.net.clients + 1, np.int32)
            most = drop_route(self.net, self.plan, self.work, absent, absences)
            if not self._seek(int(most), heat, share, absent, absences):
                break
            begin(self.plan, cost_of(self.net, self.plan))
            self.report()
        self._return_to_best()

    def _return_to_best(self) -> None:
        routes = routes_in(self.instance, self.plan, self.plan.best)
        done, found = self.plan.counts[DONE], self.plan.counts[FOUND]
        self.plan = new_plan(self.instance, self.net)
        load_routes(self.instance, self.net, self.plan, self.work, routes)
        self.work.stamp[:] = 0
        begin(self.plan, cost_of(self.net, self.plan))
        self.plan.counts[DONE], self.plan.counts[FOUND] = done, found

    def _seek(
        self, most: int, heat: float, share: float, absent: np.ndarray | None = None, absences: np.ndarray | None = None
    ) -> bool:
        """Iterate until nobody is absent, or that share of the run is over; whether nobody is."""
        if absent is None:
            missing = np.flatnonzero((self.plan.route[: self.net.clients] < 0) & np.isinf(self.net.prize))
            absent = np.zeros(self.net.clients + 1, np.int32)
            absent[0], absent[1 : len(missing) + 1] = len(missing), missing
        if absences is None:
            absences = np.zeros(self.net.clients, np.int64)
        heat = heat * self.unit
        while absent[0] and (units := self.grant(share)):
            made = seek(self.net, self.plan, self.work, absent, absences, heat, most, units)
            self.give_back(units - int(made))
        return not absent[0]


def compile_rest(instance: VrpInstance, scarce: bool) -> None:
    """Call once, on a tiny instance, what only warm starts need and, where vehicles are scarce, what looks for places."""
    net = network(instance, 2)
    plan = new_plan(instance, net)
    work = new_work(net, plan, 0)
    load_routes(instance, net, plan, work, [[node] for node in range(instance.depots, instance.n)])
    if scarce:
        absent, absences = np.zeros(net.clients + 1, np.int32), np.zeros(net.clients, np.int64)
        most = drop_route(net, plan, work, absent, absences)
        seek(net, plan, work, absent, absences, 1.0, int(most), 3)
