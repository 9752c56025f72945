"""Layouts: the solution form on which the kernels of all solvers work.

A layout is a set of runs. A run is a set of consecutive accesses of one tensor that fast memory serves, with a rectangle: the
span of operations and of bytes that the tensor takes. A run begins with the operation that defines the tensor, or with an access
for which the tensor is copied in, and contains all accesses up to the end of its rectangle. The copies of a plan follow from its
runs: a copy in begins with the rectangle and must end before the run's first access. A tensor that is defined in fast memory and
needed in slow memory later, or at the end, is copied out between its definition and the end of its rectangle.
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

EPSILON = 1e-12  # the smallest relative improvement that counts; smaller ones may be rounding
RUN_TENSOR, RUN_ACCESS = range(2)
"""Columns of `Layout.runs`: the run's tensor, and the number of its first access among the tensor's accesses."""


class Program(NamedTuple):
    """An instance as arrays for kernels: O operations, T tensors, A accesses sorted by tensor, G alias groups."""

    rates: NDArray[np.float64]
    """[4] as timing.serve takes them."""
    capacity: int
    """Bytes of fast memory."""
    compute: NDArray[np.float64]
    """[O] seconds of computation."""
    bytes: NDArray[np.float64]
    """[O] bytes of all accesses of an operation."""
    sizes: NDArray[np.int64]
    """[T] bytes of a tensor."""
    definition: NDArray[np.int64]
    """[T] the operation that writes a tensor; -1: the tensor is in slow memory from the beginning."""
    output: NDArray[np.bool_]
    """[T] whether a tensor must be in slow memory at the end."""
    first_access: NDArray[np.int64]
    """[T + 1] index of a tensor's first access in `use_op` and `use_bytes`; the last entry is A."""
    use_op: NDArray[np.int64]
    """[A] the operation of an access, increasing within a tensor; a tensor that is written has this access first."""
    use_bytes: NDArray[np.float64]
    """[A] bytes read or written by an access."""
    group: NDArray[np.int64]
    """[T] alias group of each tensor; -1: none."""
    first_member: NDArray[np.int64]
    """[G + 1] index of a group's first tensor in `member`."""
    member: NDArray[np.int64]
    """[tensors in groups] tensors of the groups, one group after the other."""
    shares_offset: NDArray[np.bool_]
    """[G] whether all members of a group can have one offset: of two that are alive together, one is written over the other."""


class Layout(NamedTuple):
    """Runs, at most one per access, and the work arrays of `evaluate`. A and O are those of the Program."""

    run_count: NDArray[np.int64]
    """[1] the number of runs."""
    runs: NDArray[np.int64]
    """[A + 1, 2] columns RUN_TENSOR and RUN_ACCESS."""
    rects: NDArray[np.int64]
    """[A + 1, 4] the rectangles of the runs, columns LOW, HIGH, OFFSET and SIZE of timing.py."""
    copies: NDArray[np.int64]
    """[A + T + 1, 3] work array for copies as timing.serve takes them, overwritten by `evaluate`."""
    slow: NDArray[np.float64]
    """[O] work array for bytes of accesses to slow memory, overwritten by `evaluate`."""
    fast: NDArray[np.float64]
    """[O] work array for bytes of accesses to fast memory, overwritten by `evaluate`."""
    idle: NDArray[np.float64]
    """[O] the bytes that the copy engine could still move during each operation, set by `evaluate`."""


def program_of(instance: MappingInstance) -> Program:
    """Return the instance as arrays for kernels."""
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
        definition=instance.definition.astype(np.int64),
        output=np.array([kind == "output" for kind in instance.kinds], np.bool_),
        first_access=np.append(0, np.cumsum(counts)).astype(np.int64),
        use_op=op[order],
        use_bytes=instance.access_bytes[order].astype(np.float64),
        group=instance.group.astype(np.int64),
        first_member=np.cumsum([0, *map(len, groups)]).astype(np.int64),
        member=np.concatenate([np.zeros(0, np.int64), *groups]).astype(np.int64),
        shares_offset=np.zeros(len(groups), np.bool_),
    )
    for g, members in enumerate(groups):
        program.shares_offset[g] = _fits_together(program, members.tolist())
    return program


def _fits_together(program: Program, members: list[int]) -> bool:
    """Return whether the members of an alias group, each in fast memory for all its accesses, can have the same offset."""
    spans = [_shortest_span(program, t) for t in members]
    if any(span is None for span in spans):
        return False
    for a, one in zip(members, spans):
        for b, other in zip(members, spans):
            assert one is not None and other is not None
            overlap = a != b and one[0] < other[1] and other[0] < one[1]
            in_place = max(one, other)[0] == min(one, other)[1] - 1 == program.definition[a if one > other else b]
            if overlap and not (one != other and in_place and _reads(program, b if one > other else a, max(one, other)[0])):
                return False
    return True


def _shortest_span(program: Program, t: int) -> tuple[int, int] | None:
    """Return the shortest span of operations, (first, after the last), in which fast memory can serve all accesses of a tensor.

    The span has at least one operation for a copy in or out, if the tensor needs one. None if there is no such span.
    """
    ops = program.use_op[program.first_access[t] : program.first_access[t + 1]]
    if not len(ops) or (program.definition[t] < 0 and ops[0] == 0):
        return None
    if program.definition[t] < 0:
        return int(ops[0]) - 1, int(ops[-1]) + 1
    high = max(int(ops[-1]) + 1, int(ops[0]) + 2 * int(program.output[t]))
    return (int(ops[0]), high) if high <= len(program.compute) else None


