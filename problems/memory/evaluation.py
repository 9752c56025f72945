"""The judge: the feasibility of a plan, and the program's run time with the plan (README.md, "The machine").

The judge is plain Python, for readability; solvers have kernels of their own.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.memory.instance import FROM_SLOW, IN, OUT, MappingInstance, MappingPlan

__all__ = ["Timeline", "check", "objective", "run_plan"]

_PAIRS_PER_BLOCK = 2**18  # pairs of residencies compared at a time, which limits memory


@dataclass(frozen=True)
class Timeline:
    """The events of a run, in seconds from the start of the program."""

    total: float
    """The time at which all operations and copies have ended."""
    start: NDArray[np.float64]
    """float64 [O], the start of each operation."""
    duration: NDArray[np.float64]
    """float64 [O], the duration of each operation without stalls."""
    stall: NDArray[np.float64]
    """float64 [O + 1], the time that each operation waits for copies before it begins, and the wait at the end of the program."""
    copied: NDArray[np.float64]
    """float64 [O], bytes that the copy engine moves during each operation."""
    slow_bytes: NDArray[np.float64]
    """float64 [O], bytes of each operation's own accesses to slow memory."""
    copy_start: NDArray[np.float64]
    """float64 [C], the time at which the copy engine begins each copy of the plan."""
    copy_end: NDArray[np.float64]
    """float64 [C], the time at which the copy engine ends each copy of the plan."""


def objective(instance: MappingInstance, solution: Any) -> float:
    """Return the program's run time with a plan, in microseconds. Raises Infeasible, naming the first violated rule."""
    return 1e6 * run_plan(instance, solution).total


def run_plan(instance: MappingInstance, plan: Any) -> Timeline:
    """Check a plan and simulate it. Raises Infeasible, naming the first violated rule."""
    plan, from_fast = _checked(instance, plan)
    machine, n = instance.machine, instance.ops
    slow_bytes, fast_bytes = np.zeros(n), np.zeros(n)
    op = instance.access_op
    np.add.at(slow_bytes, op[~from_fast], instance.access_bytes[~from_fast].astype(float))
    np.add.at(fast_bytes, op[from_fast], instance.access_bytes[from_fast].astype(float))
    memory = slow_bytes / machine.slow_bandwidth + fast_bytes / machine.fast_bandwidth
    duration = machine.overhead + np.maximum(instance.compute, memory)
    idle = duration * machine.copy_bandwidth
    for bandwidth, used in ((machine.slow_bandwidth, slow_bytes), (machine.fast_bandwidth, fast_bytes)):
        idle = np.minimum(idle, duration * bandwidth - used)
    return _serve(instance, plan.copies, duration, np.maximum(idle, 0.0), slow_bytes)


