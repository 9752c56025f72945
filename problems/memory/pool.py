"""The pool of unfinished games (README.md, "The game") that the environment and its kernels share, and its construction."""

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
"""The number of different actions."""
HELD_TENSOR, FILLED = range(2)
"""Columns of `State.contents`: a rectangle's tensor, and the operation from which on the rectangle holds the tensor's data."""


class State(NamedTuple):
    """The pool: I instances and R rows, each the state of one game.

    O, T, A and G are the largest numbers of operations, tensors, accesses and alias groups of any instance. In fields that are
    indexed by row, operations, tensors, accesses and groups have their numbers within the row's instance. Fields "of all
    instances" hold the instances' arrays one after another, from `ops_start`, `tensors_start` and `accesses_start` on.
    A rectangle is a span of operations and of bytes in fast memory that is reserved for a tensor.
    """

    rates: NDArray[np.float64]
    """[I, 4] as timing.serve takes them."""
    capacity: NDArray[np.int64]
    """[I] bytes of fast memory."""
    ops: NDArray[np.int64]
    """[I] the number of operations."""
    tensors: NDArray[np.int64]
    """[I] the number of tensors."""
    accesses: NDArray[np.int64]
    """[I] the number of accesses."""
    groups: NDArray[np.int64]
    """[I] the number of alias groups."""
    ops_start: NDArray[np.int64]
    """[I] index of the instance's first operation in `compute`, `bytes` and `wanted`."""
    tensors_start: NDArray[np.int64]
    """[I] index of the instance's first tensor in `sizes`, `definition`, `output`, `group` and `last_op`."""
    accesses_start: NDArray[np.int64]
    """[I] index of the instance's first access in `tensor`, `op`, `traffic`, `write`, `next_access` and `pressure`."""
    compute: NDArray[np.float64]
    """[operations of all instances] seconds of computation."""
    bytes: NDArray[np.float64]
    """[operations of all instances] bytes of all accesses of the operation."""
    sizes: NDArray[np.int64]
    """[tensors of all instances] bytes."""
    definition: NDArray[np.int64]
    """[tensors of all instances] the operation that writes the tensor; -1: the tensor is in slow memory from the beginning."""
    output: NDArray[np.bool_]
    """[tensors of all instances] whether the tensor must be in slow memory at the end."""
    group: NDArray[np.int64]
    """[tensors of all instances] the alias group; -1: none."""
    last_op: NDArray[np.int64]
    """[tensors of all instances] the operation that accesses the tensor last; -1: none."""
    tensor: NDArray[np.int64]
    """[accesses of all instances] the tensor that is accessed."""
    op: NDArray[np.int64]
    """[accesses of all instances] the operation that makes the access."""
    traffic: NDArray[np.float64]
    """[accesses of all instances] bytes read or written."""
    write: NDArray[np.bool_]
    """[accesses of all instances] whether the access writes the tensor, which defines it."""
    next_access: NDArray[np.int64]
    """[accesses of all instances] the next access of the same tensor; -1: none."""
    pressure: NDArray[np.float64]
    """[accesses of all instances] competition for fast memory until the next access of the tensor, see `_pressure`."""
    wanted: NDArray[np.float64]
    """[operations of all instances] the total size of the tensors that are alive, as a multiple of the capacity."""
    instance: NDArray[np.int64]
    """[R] the index of the row's instance."""
    current_access: NDArray[np.int64]
    """[R] the access that is decided next; all earlier ones are decided."""
    value: NDArray[np.float64]
    """[R] the run time of the program in seconds if all undecided accesses are served from slow memory."""
    slow: NDArray[np.float64]
    """[R, O] bytes of the operation's accesses to slow memory."""
    fast: NDArray[np.float64]
    """[R, O] bytes of the operation's accesses to fast memory."""
    idle: NDArray[np.float64]
    """[R, O] bytes that the copy engine could still move during the operation."""
    rect_count: NDArray[np.int64]
    """[R] the number of rectangles."""
    rects: NDArray[np.int64]
    """[R, A, 4] columns LOW, HIGH, OFFSET and SIZE of timing.py; offsets are chosen when the game is over."""
    same_offset_as: NDArray[np.int64]
    """[R, A] the rectangle of an input over which this rectangle's tensor is written, so that both have one offset; -1: none."""
    load: NDArray[np.int64]
    """[R, O] bytes that rectangles take at the operation; an output written over an input counts only what exceeds the input."""
    contents: NDArray[np.int64]
    """[R, A, 2] columns HELD_TENSOR and FILLED."""
    latest_rect: NDArray[np.int64]
    """[R, T] the tensor's latest rectangle; -1: none."""
    earliest_copy: NDArray[np.int64]
    """[R, T] the operation from which on the tensor may be copied into fast memory."""
    group_decision: NDArray[np.int64]
    """[R, G] whether the alias group is in fast or slow memory, or undecided (constants in transitions.py)."""
    banned: NDArray[np.bool_]
    """[R, G] alias groups that stay in slow memory whatever actions follow."""
    actions_taken: NDArray[np.int64]
    """[R, A] the action at each access before `current_access`."""


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
        definition=joined([i.definition for i in instances], np.int64),
        output=joined([[kind == "output" for kind in i.kinds] for i in instances], np.bool_),
        group=joined([i.group for i in instances], np.int64),
        last_op=joined([_last_ops(i) for i in instances], np.int64),
        tensor=joined([i.access_tensor for i in instances], np.int64),
        op=joined([i.access_op for i in instances], np.int64),
        traffic=joined([i.access_bytes for i in instances], np.float64),
        write=joined([i.access_write for i in instances], np.bool_),
        next_access=joined([_next_accesses(i) for i in instances], np.int64),
        pressure=joined([_pressures(i) for i in instances], np.float64),
        wanted=joined([_wanted(i) for i in instances], np.float64),
        instance=np.zeros(rows, np.int64),
        current_access=np.zeros(rows, np.int64),
        value=np.zeros(rows),
        slow=np.zeros((rows, o)),
        fast=np.zeros((rows, o)),
        idle=np.zeros((rows, o)),
        rect_count=np.zeros(rows, np.int64),
        rects=np.zeros((rows, a, 4), np.int64),
        same_offset_as=np.zeros((rows, a), np.int64),
        load=np.zeros((rows, o), np.int64),
        contents=np.zeros((rows, a, 2), np.int64),
        latest_rect=np.zeros((rows, t), np.int64),
        earliest_copy=np.zeros((rows, t), np.int64),
        group_decision=np.zeros((rows, g), np.int64),
        banned=np.zeros((rows, g), np.bool_),
        actions_taken=np.zeros((rows, a), np.int64),
    )


