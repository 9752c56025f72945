"""The mallocGame: memory mapping as a Markov decision process (README.md, "The game")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.memory.mapping.features import UNIT, look
from corl.problems.memory.mapping.instance import IN, OUT, MappingInstance, MappingPlan
from corl.problems.memory.mapping.transitions import ACTIONS, MappingState, reset_rows

__all__ = ["MappingEnvironment"]


class MappingEnvironment(Environment):
    """A pool of games. Accesses are decided in schedule order; those without a choice are passed over.

    Actions: KEEP (0) a tensor in fast memory to its next use, COPY_KEEP (1) or COPY (2) it there for this use, PASS (3): leave
    it in slow memory, or release it. The reward is by how many microseconds the program gets faster, if all that is not decided
    stays in slow memory; the base is minus its time with nothing in fast memory.
    """

    def __init__(self, instances: Sequence[MappingInstance], rows: int, width: int = ACTIONS) -> None:
        if not instances or rows < 1 or width < 2:
            raise UsageError("an environment takes at least one instance, one row and two listed actions")
        self.instances, self.rows, self.width = list(instances), rows, min(width, ACTIONS)
        self.state = _pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def reset(self, rows: ArrayLike, which: ArrayLike, keys: ArrayLike | None = None) -> NDArray[np.float64]:
        """See Environment.reset; the bases are minus the microseconds with everything in slow memory. `keys` change nothing."""
        at = self._checked(rows)
        instances = np.broadcast_to(np.asarray(which, np.int64), at.shape).copy()
        if len(instances) and (instances.min() < 0 or instances.max() >= len(self.instances)):
            raise UsageError(f"instances are integers from 0 to {len(self.instances) - 1}")
        bases = np.empty(len(at))
        reset_rows(self.state, at, instances, bases)
        return bases

    def observe(self, rows: ArrayLike) -> dict[str, NDArray[Any]]:
        """What a network sees (features.py says what the numbers are).

        action: int32 [R, K], as `actions` lists them, -1 where there are fewer; mask: bool [R, K], whether there is one.
        slots: float32 [R, K, F] of the listed actions; upcoming: float32 [R, U, F] of the accesses that follow.
        times: float32 [R, W, F] of spans of operations from here on: occupied shares of bands of offsets, idle bandwidth.
        remaining: int32 [R], accesses from the present one on; scale: float64 [R], the unit of values, in microseconds.
        """
        at = self._checked(rows)
        actions = self.actions(at)
        slots, upcoming, times = look(self.state, at, actions)
        instance = self.state.instance[at]
        remaining = (self.state.accesses[instance] - self.state.at[at]).astype(np.int32)
        seen = {"action": actions, "mask": actions >= 0, "slots": slots, "upcoming": upcoming, "times": times}
        return seen | {"remaining": remaining, "scale": np.array([1e6 * UNIT * self._slow[i] for i in instance])}

    @property
    def _slow(self) -> list[float]:
        """Seconds of the instances with everything in slow memory, at least a picosecond."""
        found = []
        for instance, o, n in zip(range(len(self.instances)), self.state.op_at, self.state.ops):
            rates, here = self.state.rates[instance], slice(int(o), int(o + n))
            seconds = rates[3] + np.maximum(self.state.compute[here], self.state.bytes[here] / rates[0])
            found.append(max(1e-12, float(seconds.sum())))
        return found

    def solution(self, row: int) -> MappingPlan:
        """The plan of a row. Raises UsageError while accesses are not decided."""
        at = int(self._checked(row)[0])
        state = self.state
        which = int(state.instance[at])
        if state.at[at] < state.accesses[which]:
            raise UsageError(f"row {at} has {state.accesses[which] - state.at[at]} accesses to decide")
        made, output, last = (part[int(state.tensor_at[which]) :] for part in (state.made, state.output, state.last))
        residencies, copies = [], []
        for r in range(int(state.places[at])):
            t, fill = state.held[at, r].tolist()
            low, high, offset, _ = state.rects[at, r].tolist()
            residencies.append((t, low, high, offset))
            if low != made[t]:
                copies.append((t, IN, low, fill))
            elif output[t] or last[t] >= high:
                copies.append((t, OUT, low + 1, high))
        return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))


def _pool(instances: list[MappingInstance], rows: int) -> MappingState:
    """The pool over `instances`; the rows are for `reset`."""

    def joined(parts: list[Any], dtype: type) -> NDArray[Any]:
        return np.concatenate(parts).astype(dtype)

    machines = [instance.machine for instance in instances]
    ops, tensors = (np.array([getattr(i, of) for i in instances], np.int64) for of in ("ops", "tensors"))
    accesses = np.array([len(i.access_tensor) for i in instances], np.int64)
    groups = np.array([int(i.group.max(initial=-1)) + 1 for i in instances], np.int64)
    totals = [np.bincount(i.access_op, i.access_bytes.astype(float), i.ops) for i in instances]
    o, t, a, g = int(ops.max()), int(tensors.max()), int(accesses.max()), int(groups.max())
    return MappingState(
        rates=np.array([[m.slow_bandwidth, m.fast_bandwidth, m.copy_bandwidth, m.overhead] for m in machines], np.float64),
        capacity=np.array([m.fast_bytes for m in machines], np.int64),
        ops=ops,
        tensors=tensors,
        accesses=accesses,
        groups=groups,
        op_at=np.cumsum(ops) - ops,
        tensor_at=np.cumsum(tensors) - tensors,
        access_at=np.cumsum(accesses) - accesses,
        compute=joined([i.compute for i in instances], np.float64),
        bytes=joined(totals, np.float64),
        sizes=joined([i.sizes for i in instances], np.int64),
        made=joined([i.definition for i in instances], np.int64),
        output=joined([[kind == "output" for kind in i.kinds] for i in instances], np.bool_),
        group=joined([i.group for i in instances], np.int64),
        last=joined([_last(i) for i in instances], np.int64),
        tensor=joined([i.access_tensor for i in instances], np.int64),
        op=joined([i.access_op for i in instances], np.int64),
        traffic=joined([i.access_bytes for i in instances], np.float64),
        write=joined([i.access_write for i in instances], np.bool_),
        following=joined([_following(i) for i in instances], np.int64),
        instance=np.zeros(rows, np.int64),
        at=np.zeros(rows, np.int64),
        value=np.zeros(rows),
        slow=np.zeros((rows, o)),
        fast=np.zeros((rows, o)),
        idle=np.zeros((rows, o)),
        places=np.zeros(rows, np.int64),
        rects=np.zeros((rows, a, 4), np.int64),
        held=np.zeros((rows, a, 2), np.int64),
        live=np.zeros((rows, t), np.int64),
        free=np.zeros((rows, t), np.int64),
        side=np.zeros((rows, g), np.int64),
        banned=np.zeros((rows, g), np.bool_),
        log=np.zeros((rows, a), np.int64),
    )


def _last(instance: MappingInstance) -> NDArray[np.int64]:
    """The operation that accesses each tensor last, -1: none does."""
    last = np.full(instance.tensors, -1, np.int64)
    np.maximum.at(last, instance.access_tensor, instance.access_op.astype(np.int64))
    return last


def _following(instance: MappingInstance) -> NDArray[np.int64]:
    """The next access to the same tensor, of each access."""
    order = np.argsort(instance.access_tensor, kind="stable")
    same = instance.access_tensor[order][1:] == instance.access_tensor[order][:-1]
    following = np.full(len(order), -1, np.int64)
    following[order[:-1][same]] = order[1:][same]
    return following