def _serve(instance: MappingInstance, copies: NDArray[np.int64], duration: Any, idle: Any, slow_bytes: Any) -> Timeline:
    """Simulate the copy engine: among the copies that may begin, the engine always works on the one that must end first.

    Args:
        instance: The instance.
        copies: int64 [C, 4], as in the plan.
        duration: float64 [O], seconds of each operation without stalls.
        idle: float64 [O], bytes that the copy engine can move during each operation.
        slow_bytes: float64 [O], for the timeline.
    """
    n, rate = instance.ops, instance.machine.copy_rate
    seconds, room, bytes_left = duration.tolist(), idle.tolist(), instance.sizes[copies[:, 0]].astype(float).tolist()
    issued, needed = copies[:, 2].tolist(), copies[:, 3].tolist()
    waiting = np.argsort(-copies[:, 2], kind="stable").tolist()  # copies that may not begin yet, the next one last
    pending: list[tuple[int, int]] = []  # (operation before which the copy must end, copy), sorted
    begun, ended = [None] * len(bytes_left), [0.0] * len(bytes_left)  # type: list[float | None], list[float]
    start, stall, copied = [0.0] * n, [0.0] * (n + 1), [0.0] * n
    now = 0.0

    def move(k: int, limit: float, clock: float, speed: float) -> float:
        """Move up to `limit` bytes of copy k at `speed` bytes per second, from second `clock` on; return the bytes moved."""
        moved = float(min(limit, bytes_left[k]))
        if begun[k] is None:
            begun[k] = clock
        bytes_left[k] -= moved
        ended[k] = clock + (moved / speed if moved else 0.0)
        return moved

    for i in range(n + 1):
        while pending and pending[0][0] <= i:
            k = pending.pop(0)[1]
            wait = move(k, bytes_left[k], now, rate) / rate
            stall[i] += wait
            now += wait
        if i == n:
            break
        start[i] = now
        while waiting and issued[waiting[-1]] == i:
            k = waiting.pop()
            insort(pending, (needed[k], k))
        while pending and copied[i] < room[i]:
            k, speed = pending[0][1], room[i] / seconds[i]
            copied[i] += move(k, room[i] - copied[i], now + copied[i] / speed, speed)
            if bytes_left[k] == 0.0:
                pending.pop(0)
        now += seconds[i]
    starts = np.array([0.0 if clock is None else clock for clock in begun])
    return Timeline(now, np.array(start), duration, np.array(stall), np.array(copied), slow_bytes, starts, np.array(ended))


# -------------------------------------------------------------------- feasibility
def check(instance: MappingInstance, solution: Any) -> MappingPlan:
    """Return the plan as arrays. Raises Infeasible, naming the first violated rule."""
    return _checked(instance, solution)[0]


def _checked(instance: MappingInstance, plan: Any) -> tuple[MappingPlan, NDArray[np.bool_]]:
    """Return the plan as arrays, and whether fast memory serves each access, bool [accesses]. Raises Infeasible."""
    plan = _as_plan(instance, plan)
    _check_places(instance, plan.residencies)
    arrived, in_slow = _data_times(instance, plan)
    from_fast = _served_from_fast(instance, plan.residencies, arrived, in_slow)
    group = instance.group[instance.access_tensor] + 1  # of each access; 0: none
    accesses = np.bincount(group)
    served = np.bincount(group, from_fast, len(accesses))
    if (mixed := (served > 0) & (served < accesses))[1:].any():
        g = int(mixed[1:].argmax())
        names = ", ".join(instance.tensor_names[t] for t in np.flatnonzero(instance.group == g)[:4])
        raise Infeasible(f"alias group {g} ({names}): some accesses are in fast memory and some in slow")
    return plan, from_fast


def _as_plan(instance: MappingInstance, plan: Any) -> MappingPlan:
    """Return arrays of the right shape, with tensors, operations and directions in range. Raises Infeasible."""
    try:
        parts = [np.asarray(part) for part in plan]
        wrong = len(parts) != 2 or any(part.shape != (len(part), 4) or part.dtype.kind not in "iu" for part in parts)
    except (TypeError, ValueError):
        wrong = True
    if wrong:
        raise Infeasible("a plan is two arrays of integers, residencies [R, 4] and copies [C, 4]")
    residencies, copies = (part.astype(np.int64) for part in parts)
    for what, rows, low, high in (("residency", residencies, 1, 2), ("copy", copies, 2, 3)):
        unknown = (rows[:, 0] < 0) | (rows[:, 0] >= instance.tensors)
        empty = (rows[:, low] < 0) | (rows[:, low] >= rows[:, high]) | (rows[:, high] > instance.ops)
        if (faults := unknown | empty).any():
            k = int(faults.argmax())
            if unknown[k]:
                raise Infeasible(f"{what} {k}: there is no tensor {rows[k, 0]}")
            raise Infeasible(f"{what} {k}: operations {rows[k, low]} to {rows[k, high]} are no span of 0 to {instance.ops}")
    if (wrong := (copies[:, 1] != IN) & (copies[:, 1] != OUT)).any():
        k = int(wrong.argmax())
        raise Infeasible(f"copy {k}: there is no direction {copies[k, 1]}")
    return MappingPlan(residencies, copies)


