"""A layout: the runs of accesses that fast memory serves, each with its rectangle. All solvers' kernels work on it.

A run begins with a tensor's definition, or with an access for which it is copied in, and contains all accesses up to the end of
its rectangle. The copies follow from it: a copy in ends before its run's first access, and a tensor defined in fast memory that
is needed in slow memory later, or at the end, is copied out between its definition and the end of its rectangle.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.problems.memory.timing import BYTES, HIGH, ISSUED, LOW, NEEDED, OFFSET, SIZE, serve

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance, MappingPlan

__all__ = [
    "EPSILON", "RUN_ACCESS", "RUN_TENSOR", "Layout", "Program", "copy_runs", "drop", "evaluate", "latest_start", "new_layout",
    "plan_of", "program_of", "put", "remove",
]  # fmt: skip

EPSILON = 1e-12  # the least relative improvement: smaller ones are rounding
RUN_TENSOR, RUN_ACCESS = range(2)
"""Columns of `Layout.runs`."""


class Program(NamedTuple):
    """An instance as arrays for kernels: O operations, T tensors, A accesses sorted by tensor, G alias groups."""

    rates: NDArray[np.float64]
    """[4] as timing.serve takes them."""
    capacity: int
    compute: NDArray[np.float64]
    """[O] seconds"""
    bytes: NDArray[np.float64]
    """[O] bytes of all accesses."""
    sizes: NDArray[np.int64]
    """[T]"""
    made: NDArray[np.int64]
    """[T] the operation that defines a tensor; -1: it is in slow memory from the beginning."""
    output: NDArray[np.bool_]
    """[T]"""
    first: NDArray[np.int64]
    """[T + 1] index of a tensor's first access."""
    use_op: NDArray[np.int64]
    """[A] increasing within a tensor; its definition comes first."""
    use_bytes: NDArray[np.float64]
    """[A]"""
    group: NDArray[np.int64]
    """[T] alias group of each tensor; -1: none."""
    member_first: NDArray[np.int64]
    """[G + 1] index of a group's first tensor in `member`."""
    member: NDArray[np.int64]
    """Tensors of the groups, one group after the other."""
    shares_offset: NDArray[np.bool_]
    """[G] whether all members can have one offset: of two that are alive together, one is written over the other."""


class Layout(NamedTuple):
    """Runs, at most one per access, and the arrays in which `evaluate` computes."""

    filled: NDArray[np.int64]
    """[1] the number of runs."""
    runs: NDArray[np.int64]
    """[A, 2] tensor, its first access in the run (0: the tensor's first)."""
    rects: NDArray[np.int64]
    """[A, 4] from, to, offset, size."""
    copies: NDArray[np.int64]
    """[A + T, 3] as timing.serve takes them."""
    slow: NDArray[np.float64]
    fast: NDArray[np.float64]
    idle: NDArray[np.float64]
    """[O] the unused bytes of the copy engine during each operation."""


def program_of(instance: MappingInstance) -> Program:
    """Return the arrays of an instance."""
    machine, op = instance.machine, instance.access_op.astype(np.int64)
    order = np.argsort(instance.access_tensor, kind="stable")
    total = np.zeros(instance.ops)
    np.add.at(total, op, instance.access_bytes.astype(float))
    counts = np.bincount(instance.access_tensor, minlength=instance.tensors)
    groups = [np.flatnonzero(instance.group == g) for g in range(int(instance.group.max(initial=-1)) + 1)]
    program = Program(
        rates=np.array([machine.slow_bandwidth, machine.fast_bandwidth, machine.copy_bandwidth, machine.overhead]),
        capacity=int(machine.fast_bytes),
        compute=instance.compute,
        bytes=total,
        sizes=instance.sizes.astype(np.int64),
        made=instance.definition.astype(np.int64),
        output=np.array([kind == "output" for kind in instance.kinds], np.bool_),
        first=np.append(0, np.cumsum(counts)).astype(np.int64),
        use_op=op[order],
        use_bytes=instance.access_bytes[order].astype(np.float64),
        group=instance.group.astype(np.int64),
        member_first=np.cumsum([0, *map(len, groups)]).astype(np.int64),
        member=np.concatenate([np.zeros(0, np.int64), *groups]).astype(np.int64),
        shares_offset=np.zeros(len(groups), np.bool_),
    )
    for g, members in enumerate(groups):
        program.shares_offset[g] = _fits_together(program, members.tolist())
    return program


def _fits_together(program: Program, members: list[int]) -> bool:
    """Return whether the members of a group, each from its first to its last access, can all lie at one offset."""
    spans = [_shortest_span(program, t) for t in members]
    if any(span is None for span in spans):
        return False
    for a, one in zip(members, spans):
        for b, other in zip(members, spans):
            assert one is not None and other is not None
            overlap = a != b and one[0] < other[1] and other[0] < one[1]
            over = max(one, other)[0] == min(one, other)[1] - 1 == program.made[a if one > other else b]
            if overlap and not (one != other and over and _reads(program, b if one > other else a, max(one, other)[0])):
                return False
    return True


