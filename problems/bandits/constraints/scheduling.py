"""Scheduling: a pull takes two working slots, of workers who are there while the arm is."""

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

_SLOTS_MOST = 12  # the kernel looks at every set of slots
_NEEDED = 2  # working slots a pull, here for the judge


@dataclass(frozen=True, eq=False)
class Scheduling(PullConstraint):
    """At most `budget` pulls; each takes two working slots (a worker in a slot) at times when its arm is there.

    A worker serves one arm in a slot; both may be of one worker, or in one slot.
    """

    arm_slots: NDArray[np.bool_]
    """[J, slots] when an arm is there."""
    worker_slots: NDArray[np.bool_]
    """[W, slots] when a worker is."""
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
            raise InputError(f"accepted: 1 to {_SLOTS_MOST} slots, for arms and workers alike", field="constraint.slots")
        if not 0 <= self.budget <= self.arms:
            raise InputError(f"{self.budget} is not accepted; accepted: 0 to {self.arms}, the arms", field="constraint.budget")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J."""
        return len(self.arm_slots)

    @cached_property
    def workers_in(self) -> NDArray[np.int64]:
        """[slots] how many workers are there in each."""
        return self.worker_slots.sum(axis=0, dtype=np.int64)  # type: ignore[no-any-return]

    def check(self, action: NDArray[np.int8]) -> None:
        """A maximum flow from the arms pulled through slots to workers in slots."""
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
        """Each arm's slots as bits [J], and what the workers offer in every set of slots [2^slots]."""
        bits = 1 << np.arange(self.arm_slots.shape[1], dtype=np.int64)
        sets = np.arange(1 << len(bits), dtype=np.int64)
        return self.arm_slots @ bits, ((sets[:, None] & bits) > 0) @ self.workers_in

    def make_oracle(self) -> Oracle:
        """Branch and bound by Hall's theorem: pulls are feasible if for every set of slots those that can be served nowhere
        else need no more than its workers offer. The bound is the relaxation, a polymatroid, which the greedy solves.
        """
        from corl.problems.bandits.constraints.kernels import best_schedule, falling

        (inside, offered), budget = self._sets, self.budget

        def best(worth: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(worth)
            actions = np.zeros(gains.shape, np.int8)
            best_schedule(gains, falling(gains), inside, offered, budget, actions)
            return actions

        return best

    def relaxation(self) -> Relaxation:
        """z[j]: the chance of a pull; z[J + k]: how much of its need arm j has served in slot s, for each (j, s) there is."""
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
        return Relaxation(csr_array(chance), above, limit, np.arange(size) < arms)  # given whole pulls there is a whole flow

    def rooms(self) -> Rooms:
        """See Constraint.rooms: one, of what the workers offer in every set of slots (Hall's theorem) and of the budget."""
        inside, offered = self._sets
        within = (inside[:, None] & ~np.arange(len(offered))) == 0
        tight = within.any(axis=0) & (_NEEDED * within.sum(axis=0) > offered)  # the other sets have enough for all arms
        needs = np.concatenate([_NEEDED * within[:, tight], np.ones((self.arms, 1))], axis=1)
        return Rooms(needs.astype(np.int64), np.append(offered[tight], self.budget)[None].astype(np.int64))

    def to_json(self) -> dict[str, Any]:
        """`slots`, `arm_slots`, `worker_slots` (lists of slots), `budget`."""
        lists = [[np.flatnonzero(there).tolist() for there in table] for table in (self.arm_slots, self.worker_slots)]
        return {"slots": self.arm_slots.shape[1], "arm_slots": lists[0], "worker_slots": lists[1], "budget": self.budget}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Scheduling:
        """The inverse of `to_json`."""
        slots = fields["slots"].integer()
        workers = len(fields["worker_slots"].entries())
        there, working = _table(fields["arm_slots"], slots, arms), _table(fields["worker_slots"], slots, workers)
        return cls(there, working, fields["budget"].integer())


def _table(field: Field, slots: int, count: int) -> NDArray[np.bool_]:
    """Lists of slots as a table of booleans [count, slots]."""
    table = np.zeros((count, slots), np.bool_)
    for i, listed in enumerate(field.entries(count)):
        table[i, [slot.integer(0, slots - 1) for slot in listed.entries()]] = True
    return table