def _check_places(instance: MappingInstance, residencies: NDArray[np.int64]) -> None:
    """Check that residencies lie within the memory and do not overlap, except an output written over an input of its alias group.

    Raises Infeasible.
    """
    capacity, names = instance.machine.fast_bytes, instance.tensor_names
    tensor, low, high, offset = residencies.T
    size, count = instance.sizes[tensor], len(residencies)
    if (outside := (offset < 0) | (offset > capacity - size)).any():
        k = int(outside.argmax())
        span = f"{offset[k]} to {int(offset[k]) + int(size[k])}"
        raise Infeasible(f"residency {k}: {names[tensor[k]]} at {span} is not within 0 to {capacity}")
    first_fault = count * count  # a pair (larger index, smaller index) as one number
    for a, b in _overlapping(low, high):
        in_memory = (offset[a] < offset[b] + size[b]) & (offset[b] < offset[a] + size[a])
        conflicts = np.flatnonzero(in_memory | (tensor[a] == tensor[b]))
        a, b = a[conflicts], b[conflicts]
        allowed = (offset[a] == offset[b]) & (_in_place(instance, residencies, a, b) | _in_place(instance, residencies, b, a))
        pairs = np.maximum(a, b) * count + np.minimum(a, b)
        first_fault = min(first_fault, int(pairs[~allowed | (tensor[a] == tensor[b])].min(initial=first_fault)))
    if first_fault < count * count:
        k, other = divmod(first_fault, count)
        op = max(low[k], low[other])
        if tensor[k] == tensor[other]:
            raise Infeasible(f"residency {k}: {names[tensor[k]]} has two places at operation {op}")
        raise Infeasible(f"{names[tensor[k]]} and {names[tensor[other]]} overlap in fast memory at operation {op}")


def _in_place(instance: MappingInstance, residencies: NDArray[np.int64], old: Any, new: Any) -> NDArray[np.bool_]:
    """Return whether residency new[k] may be written over residency old[k], bool [pairs]; `old` and `new` are int64 [pairs].

    That is so if both tensors are in one alias group, and the operation that defines the new tensor reads the old tensor, is the
    first operation of the new residency and the last of the old residency.
    """
    old_tensor, new_tensor, group = residencies[old, 0], residencies[new, 0], instance.group
    op = instance.definition[new_tensor].astype(np.int64)
    same_group = (group[old_tensor] >= 0) & (group[old_tensor] == group[new_tensor])
    follows = (residencies[new, 1] == op) & (op >= 0) & (residencies[old, 2] == op + 1)
    accesses = instance.access_op.astype(np.int64) * instance.tensors + instance.access_tensor
    return np.asarray(same_group & follows & np.isin(op * instance.tensors + old_tensor, accesses))


