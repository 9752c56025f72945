"""Capacity: the arms pulled are assigned to workers, each of limited capacity (a multiple knapsack).

Arms of equal cost are interchangeable. A packing therefore says only how many arms of each cost are pulled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import Infeasible, InputError, UsageError
from corl.fields import Array, Integer, Object
from corl.problems.bandits.constraints.constraint import LARGEST_INTEGER, Fields, Oracle, PullConstraint, Relaxation, Rooms

__all__ = ["Capacity"]

_AT_ONCE = 2_000  # packings that are compared between two checks of the deadline
_MAX_IN_RELAXATION = 2_000  # with more packings, the relaxation assigns arms to workers instead
_MAX_PACKINGS = 300_000  # with more, each action is found by an integer program


@dataclass(frozen=True, eq=False)
class Capacity(PullConstraint):
    """The arms pulled can be assigned to the workers so that no worker's capacity is exceeded."""

    costs: NDArray[np.int64]
    """[J] the capacity that a pull of each arm uses, at least 1."""
    capacities: NDArray[np.int64]
    """[W] the capacity of each worker, at least 0."""

    kind = "capacity"
    form = Object({"costs": Array(Integer(1, LARGEST_INTEGER), 1), "capacities": Array(Integer(0, LARGEST_INTEGER), 1)})

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", np.asarray(self.costs, np.int64))
        object.__setattr__(self, "capacities", np.asarray(self.capacities, np.int64))
        if not len(self.capacities):
            raise InputError("accepted: a list of at least one integer", field="constraint.capacities")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J, the number of arms."""
        return len(self.costs)

    def check(self, action: NDArray[np.int8]) -> None:
        """See Constraint.check. Depth-first search for an assignment, most expensive arm first, cached by the costs pulled."""
        pulled = sorted((int(cost) for cost, taken in zip(self.costs, action) if taken), reverse=True)
        if (costs := tuple(pulled)) not in self._check_results:
            fits = sum(pulled) <= self.capacities.sum() and _fits(pulled, sorted(int(c) for c in self.capacities), set())
            self._check_results[costs] = bool(fits)
        if not self._check_results[costs]:
            raise Infeasible(f"pulls that cost {pulled} do not fit the workers' capacities {self.capacities.tolist()}")

    @cached_property
    def _check_results(self) -> dict[tuple[int, ...], bool]:
        """Results of `check`: the costs of the arms pulled -> whether they fit."""
        return {}

    @cached_property
    def _packed(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """The K different costs, increasing, and the maximal packings [V, K], None if there are too many (`_packings`)."""
        distinct_costs = np.unique(self.costs)
        return distinct_costs, _packings(
            distinct_costs, np.array([(self.costs == cost).sum() for cost in distinct_costs]), self.capacities
        )

    def make_oracle(self) -> Oracle:
        """Return an oracle that evaluates all maximal packings, which are listed once: of each cost, the best arms are pulled.

        If there are too many packings, each action is the solution of an integer program.
        """
        from corl.problems.bandits.constraints.kernels import best_packing

        distinct_costs, packings = self._packed
        if packings is None:
            from corl.problems.bandits.constraints.programs import program_oracle

            return program_oracle(self, self._program())
        members = [np.flatnonzero(self.costs == cost) for cost in distinct_costs]

        def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(level_values)
            orders = [each[np.argsort(-gains[:, each], axis=1, kind="stable")] for each in members]
            sums = np.zeros((len(gains), len(distinct_costs), max(map(len, members)) + 1))
            for k, order in enumerate(orders):
                sums[:, k, 1 : order.shape[1] + 1] = np.cumsum(
                    np.take_along_axis(gains, order, 1), axis=1
                )  # [:, k, n]: the n best arms
            chosen = np.empty(len(gains), np.int64)
            best_packing(sums, packings, chosen)
            actions = np.zeros(gains.shape, np.int8)
            for k, order in enumerate(orders):
                taken = np.arange(order.shape[1]) < packings[chosen, k][:, None]
                np.put_along_axis(actions, order, taken.astype(np.int8), 1)
            return np.where(gains > 0.0, actions, 0).astype(np.int8)

        return best

    def _program(self) -> Relaxation:
        """Return the assignment of arms to workers as a program: z[w * J + j] is 1 if worker w serves arm j."""
        from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

        arms, workers = self.arms, len(self.capacities)
        at_most_once = csr_array(hstack([eye_array(arms)] * workers))
        loads = kron(eye_array(workers), csr_array(self.costs[None, :].astype(np.float64)))
        too_heavy = np.flatnonzero(self.costs[None, :] > self.capacities[:, None])
        never = csr_array((np.ones(len(too_heavy)), too_heavy, np.arange(len(too_heavy) + 1)), (len(too_heavy), arms * workers))
        limit = np.concatenate([np.ones(arms), self.capacities.astype(np.float64), np.zeros(len(too_heavy))])
        return Relaxation(at_most_once, csr_array(vstack([at_most_once, loads, never])), limit)

    def relaxation(self) -> Relaxation:
        """Return probabilities of pulls and of packings: the expected pulls of each cost are within those of a random packing.

        This is tighter than `_program`, which may fill workers with fractions of arms and is used if there are too many packings.
        """
        from scipy.sparse import block_array, csr_array, eye_array

        distinct_costs, packings = self._packed
        if packings is None or len(packings) > _MAX_IN_RELAXATION:
            return self._program()
        arms, count = self.arms, len(packings)
        members = csr_array((self.costs == distinct_costs[:, None]).astype(np.float64))
        room, one_packing = csr_array(-packings.T.astype(np.float64)), csr_array(np.ones((1, count)))
        inequalities = block_array([[eye_array(arms), None], [members, room], [None, one_packing]], format="csr")
        limit = np.concatenate([np.ones(arms), np.zeros(len(distinct_costs)), np.ones(1)])
        return Relaxation(csr_array(eye_array(arms, arms + count)), csr_array(inequalities), limit)

    def rooms(self) -> Rooms:
        """Return one room per maximal packing; a pull uses up one of its arms of that cost. See Constraint.rooms."""
        distinct_costs, packings = self._packed
        if packings is None:
            raise UsageError(f"the workers' capacities allow more than {_MAX_PACKINGS:,} packings of arms: too many to list")
        return Rooms((self.costs[:, None] == distinct_costs).astype(np.int64), packings)

    def to_json(self) -> dict[str, Any]:
        """Return `costs` and `capacities`."""
        return {"costs": self.costs.tolist(), "capacities": self.capacities.tolist()}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Capacity:
        """Return the constraint, as the inverse of `to_json`."""
        costs = fields["costs"].integers(arms)
        return cls(costs, fields["capacities"].integers(None))


def _fits(costs: list[int], capacities: list[int], failed: set[tuple[int, ...]]) -> bool:
    """Return whether `costs` (decreasing) can be packed into `capacities` (increasing).

    `failed` collects, in place, the remaining capacities into which the remaining costs did not fit; within one outermost call
    the remaining capacities determine which costs remain.
    """
    if not costs:
        return True
    if (remaining := tuple(capacities)) in failed:
        return False
    for k, capacity in enumerate(capacities):
        if capacity >= costs[0] and (k == 0 or capacity != capacities[k - 1]):  # equal capacities: only the first is tried
            reduced = sorted([*capacities[:k], capacity - costs[0], *capacities[k + 1 :]])
            if _fits(costs[1:], reduced, failed):
                return True
    failed.add(remaining)
    return False


def _packings(
    distinct_costs: NDArray[np.int64], available: NDArray[np.int64], capacities: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the maximal packings, int64 [V, K], or None if there are too many.

    Args:
        distinct_costs: int64 [K].
        available: int64 [K], the number of arms of each cost.
        capacities: int64 [W].
    """
    found = np.zeros((1, len(distinct_costs)), np.int64)
    for capacity in capacities:
        seconds_left()
        fills = _fills(distinct_costs, available, int(capacity))
        if len(found) * len(fills) > 20 * _MAX_PACKINGS:
            return None
        found = _distinct(
            np.minimum((found[:, None, :] + fills[None, :, :]).reshape(-1, len(distinct_costs)), available), available
        )
        if len(found) > _MAX_PACKINGS:
            return None
    from corl.problems.bandits.constraints.kernels import keep_largest

    kept, count = np.empty_like(found), 0
    for end in range(len(found), 0, -_AT_ONCE):
        seconds_left()
        count = keep_largest(found[max(0, end - _AT_ONCE) : end], kept, count)
    return np.ascontiguousarray(kept[:count][::-1])


def _distinct(vectors: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different rows of `vectors` in lexicographic order.

    Entries are at most `most`, so that a row can be encoded as one integer of mixed radix, which is faster to sort.
    """
    if math.prod((most + 1).tolist()) >= 2**63:
        return np.unique(vectors, axis=0)
    number = np.zeros(len(vectors), np.int64)
    for entries, radix in zip(vectors.T, most + 1):
        number = number * radix + entries
    return vectors[np.unique(number, return_index=True)[1]]


def _fills(distinct_costs: NDArray[np.int64], available: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """Return the maximal loads of one worker, as numbers of arms of each cost, int64 [F, K]; arguments as of `_packings`."""
    fills = [(np.zeros(len(distinct_costs), np.int64), capacity)]
    for k, cost in enumerate(distinct_costs):
        fills = [
            (fill + n * (np.arange(len(distinct_costs)) == k), unused - n * int(cost))
            for fill, unused in fills
            for n in range(min(int(available[k]), unused // int(cost)) + 1)
        ]
    full = [fill for fill, unused in fills if not ((distinct_costs <= unused) & (fill < available)).any()]
    return np.array(full, np.int64)
