"""The pool of unfinished games that the environment and its kernels share: its data, and its construction from programs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.memory.instance import MappingInstance

__all__ = ["ACTIONS", "COPY", "COPY_KEEP", "FILLED", "HELD_TENSOR", "KEEP", "PASS", "State", "new_pool"]

KEEP, COPY_KEEP, COPY, PASS = range(4)
"""Actions, in the order in which they are listed. PASS leaves a tensor in slow memory, or releases it from fast memory."""
ACTIONS = 4
HELD_TENSOR, FILLED = range(2)
"""Columns of `State.held`: a rectangle's tensor, and the operation from which on it holds the data."""


class State(NamedTuple):
    """The pool. I instances with O operations, T tensors, A accesses and G alias groups (at most); R rows.

    Operations, tensors and accesses are numbered within their instance; its `ops_start`, `tensors_start` and
    `accesses_start` are their offsets in the arrays that hold those of all instances.
    """

    rates: NDArray[np.float64]
    """[I, 4] as timing.serve takes them."""
    capacity: NDArray[np.int64]
    """[I]"""
    ops: NDArray[np.int64]
    tensors: NDArray[np.int64]
    accesses: NDArray[np.int64]
    groups: NDArray[np.int64]
    """[I]"""
    ops_start: NDArray[np.int64]
    tensors_start: NDArray[np.int64]
    accesses_start: NDArray[np.int64]
    compute: NDArray[np.float64]
    """For each operation, the seconds of its computation."""
    bytes: NDArray[np.float64]
    """For each operation, the bytes of all its accesses."""
    sizes: NDArray[np.int64]
    """For each tensor, its bytes."""
    made: NDArray[np.int64]
    """For each tensor, the operation that defines it; -1: it is in slow memory from the beginning."""
    output: NDArray[np.bool_]
    group: NDArray[np.int64]
    """For each tensor, its alias group; -1: none."""
    last: NDArray[np.int64]
    """For each tensor, the operation that accesses it last."""
    tensor: NDArray[np.int64]
    """For each access, its tensor and its operation."""
    op: NDArray[np.int64]
    traffic: NDArray[np.float64]
    """For each access, its bytes."""
    write: NDArray[np.bool_]
    following: NDArray[np.int64]
    """For each access, the next access of the same tensor; -1: none."""
    pressure: NDArray[np.float64]
    """For each access, see _pressure."""
    wanted: NDArray[np.float64]
    """For each operation, the total size of the tensors that are alive, in capacities."""
    instance: NDArray[np.int64]
    """[R] the index of the row's instance."""
    at: NDArray[np.int64]
    """[R] the access that is to be decided; all earlier ones are decided."""
    value: NDArray[np.float64]
    """[R] the run time of the program in seconds if all undecided accesses stayed in slow memory."""
    slow: NDArray[np.float64]
    fast: NDArray[np.float64]
    idle: NDArray[np.float64]
    """[R, O] bytes of accesses to each memory, and unused bytes of the copy engine."""
    places: NDArray[np.int64]
    """[R] the number of rectangles."""
    rects: NDArray[np.int64]
    """[R, A, 4] from, to, offset (once the game is over), size."""
    over: NDArray[np.int64]
    """[R, A] a rectangle at whose offset this one begins: of an input of its alias group, which ends there; -1: none."""
    load: NDArray[np.int64]
    """[R, O] bytes that rectangles take at each operation; for one over another, the larger size."""
    held: NDArray[np.int64]
    """[R, A, 2] a rectangle's tensor, and the operation from which on it holds the data."""
    live: NDArray[np.int64]
    """[R, T] the tensor's latest rectangle, -1: none."""
    free: NDArray[np.int64]
    """[R, T] the operation from which on the tensor may be copied into fast memory."""
    side: NDArray[np.int64]
    """[R, G] the decisions of the alias groups."""
    banned: NDArray[np.bool_]
    """[R, G] groups that stay in slow memory whatever actions follow."""
    log: NDArray[np.int64]
    """[R, A] the action at each access before `at`."""


def new_pool(instances: list[MappingInstance], rows: int) -> State:
    """Return the pool of `instances` with `rows` rows, which `reset_rows` initialises."""

    def joined(parts: list[Any], dtype: type) -> NDArray[Any]:
        return np.concatenate(parts).astype(dtype)

    machines = [instance.machine for instance in instances]
    ops, tensors = (np.array([getattr(i, of) for i in instances], np.int64) for of in ("ops", "tensors"))
    accesses = np.array([len(i.access_tensor) for i in instances], np.int64)
    groups = np.array([int(i.group.max(initial=-1)) + 1 for i in instances], np.int64)
    totals = [np.bincount(i.access_op, i.access_bytes.astype(float), i.ops) for i in instances]
    o, t, a, g = int(ops.max()), int(tensors.max()), int(accesses.max()), int(groups.max())
    return State(
        rates=np.array([[m.slow_bandwidth, m.fast_bandwidth, m.copy_bandwidth, m.overhead] for m in machines], np.float64),
        capacity=np.array([m.fast_bytes for m in machines], np.int64),
        ops=ops,
        tensors=tensors,
        accesses=accesses,
        groups=groups,
        ops_start=np.cumsum(ops) - ops,
        tensors_start=np.cumsum(tensors) - tensors,
        accesses_start=np.cumsum(accesses) - accesses,
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
        pressure=joined([_pressures(i) for i in instances], np.float64),
        wanted=joined([_wanted(i) for i in instances], np.float64),
        instance=np.zeros(rows, np.int64),
        at=np.zeros(rows, np.int64),
        value=np.zeros(rows),
        slow=np.zeros((rows, o)),
        fast=np.zeros((rows, o)),
        idle=np.zeros((rows, o)),
        places=np.zeros(rows, np.int64),
        rects=np.zeros((rows, a, 4), np.int64),
        over=np.zeros((rows, a), np.int64),
        load=np.zeros((rows, o), np.int64),
        held=np.zeros((rows, a, 2), np.int64),
        live=np.zeros((rows, t), np.int64),
        free=np.zeros((rows, t), np.int64),
        side=np.zeros((rows, g), np.int64),
        banned=np.zeros((rows, g), np.bool_),
        log=np.zeros((rows, a), np.int64),
    )


