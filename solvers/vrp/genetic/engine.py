"""The state of a run of the genetic search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corl.jit import by_reference
from corl.problems.vrp.evaluation import Route, routes_of
from corl.rng import random_state
from corl.solvers.vrp.genetic.breeding import adopt, breed
from corl.solvers.vrp.genetic.conversion import genetic_data, sweep
from corl.solvers.vrp.genetic.state import new_offspring, new_population, new_routes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run
    from corl.solvers.vrp.genetic.solver import Genetic

__all__ = ["Engine"]

_FIRST_ROUTE_COST = 1e6  # the first cost that limits the number of routes in a split, in tolerances


class Engine:
    """A population, and the run that it belongs to."""

    def __init__(self, instance: VrpInstance, options: Genetic, run: Run) -> None:
        self.run, self.options = run, options
        first = sweep(instance)
        if run.warm_start is None or run.solution is None:
            run.report([Route(0, np.array(route, np.int32) + 1) for route in first])
        else:
            first = [(route.visits - 1).tolist() for route in routes_of(instance, run.solution) if len(route.visits)]
        self.data = genetic_data(instance, options.neighbours, max(len(first), len(sweep(instance))))
        n, slots = self.data.clients, self.data.slots
        self.routes = by_reference(new_routes(n, slots))
        self.routes.penalty[:] = self.data.first_penalty
        self.population = by_reference(new_population(n, 2 * (options.population + options.surplus) + 3))
        self.offspring = by_reference(new_offspring(n, slots, random_state(run.seed)))
        self.offspring.route_cost[0] = _FIRST_ROUTE_COST * self.data.tolerance
        self._reported = math.inf
        self._adopt(first)

    def _adopt(self, solution: Sequence[Sequence[int]]) -> None:
        """Add a feasible solution and its local optimum to the population."""
        n, routes = self.data.clients, self.routes
        for slot in range(self.data.slots):
            ring = [n + slot, *(solution[slot] if slot < len(solution) else ())]
            for before, node in zip(ring, ring[1:] + ring[:1]):
                routes.next[before], routes.prev[node] = node, before
                routes.route[node] = slot
        adopt(self.data, routes, self.population, self.offspring, self.options.population, self.options.surplus)

    def breed(self) -> None:
        """Make individuals until the run ends, and report better solutions."""
        options = self.options
        while units := self.run.budget():
            breed(
                self.data, self.routes, self.population, self.offspring,
                options.population, options.surplus, options.restart, units,
            )  # fmt: skip
            if self.run.report_due:
                self._report()
        self._report()

    def _report(self) -> None:
        """Report the best solution, if it was not reported yet."""
        if (cost := float(self.population.best_cost[0])) < self._reported:
            self._reported = cost
            self.run.report(self._best_routes())

    def _best_routes(self) -> list[Route]:
        """Return the routes of the best solution."""
        before = self.population.best
        inner = np.flatnonzero(before >= 0)
        follower = np.full(len(before), -1)
        follower[before[inner]] = inner
        routes, next_of = [], follower.tolist()
        for node in np.flatnonzero(before < 0).tolist():
            visits = []
            while node >= 0:
                visits.append(node + 1)
                node = next_of[node]
            routes.append(Route(0, np.array(visits, np.int32)))
        return routes