def _overlapping(low: NDArray[np.int64], high: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, in blocks, all pairs of spans low[k] to high[k] - 1 with a common operation, as two arrays of indices."""
    order = np.argsort(low, kind="stable")
    counts = np.searchsorted(low[order], high[order]) - np.arange(len(low)) - 1  # later spans that begin within each span
    before = np.cumsum(counts) - counts
    for block in np.split(np.arange(len(low)), np.flatnonzero(np.diff(before // _PAIRS_PER_BLOCK)) + 1):
        first = np.repeat(block, counts[block])
        second = first + 1 + np.arange(len(first)) - np.repeat(before[block] - before[block[:1]], counts[block])
        yield order[first], order[second]


def _data_times(instance: MappingInstance, plan: MappingPlan) -> tuple[list[int], list[int]]:
    """Return from which operations on residencies and slow memory hold data: two lists of operations.

    The first has, for each residency, the operation from which on it holds its tensor's data. The second has, for each tensor,
    the operation from which on slow memory holds it, or O + 1 if it never does. Raises Infeasible if a residency is not filled
    exactly once, or a copy has no source.
    """
    # base: tensor * base + operation is a key for both; as an operation, it stands for "never"
    names, definition, base = instance.tensor_names, instance.definition.tolist(), instance.ops + 1
    tensor, low, high, _ = plan.residencies.T.tolist()
    copied, way, begin, end = plan.copies.T.tolist()
    in_fast = {t for t, at in zip(tensor, low) if at == definition[t]}
    in_slow = [0 if kind in FROM_SLOW else definition[t] + 1 for t, kind in enumerate(instance.kinds)]
    for t in in_fast:
        in_slow[t] = base
    filler: dict[int, int] = {}  # tensor * base + operation -> copy that fills a residency from there; -1: several copies
    for c, t in enumerate(copied):
        if way[c] == IN:
            filler[t * base + begin[c]] = -1 if t * base + begin[c] in filler else c
    arrived: list[int] = []
    places: dict[int, list[int]] = {t: [] for t, direction in zip(copied, way) if direction == OUT}  # tensor -> its residencies
    for k, (t, at) in enumerate(zip(tensor, low)):
        copy_in = filler.get(t * base + at)
        if copy_in is None and at == definition[t]:
            arrived.append(at)
        elif copy_in is not None and copy_in >= 0 and at != definition[t] and end[copy_in] < high[k]:
            arrived.append(end[copy_in])
        else:
            raise Infeasible(f"residency {k}: {names[t]} from operation {at} is filled by neither its definition nor one copy")
        if t in places:
            places[t].append(k)
    copied_out = set()
    for c, t in enumerate(copied):
        if way[c] != OUT:
            continue
        has_source = any(arrived[k] <= begin[c] and end[c] <= high[k] for k in places[t])
        if t not in in_fast or t in copied_out or not has_source or begin[c] <= definition[t]:
            raise Infeasible(f"copy {c}: {names[t]} is not in fast memory alone from operation {begin[c]} to {end[c]}")
        copied_out.add(t)
        in_slow[t] = end[c]
    filled = {t * base + at for t, at in zip(tensor, low)}
    for c, t in enumerate(copied):
        fills_nothing = t * base + begin[c] not in filled
        if way[c] == IN and (fills_nothing or in_slow[t] > begin[c]):
            why = "has no residency to fill" if fills_nothing else "begins before slow memory holds it"
            raise Infeasible(f"copy {c}, of {names[t]} at operation {begin[c]}, {why}")
    return arrived, in_slow


def _served_from_fast(instance: MappingInstance, residencies: NDArray[np.int64], arrived: list[int], in_slow: list[int]) -> Any:
    """Return whether fast memory serves each access, bool [accesses].

    arrived, in_slow: the lists of `_data_times`. Raises Infeasible if slow memory has to serve a tensor that it does not hold, or
    does not hold an output at the end.
    """
    op, tensor, slow_from = instance.access_op, instance.access_tensor, np.array(in_slow)
    keys = tensor.astype(np.int64) * (instance.ops + 1) + op
    order = np.argsort(keys)
    change = np.zeros(len(keys) + 1, np.int64)
    for sign, when in ((1, np.array(arrived, np.int64)), (-1, residencies[:, 2])):
        np.add.at(change, np.searchsorted(keys[order], residencies[:, 0] * (instance.ops + 1) + when), sign)
    from_fast = np.zeros(len(keys), np.bool_)
    from_fast[order] = np.cumsum(change)[:-1] > 0
    if (missing := ~from_fast & ~instance.access_write & (op < slow_from[tensor])).any():
        a = int(missing.argmax())
        raise Infeasible(f"operation {op[a]} reads {instance.tensor_names[tensor[a]]}, which is then in neither memory")
    for t, kind in enumerate(instance.kinds):
        if kind == "output" and in_slow[t] > instance.ops:
            made = instance.definition[t]
            raise Infeasible(f"output {instance.tensor_names[t]} of operation {made} is not in slow memory at the end")
    return from_fast
