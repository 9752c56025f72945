"""Scheduling: a pull takes two working slots, at times when its arm and a worker are available."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError
from corl.fields import Array, Integer, Object
from corl.files.json_instances import Field
from corl.problems.bandits.constraints.constraint import Fields, Oracle, PullConstraint, Relaxation, Rooms

__all__ = ["Scheduling"]

_SLOTS_MOST = 12  # the kernel considers every set of slots
_NEEDED = 2  # working slots per pull, here for the judge


@dataclass(frozen=True, eq=False)
class Scheduling(PullConstraint):
    """At most `budget` pulls; each takes two working slots (a worker in a slot) at times when its arm is available.

    A worker serves one arm per slot; the two working slots may be of one worker, or at the same time.
    """

    arm_slots: NDArray[np.bool_]
    """[J, slots] whether an arm is available."""
    worker_slots: NDArray[np.bool_]
    """[W, slots] whether a worker is available."""
    budget: int

    kind = "scheduling"
    form = Object(
        {
            "slots": Integer(1, _SLOTS_MOST),
            "arm_slots": Array(Array(Integer(0))),
            "worker_slots": Array(Array(Integer(0))),
            "budget": Integer(),
        }
    )

    def __post_init__(self) -> None:
        slots = self.arm_slots.shape[1]
        if self.worker_slots.shape[1] != slots or not 1 <= slots <= _SLOTS_MOST:
            raise InputError(
                f"accepted: 1 to {_SLOTS_MOST} slots, the same number for arms and workers", field="constraint.slots"
            )
        if not 0 <= self.budget <= self.arms:
            raise InputError(f"{self.budget} is not accepted; accepted: 0 to {self.arms}, the arms", field="constraint.budget")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J."""
        return len(self.arm_slots)

    @cached_property
    def workers_in(self) -> NDArray[np.int64]:
        """[slots] the number of available workers."""
        return self.worker_slots.sum(axis=0, dtype=np.int64)  # type: ignore[no-any-return]

    def check(self, action: NDArray[np.int8]) -> None:
        """See Constraint.check: a maximum flow from the arms pulled through slots to workers in slots."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        pulled = np.flatnonzero(action)
        if len(pulled) > self.budget:
            raise Infeasible(f"{len(pulled)} pulls, more than the {self.budget} allowed")
        shifts, slots = np.argwhere(self.worker_slots), self.arm_slots.shape[1]
        slot, shift, size = 1 + len(pulled), 1 + len(pulled) + slots, 2 + len(pulled) + slots + len(shifts)
        capacity = np.zeros((size, size), np.int32)  # node 0 is the source, the last one the sink
        capacity[0, 1:slot] = _NEEDED
        capacity[1:slot, slot:shift] = _NEEDED * self.arm_slots[pulled]
        capacity[slot + shifts[:, 1], shift + np.arange(len(shifts))] = 1
        capacity[shift : size - 1, size - 1] = 1
        flow = maximum_flow(csr_array(capacity), 0, size - 1).flow_value
        if flow < _NEEDED * len(pulled):
            raise Infeasible(f"pulling the arms {pulled.tolist()} takes {_NEEDED * len(pulled)} working slots; there are {flow}")

    @cached_property
    def _sets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each arm's slots as bits [J], and the working slots that workers offer in every set of slots [2^slots]."""
        bits = 1 << np.arange(self.arm_slots.shape[1], dtype=np.int64)
        sets = np.arange(1 << len(bits), dtype=np.int64)
        return self.arm_slots @ bits, ((sets[:, None] & bits) > 0) @ self.workers_in

    def make_oracle(self) -> Oracle:
        """Return a branch and bound based on Hall's theorem.

        Pulls are feasible if, for every set of slots, the arms that can be served only there need no more working slots than its
        workers offer. The bound is the relaxation, a polymatroid, which the greedy algorithm solves.
        """
        from corl.problems.bandits.constraints.kernels import best_schedule, by_decreasing_gain

        (inside, offered), budget = self._sets, self.budget

        def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(level_values)
            actions = np.zeros(gains.shape, np.int8)
            best_schedule(gains, by_decreasing_gain(gains), inside, offered, budget, actions)
            return actions

        return best

    def relaxation(self) -> Relaxation:
        """Return the relaxation: z[j] is the probability of a pull, z[J + k] the service of arm j in slot s, per pair (j, s)."""
        from scipy.sparse import csr_array

        arms, slots = self.arm_slots.shape
        pairs = np.argwhere(self.arm_slots)
        size = arms + len(pairs)
        chance = np.eye(arms, size)
        served = np.zeros((arms, size))
        full = np.zeros((slots, size))
        for k, (arm, slot) in enumerate(pairs):
            served[arm, arms + k] = -1.0
            full[slot, arms + k] = 1.0
        served[:, :arms] += _NEEDED * np.eye(arms)
        total = np.zeros((1, size))
        total[0, :arms] = 1.0
        above = csr_array(np.vstack([chance, served, full, total]))
        limit = np.concatenate([np.ones(arms), np.zeros(arms), self.workers_in.astype(np.float64), [float(self.budget)]])
        return Relaxation(
            csr_array(chance), above, limit, np.arange(size) < arms
        )  # if pulls are integers, there is an integral flow

    def rooms(self) -> Rooms:
        """Return one room: the offer in every set of slots (Hall's theorem), and the budget. See Constraint.rooms."""
        inside, offered = self._sets
        within = (inside[:, None] & ~np.arange(len(offered))) == 0
        tight = within.any(axis=0) & (_NEEDED * within.sum(axis=0) > offered)  # the other sets offer enough for all arms
        needs = np.concatenate([_NEEDED * within[:, tight], np.ones((self.arms, 1))], axis=1)
        return Rooms(needs.astype(np.int64), np.append(offered[tight], self.budget)[None].astype(np.int64))

    def to_json(self) -> dict[str, Any]:
        """Return `slots`, `arm_slots`, `worker_slots` (lists of slots) and `budget`."""
        lists = [[np.flatnonzero(present).tolist() for present in table] for table in (self.arm_slots, self.worker_slots)]
        return {"slots": self.arm_slots.shape[1], "arm_slots": lists[0], "worker_slots": lists[1], "budget": self.budget}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Scheduling:
        """Return the constraint, as the inverse of `to_json`."""
        slots = fields["slots"].integer()
        workers = len(fields["worker_slots"].entries())
        present, working = _table(fields["arm_slots"], slots, arms), _table(fields["worker_slots"], slots, workers)
        return cls(present, working, fields["budget"].integer())


def _table(field: Field, slots: int, count: int) -> NDArray[np.bool_]:
    """Return lists of slots as a table, bool [count, slots]."""
    table = np.zeros((count, slots), np.bool_)
    for i, listed in enumerate(field.entries(count)):
        table[i, [slot.integer(0, slots - 1) for slot in listed.entries()]] = True
    return table
