"""The state of a run of the genetic search, and the conversion of instances and solutions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.jit import by_reference
from corl.problems.vrp.evaluation import Route
from corl.problems.vrp.metric import metric_of
from corl.rng import random_state
from corl.solvers.vrp.genetic.breeding import breed
from corl.solvers.vrp.genetic.state import GeneticData, Offspring, new_population, new_routes
from corl.solvers.vrp.ruin.neighbours import nearest
from corl.tolerance import LIMIT

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["Engine", "genetic_data"]

_TURN = 65536
_EASE = 0.25 * LIMIT
_SLOT_FACTOR, _MORE_SLOTS = 1.3, 3


def genetic_data(instance: VrpInstance, neighbours: int) -> GeneticData:
    """Return the arrays of an instance; they take O(n^2) memory."""
    n, vehicles = instance.clients, instance.vehicles
    order = np.concatenate([np.arange(1, n + 1), [0]])
    rate, fixed = float(vehicles.unit_cost[0]), float(vehicles.fixed_cost[0]) + instance.route_weight
    distance = np.stack([instance.distances_from(int(node))[order] for node in order]) * rate
    distance[n, :n] += 0.5 * fixed
    distance[:n, n] += 0.5 * fixed
    distance[np.arange(n + 1), np.arange(n + 1)] = 0.0
    near, start = _neighbours(instance, neighbours)
    demand = np.append(instance.demand[1:], 0.0).astype(np.float64)
    capacity = float(vehicles.capacity[0])
    slots = math.ceil(_SLOT_FACTOR * demand.sum() / capacity) + _MORE_SLOTS
    limit = min(float(vehicles.max_distance[0]), float(vehicles.max_duration[0]))
    limited = math.isfinite(limit)
    service = np.zeros(n + 1)
    if math.isfinite(float(vehicles.max_duration[0])) and instance.service is not None:
        service[:n] = instance.service[1:] * rate
    points = np.zeros((n + 1, 2)) if instance.points is None else np.asarray(instance.points[order][:, :2], np.float64)
    offset = points[:n] - points[n]
    angle = np.floor(np.arctan2(offset[:, 1], offset[:, 0]) / (2.0 * math.pi) * _TURN).astype(np.int64) & (_TURN - 1)
    if limited:
        slots = n
    if vehicles.count[0] >= 0:
        slots = min(int(vehicles.count[0]), n)
    data = GeneticData(
        clients=n,
        slots=min(slots, n),
        least_routes=min(slots, n, math.ceil(demand.sum() / capacity)),
        total_demand=float(demand.sum()),
        capacity=capacity * (1.0 + _EASE),
        limited=limited,
        max_length=(limit * rate + fixed) * (1.0 + _EASE) if limited else math.inf,
        distance=distance,
        near=near,
        near_start=start,
        demand=demand,
        service=service,
        angle=angle,
        offset=offset,
        first_penalty=np.array([max(distance.max(), 1e-9) / max(demand.max(), 1e-9), 1.0]),
        tolerance=1e-8 * float(distance.max()),
    )
    return by_reference(data)


def _neighbours(instance: VrpInstance, count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the neighbours of all clients, and where those of each client begin: the relation is made symmetric."""
    n = instance.clients
    found, _ = nearest(instance, metric_of(instance), min(count, n - 1))
    one, other = np.repeat(np.arange(n), found.shape[1]), found.ravel().astype(np.int64)
    pairs = np.unique(np.concatenate([one * n + other, other * n + one]))
    start = np.searchsorted(pairs, np.arange(n + 1) * n)
    return (pairs % n).astype(np.int32), start.astype(np.int64)


class Engine:
    """A population and the run that it belongs to."""

    def __init__(self, instance: VrpInstance, neighbours: int, least: int, surplus: int, run: Run) -> None:
        self.instance, self.run, self.least, self.surplus = instance, run, least, surplus
        self.data = genetic_data(instance, neighbours)
        n, slots = self.data.clients, self.data.slots
        self.routes = by_reference(new_routes(n, slots))
        self.routes.penalty[:] = self.data.first_penalty
        self.population = by_reference(new_population(n, 2 * (least + surplus) + 3))
        self.offspring = by_reference(
            Offspring(
                random=random_state(run.seed),
                tour=np.arange(n, dtype=np.int32),
                taken=np.zeros(n, np.bool_),
                potential=np.zeros((slots + 1, n + 1)),
                split=np.zeros((slots + 1, n + 1), np.int32),
                angle=np.zeros(slots),
                sorted=np.zeros(slots, np.int64),
            )
        )
        self._reported = math.inf

    def breed(self) -> None:
        """Make individuals until the run ends, and report better solutions."""
        while units := self.run.budget():
            breed(self.data, self.routes, self.population, self.offspring, self.least, self.surplus, units)
            if self.run.report_due:
                self.report()
        self.report()

    def report(self) -> None:
        """Report the best solution, if it was not reported yet."""
        if (cost := float(self.population.best_cost[0])) < self._reported:
            self._reported = cost
            self.run.report(self.best_routes())

    def best_routes(self) -> list[Route]:
        """Return the routes of the best solution."""
        before = self.population.best
        follower = np.full(len(before), -1)
        inner = np.flatnonzero(before >= 0)
        follower[before[inner]] = inner
        routes, next_of = [], follower.tolist()
        for node in np.flatnonzero(before < 0).tolist():
            visits = []
            while node >= 0:
                visits.append(node + 1)
                node = next_of[node]
            routes.append(Route(0, np.array(visits, np.int32)))
        return routes