def _last(instance: MappingInstance) -> NDArray[np.int64]:
    """Return the last operation that accesses each tensor; -1: none."""
    last = np.full(instance.tensors, -1, np.int64)
    np.maximum.at(last, instance.access_tensor, instance.access_op.astype(np.int64))
    return last


def _following(instance: MappingInstance) -> NDArray[np.int64]:
    """Return, for each access, the next access of the same tensor."""
    order = np.argsort(instance.access_tensor, kind="stable")
    same = instance.access_tensor[order][1:] == instance.access_tensor[order][:-1]
    following = np.full(len(order), -1, np.int64)
    following[order[:-1][same]] = order[1:][same]
    return following


def _pressures(instance: MappingInstance) -> NDArray[np.float64]:
    """Return the pressure of each access, float64 [A], see _pressure."""
    machine, out = instance.machine, np.zeros(len(instance.access_op))
    rates = np.array([machine.slow_bandwidth, machine.fast_bandwidth, machine.copy_bandwidth, machine.overhead])
    total = np.bincount(instance.access_op, instance.access_bytes.astype(float), instance.ops)
    parts = (instance.access_tensor, instance.access_op, instance.access_write, _following(instance))
    columns = np.stack([np.asarray(part, np.int64) for part in parts], 1)
    sizes, traffic = instance.sizes.astype(np.int64), instance.access_bytes.astype(float)
    _pressure(instance.compute, total, rates, sizes, machine.fast_bytes, columns, traffic, out)
    return out


def _wanted(instance: MappingInstance) -> NDArray[np.float64]:
    """Return the total size of the tensors between their first and last access, in capacities, float64 [O]."""
    last, change = _last(instance), np.zeros(instance.ops + 1)
    first = np.full(instance.tensors, instance.ops, np.int64)
    np.minimum.at(first, instance.access_tensor, instance.access_op.astype(np.int64))
    used = last >= 0
    np.add.at(change, first[used], instance.sizes[used])
    np.subtract.at(change, last[used] + 1, instance.sizes[used])
    return np.cumsum(change)[:-1] / max(1, instance.machine.fast_bytes)


@kernel
def _pressure(compute: Any, total: Any, rates: Any, sizes: Any, capacity: Any, columns: Any, traffic: Any, out: Any) -> None:
    """Write, for each access, the demand on fast memory by tensors with a higher saving per byte and operation, in place.

    The demand is averaged over the operations until the next use of the access's tensor, in capacities, and at most 4.

    Args:
        compute: float64 [O], seconds.
        total: float64 [O], bytes of all accesses.
        rates: float64 [4], as timing.serve takes them.
        sizes: int64 [T], bytes.
        capacity: Bytes of fast memory.
        columns: int64 [A, 4]: tensor, operation (not decreasing), whether it writes, next access (-1: none).
        traffic: float64 [A], bytes.
        out: float64 [A], the result; 0 without a next use.
    """
    count, room = len(columns), max(1.0, float(capacity))
    saved, dense, end = np.zeros(count), np.full(count, -1.0), np.zeros(count, np.int64)
    for a in range(count):
        op, before = columns[a, 1], total[columns[a, 1]] / rates[0]
        after = before - traffic[a] / rates[0] + traffic[a] / rates[1]
        saved[a] = max(compute[op], before) - max(compute[op], after)
    for a in range(count):
        following = columns[a, 3]
        if following >= 0:
            gain, end[a] = saved[following] + (saved[a] if columns[a, 2] else 0.0), columns[following, 1] + 1
            dense[a] = gain / max(1.0, float(sizes[columns[a, 0]])) / (end[a] - columns[a, 1])
    waiting, listed, entered = np.empty(count, np.int64), 0, 0  # accesses up to the present operation whose next use is later
    for a in range(count):
        low, high = columns[a, 1], end[a]
        if a == 0 or columns[a - 1, 1] < low:
            while entered < count and columns[entered, 1] <= low:
                waiting[listed] = entered
                entered, listed = entered + 1, listed + 1
            kept = 0
            for k in range(listed):
                if end[waiting[k]] > low:
                    waiting[kept] = waiting[k]
                    kept += 1
            listed = kept
        out[a] = 0.0
        if columns[a, 3] < 0:
            continue
        for k in range(listed):
            out[a] += _competing_demand(columns, sizes, dense, end, a, waiting[k]) / room
        b = entered
        while b < count and columns[b, 1] < high:
            out[a] += _competing_demand(columns, sizes, dense, end, a, b) / room
            b += 1
        out[a] = min(4.0, out[a] / (high - low))


@kernel(inline=True)
def _competing_demand(columns: Any, sizes: Any, dense: Any, end: Any, a: Any, b: Any) -> Any:
    """Return bytes times operations that access b demands within the span of access a; 0 if it saves less than access a."""
    if dense[b] <= dense[a] or columns[b, 0] == columns[a, 0]:
        return 0.0
    return (min(end[a], end[b]) - max(columns[a, 1], columns[b, 1])) * float(sizes[columns[b, 0]])
