"""The judge: whether a plan can be carried out, and how long the program takes with it (README.md, "The machine").

Plain Python, so that it can be read; solvers have kernels of their own.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.memory.mapping.instance import FROM_SLOW, IN, OUT, MappingInstance, MappingPlan

__all__ = ["Timeline", "check_plan", "run_plan"]


@dataclass(frozen=True)
class Timeline:
    """What happens when, in seconds from the start of the program."""

    total: float
    """When everything is done."""
    start: NDArray[np.float64]
    """float64 [O], when each operation begins."""
    duration: NDArray[np.float64]
    """float64 [O], without stalls."""
    stall: NDArray[np.float64]
    """float64 [O + 1], how long each operation, and at last the end of the program, waits for copies."""
    copied: NDArray[np.float64]
    """float64 [O], bytes that the copy engine moves during each operation."""
    slow_bytes: NDArray[np.float64]
    """float64 [O], bytes of each operation's own accesses to slow memory."""
    copy_start: NDArray[np.float64]
    """float64 [C], when the engine begins with each copy of the plan."""
    copy_end: NDArray[np.float64]


def run_plan(instance: MappingInstance, plan: Any) -> Timeline:
    """Check a plan and carry it out. Raises Infeasible, naming the first rule that is broken."""
    plan, fast = check_plan(instance, plan)
    machine, n = instance.machine, instance.ops
    slow, quick = np.zeros(n), np.zeros(n)
    op = instance.access_op
    np.add.at(slow, op[~fast], instance.access_bytes[~fast].astype(float))
    np.add.at(quick, op[fast], instance.access_bytes[fast].astype(float))
    memory = slow / machine.slow_bandwidth + quick / machine.fast_bandwidth
    duration = machine.overhead + np.maximum(instance.compute, memory)
    idle = duration * machine.copy_bandwidth
    for bandwidth, used in ((machine.slow_bandwidth, slow), (machine.fast_bandwidth, quick)):
        idle = np.minimum(idle, duration * bandwidth - used)
    return _serve(instance, plan.copies.tolist(), duration, np.maximum(idle, 0.0), slow)


def _serve(instance: MappingInstance, copies: list[list[int]], duration: Any, idle: Any, slow: Any) -> Timeline:
    """Let the copy engine work: at any time on the copy, of those that may have begun, that must end first."""
    n, rate = instance.ops, instance.machine.copy_rate
    left = [float(instance.sizes[t]) for t, _, _, _ in copies]
    issued: list[list[int]] = [[] for _ in range(n)]
    for k, (_, _, low, _) in enumerate(copies):
        issued[low].append(k)
    pending: list[tuple[int, int]] = []  # (before which operation, copy), sorted
    begun, ended = [None] * len(copies), [0.0] * len(copies)  # type: list[float | None], list[float]
    start, stall, copied = np.zeros(n), np.zeros(n + 1), np.zeros(n)
    now = 0.0

    def move(k: int, most: float, clock: float, speed: float) -> float:
        """Move up to `most` bytes of copy k at a speed, from `clock` on; how many."""
        moved = min(most, left[k])
        if begun[k] is None:
            begun[k] = clock
        left[k] -= moved
        ended[k] = clock + (moved / speed if moved else 0.0)
        return moved

    for i in range(n + 1):
        while pending and pending[0][0] <= i:
            k = pending.pop(0)[1]
            wait = move(k, left[k], now, rate) / rate
            stall[i] += wait
            now += wait
        if i == n:
            break
        start[i] = now
        for k in issued[i]:
            insort(pending, (copies[k][3], k))
        while pending and copied[i] < idle[i]:
            k, speed = pending[0][1], idle[i] / duration[i]
            copied[i] += move(k, idle[i] - copied[i], now + copied[i] / speed, speed)
            if left[k] == 0.0:
                pending.pop(0)
        now += float(duration[i])
    starts = np.array([0.0 if clock is None else clock for clock in begun])
    return Timeline(float(now), start, duration, stall, copied, slow, starts, np.array(ended))


# -------------------------------------------------------------------- feasibility
def check_plan(instance: MappingInstance, plan: Any) -> tuple[MappingPlan, NDArray[np.bool_]]:
    """The plan as arrays, and which accesses fast memory serves, bool [accesses]. Raises Infeasible."""
    plan = _as_plan(instance, plan)
    _check_places(instance, plan.residencies.tolist())
    arrived, in_slow = _data(instance, plan)
    fast = _served(instance, plan.residencies.tolist(), arrived, in_slow)
    for g in range(int(instance.group.max(initial=-1)) + 1):
        members = instance.group[instance.access_tensor] == g
        if fast[members].any() and not fast[members].all():
            names = ", ".join(instance.tensor_names[t] for t in np.flatnonzero(instance.group == g)[:4])
            raise Infeasible(f"alias group {g} ({names}): some accesses are in fast memory and some in slow")
    return plan, fast


def _as_plan(instance: MappingInstance, plan: Any) -> MappingPlan:
    """Arrays of the right form with tensors, operations, directions and offsets in range. Raises Infeasible."""
    try:
        parts = [np.asarray(part) for part in plan]
        wrong = len(parts) != 2 or any(part.shape != (len(part), 4) or part.dtype.kind not in "iu" for part in parts)
    except (TypeError, ValueError):
        wrong = True
    if wrong:
        raise Infeasible("a plan is two arrays of integers, residencies [R, 4] and copies [C, 4]")
    residencies, copies = (part.astype(np.int64) for part in parts)
    for what, rows, low, high in (("residency", residencies, 1, 2), ("copy", copies, 2, 3)):
        for k, row in enumerate(rows.tolist()):
            if not 0 <= row[0] < instance.tensors:
                raise Infeasible(f"{what} {k}: there is no tensor {row[0]}")
            if not 0 <= row[low] < row[high] <= instance.ops:
                raise Infeasible(f"{what} {k}: operations {row[low]} to {row[high]} are no span of 0 to {instance.ops}")
    for k, (_, direction, _, _) in enumerate(copies.tolist()):
        if direction not in (IN, OUT):
            raise Infeasible(f"copy {k}: there is no direction {direction}")
    return MappingPlan(residencies, copies)


