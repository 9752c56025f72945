"""Scheduling: a pull takes two working slots in which its arm is available.

A slot is a time of the day; a working slot is one worker in one slot in which that worker is available.
"""

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

_MAX_SLOTS = 12  # the kernel enumerates all sets of slots
_NEEDED = 2  # working slots per pull; not imported from the kernels, because the judge shares no code with them


@dataclass(frozen=True, eq=False)
class Scheduling(PullConstraint):
    """At most `budget` pulls; each takes two working slots in which its arm is available.

    A worker serves one arm per slot. The two working slots of a pull may belong to one worker, or to two workers in one slot.
    """

    arm_slots: NDArray[np.bool_]
    """[J, slots] whether each arm is available in each slot."""
    worker_slots: NDArray[np.bool_]
    """[W, slots] whether each worker is available in each slot."""
    budget: int
    """The maximum number of pulls."""

    kind = "scheduling"
    form = Object(
        {
            "slots": Integer(1, _MAX_SLOTS),
            "arm_slots": Array(Array(Integer(0))),
            "worker_slots": Array(Array(Integer(0))),
            "budget": Integer(),
        }
    )

    def __post_init__(self) -> None:
        slots = self.arm_slots.shape[1]
        if self.worker_slots.shape[1] != slots or not 1 <= slots <= _MAX_SLOTS:
            raise InputError(f"accepted: 1 to {_MAX_SLOTS} slots, the same number for arms and workers", field="constraint.slots")
        if not 0 <= self.budget <= self.arms:
            raise InputError(f"{self.budget} is not accepted; accepted: 0 to {self.arms}, the arms", field="constraint.budget")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J, the number of arms."""
        return len(self.arm_slots)

    @cached_property
    def workers_in(self) -> NDArray[np.int64]:
        """int64 [slots], the number of workers available in each slot."""
        return self.worker_slots.sum(axis=0, dtype=np.int64)  # type: ignore[no-any-return]

    def check(self, action: NDArray[np.int8]) -> None:
        """See Constraint.check. Computes a maximum flow from the arms pulled through slots to working slots."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        pulled = np.flatnonzero(action)
        if len(pulled) > self.budget:
            raise Infeasible(f"{len(pulled)} pulls, more than the {self.budget} allowed")
        working_slots, slots = np.argwhere(self.worker_slots), self.arm_slots.shape[1]
        first_slot, first_working, nodes = 1 + len(pulled), 1 + len(pulled) + slots, 2 + len(pulled) + slots + len(working_slots)
        capacity = np.zeros((nodes, nodes), np.int32)  # node 0 is the source, the last one the sink
        capacity[0, 1:first_slot] = _NEEDED
        capacity[1:first_slot, first_slot:first_working] = _NEEDED * self.arm_slots[pulled]
        capacity[first_slot + working_slots[:, 1], first_working + np.arange(len(working_slots))] = 1
        capacity[first_working : nodes - 1, nodes - 1] = 1
        flow = maximum_flow(csr_array(capacity), 0, nodes - 1).flow_value
        if flow < _NEEDED * len(pulled):
            raise Infeasible(f"pulling the arms {pulled.tolist()} takes {_NEEDED * len(pulled)} working slots; there are {flow}")

    @cached_property
    def _sets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The slots of each arm as bits, int64 [J], and the number of working slots in every set of slots, int64 [2^slots]."""
        bits = 1 << np.arange(self.arm_slots.shape[1], dtype=np.int64)
        sets = np.arange(1 << len(bits), dtype=np.int64)
        return self.arm_slots @ bits, ((sets[:, None] & bits) > 0) @ self.workers_in

    def make_oracle(self) -> Oracle:
        """Return an oracle by branch and bound, based on Hall's theorem.

        Pulls are feasible if, for every set of slots, the arms that are available only in these slots need no more working slots
        than the set has. The relaxation of this condition is a polymatroid, so that a greedy algorithm computes the bound.
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
        """Return the relaxation.

        z[j] is the probability that arm j is pulled, z[J + k] the expected number of working slots that arm j takes in slot s,
        where (j, s) is the k-th pair of an arm and a slot in which it is available.
        """
        from scipy.sparse import csr_array

        arms, slots = self.arm_slots.shape
        pairs = np.argwhere(self.arm_slots)
        size = arms + len(pairs)
        chance = np.eye(arms, size)
        served = np.zeros((arms, size))
        in_slot = np.zeros((slots, size))
        for k, (arm, slot) in enumerate(pairs):
            served[arm, arms + k] = -1.0
            in_slot[slot, arms + k] = 1.0
        served[:, :arms] += _NEEDED * np.eye(arms)
        pulls = np.zeros((1, size))
        pulls[0, :arms] = 1.0
        inequalities = csr_array(np.vstack([chance, served, in_slot, pulls]))
        limit = np.concatenate([np.ones(arms), np.zeros(arms), self.workers_in.astype(np.float64), [float(self.budget)]])
        return Relaxation(
            csr_array(chance), inequalities, limit, np.arange(size) < arms
        )  # if pulls are integers, there is an integral flow

    def rooms(self) -> Rooms:
        """Return one room, whose resources are the working slots in each set of slots (Hall's theorem) and the budget.

        Sets that have enough working slots for all arms are omitted. See Constraint.rooms.
        """
        inside, offered = self._sets
        within = (inside[:, None] & ~np.arange(len(offered))) == 0
        tight = within.any(axis=0) & (_NEEDED * within.sum(axis=0) > offered)
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
    """Return `count` lists of slots as a table, bool [count, slots]."""
    table = np.zeros((count, slots), np.bool_)
    for i, listed in enumerate(field.entries(count)):
        table[i, [slot.integer(0, slots - 1) for slot in listed.entries()]] = True
    return table
