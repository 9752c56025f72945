"""Capacity: each worker has a capacity, shared by the arms assigned to him (a multiple knapsack)."""

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

_AT_ONCE = 2_000  # packings that are compared between two time checks
_DRAWN = 2_000  # the largest number of packings in the relaxation
_MOST = 300_000  # packings that are kept; above, each action is found by an integer program


@dataclass(frozen=True, eq=False)
class Capacity(PullConstraint):
    """The arms pulled can be assigned to the workers so that no worker's capacity is exceeded."""

    costs: NDArray[np.int64]
    """[J] at least 1."""
    capacities: NDArray[np.int64]
    """[W] of the workers, at least 0."""

    kind = "capacity"
    form = Object({"costs": Array(Integer(1, LARGEST_INTEGER), 1), "capacities": Array(Integer(0, LARGEST_INTEGER), 1)})

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", np.asarray(self.costs, np.int64))
        object.__setattr__(self, "capacities", np.asarray(self.capacities, np.int64))
        if not len(self.capacities):
            raise InputError("accepted: a list of at least one integer", field="constraint.capacities")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J."""
        return len(self.costs)

    def check(self, action: NDArray[np.int8]) -> None:
        """Try the most expensive arms first, with every worker who has enough left, equal ones once. See Constraint.check."""
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
        """The different costs, and the packings: how many arms of each cost can be pulled together (`_packings`)."""
        kinds = np.unique(self.costs)
        return kinds, _packings(kinds, np.array([(self.costs == kind).sum() for kind in kinds]), self.capacities)

    def make_oracle(self) -> Oracle:
        """Return an oracle that evaluates all packings: only the numbers of arms of each cost matter, since the best are pulled.

        All maximal packings are listed once; if they are too many, each action is the solution of an integer program.
        """
        from corl.problems.bandits.constraints.kernels import best_packing

        kinds, packings = self._packed
        if packings is None:
            from corl.problems.bandits.constraints.programs import program_oracle

            return program_oracle(self, self._program())
        members = [np.flatnonzero(self.costs == kind) for kind in kinds]

        def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(level_values)
            orders = [each[np.argsort(-gains[:, each], axis=1, kind="stable")] for each in members]
            sums = np.zeros((len(gains), len(kinds), max(map(len, members)) + 1))
            for k, order in enumerate(orders):
                sums[:, k, 1 : order.shape[1] + 1] = np.cumsum(np.take_along_axis(gains, order, 1), axis=1)
            chosen = np.empty(len(gains), np.int64)
            best_packing(sums, packings, chosen)
            actions = np.zeros(gains.shape, np.int8)
            for k, order in enumerate(orders):
                taken = np.arange(order.shape[1]) < packings[chosen, k][:, None]
                np.put_along_axis(actions, order, taken.astype(np.int8), 1)
            return np.where(gains > 0.0, actions, 0).astype(np.int8)

        return best

    def _program(self) -> Relaxation:
        """Return the assignment of arms to workers as a program: z[w * J + j]."""
        from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

        arms, workers = self.arms, len(self.capacities)
        one = csr_array(hstack([eye_array(arms)] * workers))
        loads = kron(eye_array(workers), csr_array(self.costs[None, :].astype(np.float64)))
        too_heavy = np.flatnonzero(self.costs[None, :] > self.capacities[:, None])
        none = csr_array((np.ones(len(too_heavy)), too_heavy, np.arange(len(too_heavy) + 1)), (len(too_heavy), arms * workers))
        limit = np.concatenate([np.ones(arms), self.capacities.astype(np.float64), np.zeros(len(too_heavy))])
        return Relaxation(one, csr_array(vstack([one, loads, none])), limit)

    def relaxation(self) -> Relaxation:
        """Return probabilities of pulls and of packings: in expectation, arms of each cost fit into the random packing.

        Tighter than probabilities that a worker pulls an arm, which fill workers with fractions of arms; those are used if there
        are too many packings.
        """
        from scipy.sparse import block_array, csr_array, eye_array

        kinds, packings = self._packed
        if packings is None or len(packings) > _DRAWN:
            return self._program()
        arms, drawn = self.arms, len(packings)
        members = csr_array((self.costs == kinds[:, None]).astype(np.float64))
        room, one = csr_array(-packings.T.astype(np.float64)), csr_array(np.ones((1, drawn)))
        above = block_array([[eye_array(arms), None], [members, room], [None, one]], format="csr")
        limit = np.concatenate([np.ones(arms), np.zeros(len(kinds)), np.ones(1)])
        return Relaxation(csr_array(eye_array(arms, arms + drawn)), csr_array(above), limit)

    def rooms(self) -> Rooms:
        """Return the packings, numbers of arms of each cost. See Constraint.rooms."""
        kinds, packings = self._packed
        if packings is None:
            raise UsageError(f"the workers' capacities allow more than {_MOST:,} packings of arms: too many to list")
        return Rooms((self.costs[:, None] == kinds).astype(np.int64), packings)

    def to_json(self) -> dict[str, Any]:
        """Return `costs` and `capacities`."""
        return {"costs": self.costs.tolist(), "capacities": self.capacities.tolist()}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Capacity:
        """Return the constraint, as the inverse of `to_json`."""
        costs = fields["costs"].integers(arms)
        return cls(costs, fields["capacities"].integers(None))


def _fits(costs: list[int], capacities: list[int], failed: set[tuple[int, ...]]) -> bool:
    """Return whether `costs`, decreasing, can be packed into `capacities`, increasing; `failed` collects failed capacities."""
    if not costs:
        return True
    if (known := tuple(capacities)) in failed:  # within one call, the capacities determine the costs that remain
        return False
    for k, capacity in enumerate(capacities):
        if capacity >= costs[0] and (k == 0 or capacity != capacities[k - 1]):
            left = sorted([*capacities[:k], capacity - costs[0], *capacities[k + 1 :]])
            if _fits(costs[1:], left, failed):
                return True
    failed.add(known)
    return False


def _packings(kinds: NDArray[np.int64], available: NDArray[np.int64], capacities: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the maximal numbers of arms of each cost that can be packed together, int64 [V, kinds]; None: too many."""
    found = np.zeros((1, len(kinds)), np.int64)
    for capacity in capacities:
        seconds_left()
        fills = _fills(kinds, available, int(capacity))
        if len(found) * len(fills) > 20 * _MOST:
            return None
        found = _distinct(np.minimum((found[:, None, :] + fills[None, :, :]).reshape(-1, len(kinds)), available), available)
        if len(found) > _MOST:
            return None
    from corl.problems.bandits.constraints.kernels import keep_largest

    kept, count = np.empty_like(found), 0
    for end in range(len(found), 0, -_AT_ONCE):
        seconds_left()
        count = keep_largest(found[max(0, end - _AT_ONCE) : end], kept, count)
    return np.ascontiguousarray(kept[:count][::-1])


def _distinct(vectors: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different rows in lexicographic order; entries are at most `most`, so that a row is a number of mixed radix."""
    if math.prod((most + 1).tolist()) >= 2**63:
        return np.unique(vectors, axis=0)
    number = np.zeros(len(vectors), np.int64)
    for entries, radix in zip(vectors.T, most + 1):
        number = number * radix + entries
    return vectors[np.unique(number, return_index=True)[1]]


def _fills(kinds: NDArray[np.int64], available: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """Return the sets of arms that one worker can take so that no other fits, as numbers of each cost, int64 [F, kinds]."""
    fills = [(np.zeros(len(kinds), np.int64), capacity)]
    for k, kind in enumerate(kinds):
        fills = [
            (fill + n * (np.arange(len(kinds)) == k), left - n * int(kind))
            for fill, left in fills
            for n in range(min(int(available[k]), left // int(kind)) + 1)
        ]
    full = [fill for fill, left in fills if not ((kinds <= left) & (fill < available)).any()]
    return np.array(full, np.int64)