def _check_places(instance: MappingInstance, residencies: list[list[int]]) -> None:
    """Every rectangle lies within the memory and none overlaps another, but an output written over an input of its group."""
    capacity, sizes, names = instance.machine.fast_bytes, instance.sizes.tolist(), instance.tensor_names
    for k, (t, _, _, offset) in enumerate(residencies):
        if offset < 0 or offset + sizes[t] > capacity:
            raise Infeasible(f"residency {k}: {names[t]} at {offset} to {offset + sizes[t]} is not within 0 to {capacity}")
    table = np.array(residencies, np.int64).reshape(-1, 4)
    for k, (t, low, high, offset) in enumerate(residencies):
        together = (table[:k, 1] < high) & (low < table[:k, 2])
        near = (table[:k, 3] < offset + sizes[t]) & (offset < table[:k, 3] + instance.sizes[table[:k, 0]])
        for at in np.flatnonzero(together & (near | (table[:k, 0] == t))).tolist():
            s, other_low, other_high, other = residencies[at]
            if t == s:
                raise Infeasible(f"residency {k}: {names[t]} has two places at operation {max(low, other_low)}")
            first, second = ((t, low, high), (s, other_low, other_high))
            if not (offset == other and (_in_place(instance, first, second) or _in_place(instance, second, first))):
                raise Infeasible(f"{names[t]} and {names[s]} overlap in fast memory at operation {max(low, other_low)}")


def _in_place(instance: MappingInstance, old: tuple[int, int, int], new: tuple[int, int, int]) -> bool:
    """Whether the operation that defines `new` (tensor, from, to) reads `old`, of its group, and nobody needs `old` later."""
    at = int(instance.definition[new[0]])
    reads = instance.access_tensor[instance.access_first[at] : instance.access_first[at + 1]]
    same = instance.group[old[0]] >= 0 and instance.group[old[0]] == instance.group[new[0]]
    return bool(same and new[1] == at >= 0 and old[2] == at + 1 and old[0] in reads)


def _data(instance: MappingInstance, plan: MappingPlan) -> tuple[list[int], list[int]]:
    """From which operation on each residency holds its data, and from which on slow memory holds each tensor.

    Raises Infeasible for residencies that nothing or more than one thing fills, and copies of what is not there.
    """
    names, definition = instance.tensor_names, instance.definition.tolist()
    residencies, copies = plan.residencies.tolist(), plan.copies.tolist()
    in_fast = {t for t, low, _, _ in residencies if low == definition[t]}
    in_slow = [0 if kind in FROM_SLOW else definition[t] + 1 for t, kind in enumerate(instance.kinds)]
    for t in in_fast:
        in_slow[t] = instance.ops + 1
    fillers: dict[tuple[int, int], list[int]] = {}
    for c, (t, direction, low, _) in enumerate(copies):
        if direction == IN:
            fillers.setdefault((t, low), []).append(c)
    arrived, filled = [], set()
    for k, (t, low, high, _) in enumerate(residencies):
        mine = fillers.get((t, low), [])
        if low == definition[t] and not mine:
            arrived.append(low)
        elif low != definition[t] and len(mine) == 1 and copies[mine[0]][3] < high:
            arrived.append(copies[mine[0]][3])
        else:
            raise Infeasible(f"residency {k}: {names[t]} from operation {low} is filled by neither its definition nor one copy")
        filled.update(mine)
    seen = set()
    for c, (t, direction, low, high) in enumerate(copies):
        if direction != OUT:
            continue
        source = [k for k, row in enumerate(residencies) if row[0] == t and arrived[k] <= low and high <= row[2]]
        if t not in in_fast or t in seen or not source or low <= definition[t]:
            raise Infeasible(f"copy {c}: {names[t]} is not in fast memory alone from operation {low} to {high}")
        seen.add(t)
        in_slow[t] = high
    for c, (t, direction, low, _) in enumerate(copies):
        if direction == IN and (c not in filled or in_slow[t] > low):
            why = "has no residency to fill" if c not in filled else "begins before slow memory holds it"
            raise Infeasible(f"copy {c}: that of {names[t]} at operation {low} {why}")
    return arrived, in_slow


def _served(instance: MappingInstance, residencies: list[list[int]], arrived: list[int], in_slow: list[int]) -> Any:
    """Which accesses fast memory serves; Infeasible where slow memory has to and does not hold the tensor."""
    definition = instance.definition
    op, tensor = instance.access_op.tolist(), instance.access_tensor.tolist()
    fast = np.zeros(len(tensor), np.bool_)
    for k, (t, _, high, _) in enumerate(residencies):
        fast |= (instance.access_tensor == t) & (instance.access_op >= arrived[k]) & (instance.access_op < high)
    for a in np.flatnonzero(~fast & ~instance.access_write).tolist():
        if op[a] < in_slow[tensor[a]]:
            raise Infeasible(f"operation {op[a]} reads {instance.tensor_names[tensor[a]]}, which is then in neither memory")
    for t, kind in enumerate(instance.kinds):
        if kind == "output" and in_slow[t] > instance.ops:
            raise Infeasible(f"output {instance.tensor_names[t]} of operation {definition[t]} is not in slow memory at the end")
    return fast
