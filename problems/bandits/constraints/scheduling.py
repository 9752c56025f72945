"""Scheduling: a pull takes two working slots, of workers who are there while the arm is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError
from corl.problems.bandits.constraints.constraint import Oracle, PullConstraint, Relaxation

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

    def fits(self, actions: NDArray[np.int8]) -> NDArray[np.bool_]:
        """See Constraint.fits; by Hall's theorem, as the oracle."""
        inside, offered = self._sets
        within = (inside[:, None] & ~np.arange(len(offered))) == 0
        served = actions.astype(np.float64) @ within.astype(np.float64)
        return (actions.sum(axis=1, dtype=np.int64) <= self.budget) & (_NEEDED * served <= offered).all(axis=1)  # type: ignore[no-any-return]

    def make_oracle(self) -> Oracle:
        """Branch and bound by Hall's theorem: pulls are feasible if for every set of slots those that can be served nowhere
        else need no more than its workers offer. The bound is the relaxation, a polymatroid, which the greedy solves.
        """
        from corl.problems.bandits.constraints.kernels import best_schedule

        (inside, offered), budget = self._sets, self.budget

        def best(worth: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(worth)
            actions = np.zeros(gains.shape, np.int8)
            best_schedule(gains, inside, offered, budget, actions)
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

    def to_json(self) -> dict[str, Any]:
        """`slots`, `arm_slots`, `worker_slots` (lists of slots), `budget`."""
        lists = [[np.flatnonzero(there).tolist() for there in table] for table in (self.arm_slots, self.worker_slots)]
        return {"slots": self.arm_slots.shape[1], "arm_slots": lists[0], "worker_slots": lists[1], "budget": self.budget}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], arms: int) -> Scheduling:
        """The inverse of `to_json`."""
        slots, budget = values.get("slots"), values.get("budget")
        if type(slots) is not int or not 1 <= slots <= _SLOTS_MOST:
            raise InputError(f"accepted: an integer from 1 to {_SLOTS_MOST}", field="constraint.slots")
        if type(budget) is not int:
            raise InputError("accepted: an integer", field="constraint.budget")
        return cls(_table(values, "arm_slots", slots, arms), _table(values, "worker_slots", slots, None), budget)


def _table(values: Mapping[str, Any], field: str, slots: int, count: int | None) -> NDArray[np.bool_]:
    """Lists of slots as a table of booleans."""
    found = values.get(field)
    if not isinstance(found, list) or (count is not None and len(found) != count):
        raise InputError(f"accepted: {'' if count is None else f'{count} '}lists of slots", field=f"constraint.{field}")
    table = np.zeros((len(found), slots), np.bool_)
    for i, listed in enumerate(found):
        if not isinstance(listed, list) or not all(type(slot) is int and 0 <= slot < slots for slot in listed):
            raise InputError(f"entry {i}: accepted: a list of slots, 0 to {slots - 1}", field=f"constraint.{field}")
        table[i, listed] = True
    return table