def _reads(program: Program, t: int, op: int) -> bool:
    """Return whether an operation accesses a tensor."""
    return bool((program.use_op[program.first_access[t] : program.first_access[t + 1]] == op).any())


def new_layout(program: Program) -> Layout:
    """Return the empty layout."""
    n, accesses, tensors = len(program.compute), len(program.use_op), len(program.sizes)
    runs, rects = np.zeros((accesses + 1, 2), np.int64), np.zeros((accesses + 1, 4), np.int64)
    copies = np.zeros((accesses + tensors + 1, 3), np.int64)
    return Layout(np.zeros(1, np.int64), runs, rects, copies, np.zeros(n), np.zeros(n), np.zeros(n))


def plan_of(program: Program, layout: Layout) -> MappingPlan:
    """Return the plan of a layout, in the form that the judge takes."""
    from corl.problems.memory.instance import IN, OUT, MappingPlan

    residencies, copies = [], []
    for (t, k), (low, high, offset, _) in zip(layout.runs[: layout.run_count[0]].tolist(), layout.rects.tolist()):
        residencies.append((t, low, high, offset))
        if k > 0 or program.definition[t] < 0:
            copies.append((t, IN, low, int(program.use_op[program.first_access[t] + k])))
        elif program.output[t] or program.use_op[program.first_access[t + 1] - 1] >= high:
            copies.append((t, OUT, low + 1, high))
    return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))


# -------------------------------------------------------------------- kernels
@kernel
def evaluate(program, layout):
    """Return the program's run time with a layout, in seconds; infinity if a rectangle leaves no operation for a copy out.

    The layout's work arrays and `idle` are overwritten.
    """
    count, slow, fast, copies = layout.run_count[0], layout.slow, layout.fast, layout.copies
    copy(program.bytes, slow, len(slow))
    fast[:] = 0.0
    copy_count = 0
    for r in range(count):
        t, k = layout.runs[r, RUN_TENSOR], layout.runs[r, RUN_ACCESS]
        low, high = layout.rects[r, LOW], layout.rects[r, HIGH]
        a = program.first_access[t] + k
        from_definition = k == 0 and program.definition[t] >= 0
        if not from_definition:
            copies[copy_count, ISSUED], copies[copy_count, NEEDED], copies[copy_count, BYTES] = (
                low,
                program.use_op[a],
                program.sizes[t],
            )
            copy_count += 1
        elif program.output[t] or program.use_op[program.first_access[t + 1] - 1] >= high:
            if high < low + 2:
                return np.inf
            copies[copy_count, ISSUED], copies[copy_count, NEEDED], copies[copy_count, BYTES] = low + 1, high, program.sizes[t]
            copy_count += 1
        while a < program.first_access[t + 1] and program.use_op[a] < high:
            slow[program.use_op[a]] -= program.use_bytes[a]
            fast[program.use_op[a]] += program.use_bytes[a]
            a += 1
    return serve(program.compute, slow, fast, program.rates, copies, copy_count, layout.idle)


@kernel
def put(layout, t, k, low, high, offset, size):
    """Add a run and its rectangle, which must be free, in place.

    Args:
        layout: The Layout.
        t: The tensor.
        k: The number of the run's first access among the tensor's accesses.
        low: The first operation of the rectangle.
        high: The operation after its last.
        offset: Its offset in fast memory, in bytes.
        size: Its bytes.
    """
    r = layout.run_count[0]
    layout.runs[r, RUN_TENSOR], layout.runs[r, RUN_ACCESS] = t, k
    layout.rects[r, LOW], layout.rects[r, HIGH], layout.rects[r, OFFSET], layout.rects[r, SIZE] = low, high, offset, size
    layout.run_count[0] += 1


@kernel
def drop(program, layout, r):
    """Remove run r, and all runs of its alias group if its tensor has one, in place; the indices of other runs change."""
    group = program.group[layout.runs[r, RUN_TENSOR]]
    if group < 0:
        remove(layout, r)
        return
    r = layout.run_count[0] - 1
    while r >= 0:
        if program.group[layout.runs[r, RUN_TENSOR]] == group:
            remove(layout, r)
        r -= 1


@kernel
def remove(layout, r):
    """Remove run r, in place; the last run moves to its index."""
    last = layout.run_count[0] - 1
    for k in range(2):
        layout.runs[r, k] = layout.runs[last, k]
    for k in range(4):
        layout.rects[r, k] = layout.rects[last, k]
    layout.run_count[0] = last


@kernel
def copy_runs(layout, other):
    """Copy the runs of `layout` to `other`, in place; `other.idle` is left as the last `evaluate` of `other` set it."""
    count = layout.run_count[0]
    other.run_count[0] = count
    for r in range(count):
        for k in range(2):
            other.runs[r, k] = layout.runs[r, k]
        for k in range(4):
            other.rects[r, k] = layout.rects[r, k]


@kernel
def latest_start(layout, op, earliest, size):
    """Return the latest operation from which on idle bandwidth moves `size` bytes before operation `op` begins.

    If there is none from `earliest` on, return `earliest`.
    """
    start, moved = op, 0.0
    while start > earliest:
        start -= 1
        moved += layout.idle[start]
        if moved >= size:
            break
    return start
