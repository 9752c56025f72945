"""The judge: whether a schedule satisfies every constraint, and its objective value. It shares no code with the solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import Infeasible
from corl.problems.jobshop.evaluation_rules import check_rules, early_by
from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["check", "completion", "ends", "objective", "schedule_of_orders"]

_LATEST = 2**53  # limit of a start: sums stay exact


def objective(instance: JobShopInstance, solution: Any) -> float:
    """Return the makespan, or the total weighted tardiness, with the earliness if it counts.

    Raises Infeasible, naming the first violated constraint.
    """
    end = completion(instance, check(instance, solution))
    if instance.objective == "makespan":
        return float(end.max())
    assert instance.due is not None
    late = sum(w * max(0, c - d) for w, c, d in zip(instance.weight.tolist(), end.tolist(), instance.due.tolist()))
    return float(late + early_by(instance, end) if instance.objective == "earliness_tardiness" else late)


def completion(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    """Return when each job ends, int64 [jobs]; `schedule` is feasible."""
    return ends(instance, schedule)[instance.first[1:] - 1]


def ends(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    """Return when each operation ends, int64 [operations]."""
    return np.asarray(schedule.start + _durations(instance, schedule.machine))


def check(instance: JobShopInstance, solution: Any) -> Schedule:
    """Return `solution` (start, machine) with int64 and int32 arrays, if it is feasible.

    Every operation is on a machine that can process it and begins when its predecessor in the job has ended (the first not before
    the job's release date); of two operations on a machine, one ends before or as the other begins: an operation
    of duration zero may be between two others, not within one. Then the instance's side constraints are checked, if it has any.
    Raises Infeasible, naming the first fault.
    """
    start, machine = _arrays(instance, solution)
    duration = _durations(instance, machine)
    end = start + duration
    opening = instance.first[:-1]
    ready = np.empty_like(start)
    ready[1:] = end[:-1]
    ready[opening] = instance.release
    if (early := start < ready).any():
        at = int(early.argmax())
        what = "the job is released" if at in opening else "the operation before it ends"
        raise Infeasible(f"{instance.place_of(at)} starts at {start[at]}; {what} at {ready[at]}")
    order = np.lexsort((end, start, machine))
    here, there = order[:-1], order[1:]
    if (overlap := (machine[here] == machine[there]) & (end[here] > start[there])).any():
        a, b = int(here[overlap][0]), int(there[overlap][0])
        on = f"machine {instance.machine_label(int(machine[a]))}"
        message = f"{on} does {instance.place_of(a)} until {end[a]} and {instance.place_of(b)} from {start[b]}"
        raise Infeasible(message)
    if instance.rules is not None:
        check_rules(instance, start, machine, duration, instance.place_of)
    return Schedule(start, machine)


def _arrays(instance: JobShopInstance, schedule: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the starts and machines of a schedule. Raises Infeasible for a wrong type, shape or range."""
    try:
        start, machine = (np.asarray(part) for part in schedule)
    except (TypeError, ValueError):
        raise Infeasible("a schedule is a pair: the starts and the machines of all operations") from None
    for what, array in (("starts", start), ("machines", machine)):
        if array.shape != (instance.operations,) or array.dtype.kind not in "iu":
            given = f"{array.dtype} of shape {list(array.shape)}"
            raise Infeasible(f"the {what} are {given}; accepted: {instance.operations} integers, one for every operation")
    if (outside := (start < 0) | (start > _LATEST)).any():
        at = int(outside.argmax())
        raise Infeasible(f"{instance.place_of(at)} starts at {start[at]}; accepted: 0 to 2**53")
    if (outside := (machine < 0) | (machine >= instance.machines)).any():
        at = int(outside.argmax())
        base = instance.first_machine
        accepted = f"accepted: {base} to {instance.machines - 1 + base}"
        raise Infeasible(f"{instance.place_of(at)} is on machine {machine[at] + base}; {accepted}")
    return start.astype(np.int64), machine.astype(np.int32)


def _durations(instance: JobShopInstance, machine: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the duration of each operation on its machine. Raises Infeasible for a machine that cannot process it."""
    counts = np.diff(instance.choice_first)
    chosen = instance.choice_machine == np.repeat(machine, counts)
    able = np.add.reduceat(chosen.astype(np.int64), instance.choice_first[:-1])
    if (able == 0).any():
        at = int((able == 0).argmax())
        accepted = ", ".join(instance.machine_label(choice) for choice, _ in instance.choices(at))
        where = instance.machine_label(int(machine[at]))
        raise Infeasible(f"{instance.place_of(at)} is on machine {where}; accepted: {accepted}")
    return np.asarray(instance.choice_duration[chosen], np.int64)


def schedule_of_orders(instance: JobShopInstance, orders: Sequence[ArrayLike]) -> Schedule:
    """Return the schedule that starts everything as early as the orders of the machines allow.

    orders[m] lists the operations (flat numbers) that machine m processes, in order; each operation is in one of them.
    Raises Infeasible if one is missing, listed twice, on a machine that cannot process it, or waits for itself in a cycle.
    """
    if len(orders) != instance.machines:
        raise Infeasible(f"there are orders of {len(orders)} machines; accepted: {instance.machines}")
    machine = np.full(instance.operations, -1, np.int32)
    before = np.full(instance.operations, -1, np.int64)
    for m, order in enumerate(orders):
        previous = -1
        for operation in np.asarray(order, np.int64).tolist():
            if not 0 <= operation < instance.operations:
                raise Infeasible(f"operation {operation} is not in the instance; accepted: 0 to {instance.operations - 1}")
            if machine[operation] >= 0:
                raise Infeasible(f"{instance.place_of(operation)} is done twice")
            machine[operation], before[operation], previous = m, previous, operation
    if (machine < 0).any():
        raise Infeasible(f"{instance.place_of(int((machine < 0).argmax()))} is not done")
    return Schedule(_earliest(instance, machine, before), machine)


def _earliest(instance: JobShopInstance, machine: NDArray[np.int32], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least starts if `before` is each operation's predecessor on its machine (-1: none)."""
    duration, job = _durations(instance, machine), instance.job
    opening = set(instance.first[:-1].tolist())
    after: list[list[int]] = [[] for _ in range(instance.operations)]
    predecessors_left = np.zeros(instance.operations, np.int64)
    for i in range(instance.operations):
        for earlier in ([] if i in opening else [i - 1]) + ([] if before[i] < 0 else [int(before[i])]):
            after[earlier].append(i)
            predecessors_left[i] += 1
    start = np.zeros(instance.operations, np.int64)
    for i in opening:
        start[i] = instance.release[job[i]]
    ready = np.flatnonzero(predecessors_left == 0).tolist()
    done = 0
    while ready:
        i = ready.pop()
        done += 1
        for later in after[i]:
            start[later] = max(start[later], start[i] + duration[i])
            predecessors_left[later] -= 1
            if predecessors_left[later] == 0:
                ready.append(later)
    if done < instance.operations:
        at = int((predecessors_left > 0).argmax())
        raise Infeasible(f"{instance.place_of(at)} waits for itself: the orders of the machines make a cycle")
    return start