def _shortest_span(program: Program, t: int) -> tuple[int, int] | None:
    """Return (from, to) of a rectangle for all accesses of a tensor with the shortest possible copy; None if there is none."""
    ops = program.use_op[program.first[t] : program.first[t + 1]]
    if not len(ops) or (program.made[t] < 0 and ops[0] == 0):
        return None
    if program.made[t] < 0:
        return int(ops[0]) - 1, int(ops[-1]) + 1
    high = max(int(ops[-1]) + 1, int(ops[0]) + 2 * int(program.output[t]))
    return (int(ops[0]), high) if high <= len(program.compute) else None


def _reads(program: Program, t: int, op: int) -> bool:
    return bool((program.use_op[program.first[t] : program.first[t + 1]] == op).any())


def new_layout(program: Program) -> Layout:
    """Return the empty layout."""
    n, accesses, tensors = len(program.compute), len(program.use_op), len(program.sizes)
    runs, rects = np.zeros((accesses + 1, 2), np.int64), np.zeros((accesses + 1, 4), np.int64)
    copies = np.zeros((accesses + tensors + 1, 3), np.int64)
    return Layout(np.zeros(1, np.int64), runs, rects, copies, np.zeros(n), np.zeros(n), np.zeros(n))


def plan_of(program: Program, layout: Layout) -> MappingPlan:
    """Return the plan of a layout, in the judge's form."""
    from corl.problems.memory.instance import IN, OUT, MappingPlan

    residencies, copies = [], []
    for (t, k), (low, high, offset, _) in zip(layout.runs[: layout.filled[0]].tolist(), layout.rects.tolist()):
        residencies.append((t, low, high, offset))
        if k > 0 or program.made[t] < 0:
            copies.append((t, IN, low, int(program.use_op[program.first[t] + k])))
        elif program.output[t] or program.use_op[program.first[t + 1] - 1] >= high:
            copies.append((t, OUT, low + 1, high))
    return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))


# -------------------------------------------------------------------- kernels
@kernel
def evaluate(program, layout):
    """Return the seconds of the program with a layout, and write `idle`, in place; infinity if a copy out is impossible."""
    count, slow, fast, copies = layout.filled[0], layout.slow, layout.fast, layout.copies
    copy(program.bytes, slow, len(slow))
    fast[:] = 0.0
    found = 0
    for r in range(count):
        t, k = layout.runs[r, RUN_TENSOR], layout.runs[r, RUN_ACCESS]
        low, high = layout.rects[r, LOW], layout.rects[r, HIGH]
        a = program.first[t] + k
        from_definition = k == 0 and program.made[t] >= 0
        if not from_definition:
            copies[found, ISSUED], copies[found, NEEDED], copies[found, BYTES] = low, program.use_op[a], program.sizes[t]
            found += 1
        elif program.output[t] or program.use_op[program.first[t + 1] - 1] >= high:
            if high < low + 2:
                return np.inf
            copies[found, ISSUED], copies[found, NEEDED], copies[found, BYTES] = low + 1, high, program.sizes[t]
            found += 1
        while a < program.first[t + 1] and program.use_op[a] < high:
            slow[program.use_op[a]] -= program.use_bytes[a]
            fast[program.use_op[a]] += program.use_bytes[a]
            a += 1
    return serve(program.compute, slow, fast, program.rates, copies, found, layout.idle)


@kernel
def put(layout, t, k, low, high, offset, size):
    """Add a run and its rectangle, which must be free, in place.

    Args:
        layout: The Layout.
        t: The tensor.
        k: Its first access in the run.
        low: The first operation of the rectangle.
        high: The operation after its last.
        offset: Its offset in fast memory.
        size: Its bytes.
    """
    r = layout.filled[0]
    layout.runs[r, RUN_TENSOR], layout.runs[r, RUN_ACCESS] = t, k
    layout.rects[r, LOW], layout.rects[r, HIGH], layout.rects[r, OFFSET], layout.rects[r, SIZE] = low, high, offset, size
    layout.filled[0] += 1


@kernel
def drop(program, layout, r):
    """Remove run r, and with it all runs of its alias group, in place; the order of the others changes."""
    group = program.group[layout.runs[r, RUN_TENSOR]]
    if group < 0:
        remove(layout, r)
        return
    r = layout.filled[0] - 1
    while r >= 0:
        if program.group[layout.runs[r, RUN_TENSOR]] == group:
            remove(layout, r)
        r -= 1


@kernel
def remove(layout, r):
    """Remove run r, in place; the last run moves to its index."""
    last = layout.filled[0] - 1
    for k in range(2):
        layout.runs[r, k] = layout.runs[last, k]
    for k in range(4):
        layout.rects[r, k] = layout.rects[last, k]
    layout.filled[0] = last


@kernel
def copy_runs(layout, other):
    """Copy the runs of a layout to `other`, in place; not `idle`, which belongs to the layout simulated last."""
    count = layout.filled[0]
    other.filled[0] = count
    for r in range(count):
        for k in range(2):
            other.runs[r, k] = layout.runs[r, k]
        for k in range(4):
            other.rects[r, k] = layout.rects[r, k]


@kernel
def latest_start(layout, op, earliest, size):
    """Return the latest operation from which on idle bandwidth hides a copy of `size` bytes before `op`; otherwise `earliest`."""
    start, room = op, 0.0
    while start > earliest:
        start -= 1
        room += layout.idle[start]
        if room >= size:
            break
    return start