def _last_ops(instance: MappingInstance) -> NDArray[np.int64]:
    """Return the last operation that accesses each tensor, int64 [T]; -1 if there is none."""
    last = np.full(instance.tensors, -1, np.int64)
    np.maximum.at(last, instance.access_tensor, instance.access_op.astype(np.int64))
    return last


def _next_accesses(instance: MappingInstance) -> NDArray[np.int64]:
    """Return, for each access, the next access of the same tensor, int64 [A]; -1 if there is none."""
    order = np.argsort(instance.access_tensor, kind="stable")
    same_tensor = instance.access_tensor[order][1:] == instance.access_tensor[order][:-1]
    next_accesses = np.full(len(order), -1, np.int64)
    next_accesses[order[:-1][same_tensor]] = order[1:][same_tensor]
    return next_accesses


def _pressures(instance: MappingInstance) -> NDArray[np.float64]:
    """Return the pressure of each access, float64 [A], see _pressure."""
    machine, out = instance.machine, np.zeros(len(instance.access_op))
    rates = np.array([machine.slow_bandwidth, machine.fast_bandwidth, machine.copy_bandwidth, machine.overhead])
    total = np.bincount(instance.access_op, instance.access_bytes.astype(float), instance.ops)
    parts = (instance.access_tensor, instance.access_op, instance.access_write, _next_accesses(instance))
    columns = np.stack([np.asarray(part, np.int64) for part in parts], 1)
    sizes, traffic = instance.sizes.astype(np.int64), instance.access_bytes.astype(float)
    _pressure(instance.compute, total, rates, sizes, machine.fast_bytes, columns, traffic, out)
    return out


def _wanted(instance: MappingInstance) -> NDArray[np.float64]:
    """Return, for each operation, the total size of the tensors that are between their first and last access, float64 [O].

    The unit is the capacity of the fast memory.
    """
    last, change = _last_ops(instance), np.zeros(instance.ops + 1)
    first = np.full(instance.tensors, instance.ops, np.int64)
    np.minimum.at(first, instance.access_tensor, instance.access_op.astype(np.int64))
    used = last >= 0
    np.add.at(change, first[used], instance.sizes[used])
    np.subtract.at(change, last[used] + 1, instance.sizes[used])
    return np.cumsum(change)[:-1] / max(1, instance.machine.fast_bytes)


@kernel
def _pressure(compute: Any, total: Any, rates: Any, sizes: Any, capacity: Any, columns: Any, traffic: Any, out: Any) -> None:
    """Write, for each access, how much fast memory is demanded by more profitable tensors until the next access of its tensor.

    A tensor is more profitable if keeping it from one access to the next saves more seconds per byte and operation. The demand
    is the mean over the operations up to that next access, as a multiple of the capacity, and at most 4.

    Args:
        compute: float64 [O], seconds of computation of each operation.
        total: float64 [O], bytes of all accesses of each operation.
        rates: float64 [4], as timing.serve takes them.
        sizes: int64 [T], bytes of each tensor.
        capacity: Bytes of fast memory.
        columns: int64 [A, 4], for each access: tensor, operation (not decreasing), whether it writes, next access (-1: none).
        traffic: float64 [A], bytes of each access.
        out: float64 [A], the result, written in place; 0 if there is no next access.
    """
    count, room = len(columns), max(1.0, float(capacity))
    # saved: seconds that serving an access from fast memory saves; dense: seconds per byte and operation that keeping its tensor
    # up to the next access saves; end: the operation after the one of the next access
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
    # waiting[:listed]: accesses up to the operation of access a that have a later next access; entered: how many were ever added
    waiting, listed, entered = np.empty(count, np.int64), 0, 0
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
    """Return the bytes x operations that keeping the tensor of access b takes while the tensor of access a would be kept.

    0 if keeping the tensor of access b is not more profitable, or if both tensors are the same.
    """
    if dense[b] <= dense[a] or columns[b, 0] == columns[a, 0]:
        return 0.0
    return (min(end[a], end[b]) - max(columns[a, 1], columns[b, 1])) * float(sizes[columns[b, 0]])
