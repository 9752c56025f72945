"""Building a tour city by city, as a Markov decision process (README.md, "As a decision process").

The observation is the reduced state of BQ-NCO (Drakulic et al., NeurIPS 2023). The best remaining decisions depend only on the
problem that remains: a shortest path from the last city (the origin) through the unvisited cities to the first (the destination).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.tsp.assignment import Assignment, assignment_of
from corl.problems.tsp.assignment_lookahead import AssignmentLookahead, observe
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.transitions import State, reset_rows, surroundings
from corl.routing.graph_pool import graph_pool, offsets

__all__ = ["SURROUNDINGS", "TspEnvironment"]

_NO_ASSIGNMENT = Assignment(np.empty(0), np.empty(0), np.empty(0, np.int32))  # for an instance with coordinates
SURROUNDINGS = 96
"""The greatest number of unvisited cities, beyond those listed as actions, that an observation contains."""
_LIST_FACTOR = 2  # neighbour lists are this many times K long: half of their cities may be visited before a scan is needed


class TspEnvironment(Environment):
    """Partial tours, one in each row of the environment.

    An action is the next city: the `width` nearest unvisited cities are listed, but any may be taken.

    On a matrix, the nearest cities are those with the least reduced cost in the assignment problem of the whole instance.

    The tour starts at city 0, or at city `key % n` if `reset` is given keys. The reward of a step is minus the distance
    travelled, including the return on the last of the n - 1 steps; the base value, to which the
    rewards are added, is 0.
    """

    def __init__(self, instances: Sequence[TspInstance], rows: int, width: int = 32) -> None:
        super().__init__(instances, rows, width)
        self.width = max(1, min(width, max(instance.n for instance in instances) - 1))
        self.state = _pool(self.instances, rows, self.width)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, which are 0."""
        sizes = self.state.graphs.size[which].astype(np.uint64)
        reset_rows(self.state, rows, which, (keys % sizes).astype(np.int64))
        return np.zeros(len(rows))

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the reduced states of R rows.

        Slots 0..K-1 are the listed `actions`, slot K is the origin, slot K + 1 the destination.

        cities: int32 [R, K + 2], the city of each slot, -1 if the slot is empty.
        mask: bool [R, K + 2], whether a slot contains a city.
        remaining: int32 [R], the number of unvisited cities, of which the K nearest have slots.
        coordinates: float64 [R, K + 2, 3], if any instance has coordinates: those of the metric (z = 0 in the plane, unit
            vectors for GEO); zero in empty slots and for matrix instances.
        surroundings: float64 [R, SURROUNDINGS, 3], if any instance has coordinates: those of the nearest unvisited cities that
            are not listed, nearest first; zero where there are no more.
        distances: float64 [R, K + 2, K + 2], if any instance has a matrix: from slot to slot; zero in empty slots and for
            instances with coordinates.
        bound, prices, successors, cycles, joints, patches, actions: if any instance has a matrix, the fields of
            corl.problems.tsp.assignment_lookahead.AssignmentLookahead: the assignment problem of the rest of the tour.
        """
        at, state = rows, self.state
        cities = np.empty((len(at), self.width + 2), np.int32)
        cities[:, :-2] = actions
        cities[:, -2], cities[:, -1] = state.order[at, state.visited[at] - 1], state.order[at, 0]
        mask = cities >= 0
        instance = state.instance[at]
        observation = {
            "cities": cities,
            "mask": mask,
            "remaining": (state.graphs.size[instance] - state.visited[at]).astype(np.int32),
        }
        planar = np.array([given.matrix is None for given in self.instances])
        if planar.any():
            shown = mask & planar[instance][:, None]
            observation["coordinates"] = np.zeros((*cities.shape, 3))
            observation["coordinates"][shown] = state.graphs.points[
                (state.graphs.points_start[instance][:, None] + cities)[shown]
            ]
            observation["surroundings"] = np.zeros((len(at), SURROUNDINGS, 3))
            surroundings(state, at, planar[instance], cities, observation["surroundings"])
        if not planar.all():
            observation["distances"] = self._distances(cities, mask & ~planar[instance][:, None], instance)
            lookahead = AssignmentLookahead.empty(len(at), self.width)
            observe(state, at, cities, lookahead)
            observation |= lookahead._asdict()
        return observation

    def _distances(self, cities: NDArray[np.int32], mask: NDArray[np.bool_], instance: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the matrix entries between all slots in `mask`, float64 [R, K + 2, K + 2]; zero elsewhere."""
        first, size = (array[instance][:, None, None] for array in (self.state.graphs.matrix_start, self.state.graphs.size))
        pairs = mask[:, :, None] & mask[:, None, :]
        block = np.zeros(pairs.shape)
        block[pairs] = self.state.graphs.matrix[(first + cities[:, :, None] * size + cities[:, None, :])[pairs]]
        return block

    def solution(self, row: int) -> NDArray[np.int32]:
        """Return the tour of a row, int32 [n]. Raises UsageError while cities are unvisited."""
        at = int(self._checked(row)[0])
        n = int(self.state.graphs.size[self.state.instance[at]])
        if self.state.visited[at] < n:
            raise UsageError(f"row {at} has visited {self.state.visited[at]} of {n} cities")
        return np.array(self.state.order[at, :n])


def _pool(instances: list[TspInstance], rows: int, width: int) -> State:
    """Return the data of `instances` and the states of all rows; every row is instance 0 with a partial tour of city 0 alone."""
    assignments = [assignment_of(instance.matrix) if instance.matrix is not None else _NO_ASSIGNMENT for instance in instances]
    into = [each.into if len(each.into) else None for each in assignments]
    graphs = graph_pool([metric_of(instance) for instance in instances], _LIST_FACTOR * width, into)
    priced = np.array([len(each.into) for each in assignments])
    order = np.tile(np.arange(int(graphs.size.max()), dtype=np.int32), (rows, 1))
    return State(
        graphs=graphs,
        priced_start=np.where(priced > 0, offsets(priced), -1),
        prices=np.array(
            [np.concatenate([each.out for each in assignments]), np.concatenate([each.into for each in assignments])]
        ),
        successor=np.concatenate([each.successor for each in assignments]),
        instance=np.zeros(rows, np.int32),
        visited=np.ones(rows, np.int32),
        order=order,
        place=order.copy(),
    )
