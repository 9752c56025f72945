"""Capacity: every pull needs one worker, who has so much strength for all the arms he pulls (a multiple knapsack)."""

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

_AT_ONCE = 2_000  # packings that are looked at between two looks at the clock
_DRAWN = 2_000  # packings that the relaxation draws from
_MOST = 300_000  # packings that are kept; beyond, each action is an integer program


@dataclass(frozen=True, eq=False)
class Capacity(PullConstraint):
    """The arms pulled can be shared out among the workers so that nobody's costs exceed his capacity."""

    costs: NDArray[np.int64]
    """[J] from 1."""
    capacities: NDArray[np.int64]
    """[W] of the workers, from 0."""

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
        """Tries the dearest arms first with every worker who still can, and no two who have equally much left."""
        pulled = sorted((int(cost) for cost, taken in zip(self.costs, action) if taken), reverse=True)
        if (costs := tuple(pulled)) not in self._judged:
            fits = sum(pulled) <= self.capacities.sum() and _fits(pulled, sorted(int(c) for c in self.capacities), set())
            self._judged[costs] = bool(fits)
        if not self._judged[costs]:
            raise Infeasible(f"pulls that cost {pulled} do not fit the workers' capacities {self.capacities.tolist()}")

    @cached_property
    def _judged(self) -> dict[tuple[int, ...], bool]:
        """What `check` has found out about pulls that cost so much."""
        return {}

    @cached_property
    def _packed(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """The costs there are, and how many arms of each can be packed together (`_packings`)."""
        kinds = np.unique(self.costs)
        return kinds, _packings(kinds, np.array([(self.costs == kind).sum() for kind in kinds]), self.capacities)

    def make_oracle(self) -> Oracle:
        """Of the arms of one cost the dearest go first, so that only how many of each cost can be packed matters.

        All such vectors that no other exceeds are listed once; each action is then a look at every one of them.
        """
        from corl.problems.bandits.constraints.kernels import best_packing

        kinds, packings = self._packed
        if packings is None:
            from corl.problems.bandits.constraints.programs import program_oracle

            return program_oracle(self, self._program())
        members = [np.flatnonzero(self.costs == kind) for kind in kinds]

        def best(worth: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(worth)
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
        """Who pulls which arm: z[w * J + j]."""
        from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

        arms, workers = self.arms, len(self.capacities)
        one = csr_array(hstack([eye_array(arms)] * workers))
        loads = kron(eye_array(workers), csr_array(self.costs[None, :].astype(np.float64)))
        too_dear = np.flatnonzero(self.costs[None, :] > self.capacities[:, None])
        none = csr_array((np.ones(len(too_dear)), too_dear, np.arange(len(too_dear) + 1)), (len(too_dear), arms * workers))
        limit = np.concatenate([np.ones(arms), self.capacities.astype(np.float64), np.zeros(len(too_dear))])
        return Relaxation(one, csr_array(vstack([one, loads, none])), limit)

    def relaxation(self) -> Relaxation:
        """Chances of the arms, and of the packings: of each cost as many arms are pulled as the packing drawn has room for.

        Tighter than chances that a worker pulls an arm, which fill workers with parts of arms; those where there are too many
        packings.
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
        """See Constraint.rooms: the packings, each of so many arms of every cost."""
        kinds, packings = self._packed
        if packings is None:
            raise UsageError(f"the workers' capacities allow more than {_MOST:,} packings of arms: too many to list")
        return Rooms((self.costs[:, None] == kinds).astype(np.int64), packings)

    def to_json(self) -> dict[str, Any]:
        """`costs` and `capacities`."""
        return {"costs": self.costs.tolist(), "capacities": self.capacities.tolist()}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Capacity:
        """The inverse of `to_json`."""
        costs = fields["costs"].integers(arms)
        return cls(costs, fields["capacities"].integers(None))


def _fits(costs: list[int], capacities: list[int], failed: set[tuple[int, ...]]) -> bool:
    """Whether `costs`, falling, can be packed into `capacities`, rising."""
    if not costs:
        return True
    if (known := tuple(capacities)) in failed:  # of one call, costs are told by how much is left
        return False
    for k, capacity in enumerate(capacities):
        if capacity >= costs[0] and (k == 0 or capacity != capacities[k - 1]):
            left = sorted([*capacities[:k], capacity - costs[0], *capacities[k + 1 :]])
            if _fits(costs[1:], left, failed):
                return True
    failed.add(known)
    return False


def _packings(kinds: NDArray[np.int64], there: NDArray[np.int64], capacities: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """How many arms of each cost can be packed together: the vectors that no other exceeds, int64 [V, kinds]; None: too many."""
    found = np.zeros((1, len(kinds)), np.int64)
    for capacity in capacities:
        seconds_left()
        fills = _fills(kinds, there, int(capacity))
        if len(found) * len(fills) > 20 * _MOST:
            return None
        found = _unlike(np.minimum((found[:, None, :] + fills[None, :, :]).reshape(-1, len(kinds)), there), there)
        if len(found) > _MOST:
            return None
    from corl.problems.bandits.constraints.kernels import keep_largest

    kept, count = np.empty_like(found), 0
    for end in range(len(found), 0, -_AT_ONCE):
        seconds_left()
        count = keep_largest(found[max(0, end - _AT_ONCE) : end], kept, count)
    return np.ascontiguousarray(kept[:count][::-1])


def _unlike(vectors: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different rows in lexicographic order; each is at most `most`, so that a row is a number (of mixed radix)."""
    if math.prod((most + 1).tolist()) >= 2**63:
        return np.unique(vectors, axis=0)
    number = np.zeros(len(vectors), np.int64)
    for entries, radix in zip(vectors.T, most + 1):
        number = number * radix + entries
    return vectors[np.unique(number, return_index=True)[1]]


def _fills(kinds: NDArray[np.int64], there: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """What one worker can take so that nothing more fits, int64 [F, kinds]."""
    fills = [(np.zeros(len(kinds), np.int64), capacity)]
    for k, kind in enumerate(kinds):
        fills = [
            (fill + n * (np.arange(len(kinds)) == k), left - n * int(kind))
            for fill, left in fills
            for n in range(min(int(there[k]), left // int(kind)) + 1)
        ]
    full = [fill for fill, left in fills if not ((kinds <= left) & (fill < there)).any()]
    return np.array(full, np.int64)
