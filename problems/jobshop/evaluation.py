"""The judge: whether a schedule satisfies every constraint, and its objective value. It shares no code with the solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import Infeasible
from corl.problems.jobshop.change_costs import cost_of_changes
from corl.problems.jobshop.evaluation_resumable import resumed_ends
from corl.problems.jobshop.evaluation_rules import check_rules, early_by
from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["check", "completion", "ends", "objective", "schedule_of_orders"]

_LATEST_START = 2**53  # up to here float64 represents every integer


def objective(instance: JobShopInstance, solution: Any) -> float:
    """Return the objective value: the makespan, the weighted tardiness, or the sum of weighted earliness and tardiness; and with
    costs of changes (change_costs.py) these as well.

    Raises Infeasible, naming the first violated constraint.
    """
    schedule = check(instance, solution)
    end, changes = completion(instance, schedule), cost_of_changes(instance, schedule)
    if instance.objective == "makespan":
        return float(end.max() + changes)
    assert instance.due is not None
    dates = zip(instance.weight.tolist(), end.tolist(), instance.due.tolist())
    tardiness = changes + sum(weight * max(0, end_of_job - due) for weight, end_of_job, due in dates)
    return float(tardiness + early_by(instance, end) if instance.objective == "earliness_tardiness" else tardiness)


def completion(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    """Return when each job of a feasible schedule ends, int64 [jobs]."""
    return ends(instance, schedule)[instance.first[1:] - 1]


def ends(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    """Return when each operation of a feasible schedule ends, int64 [operations]; a resumable one includes breaks."""
    return resumed_ends(instance.rules, schedule.start, schedule.machine, _durations(instance, schedule.machine))


def check(instance: JobShopInstance, solution: Any) -> Schedule:
    """Return `solution`, a pair (start, machine), as arrays of int64 and int32. Raises Infeasible, naming the first fault.

    The rules: every operation is on a machine that can process it. It starts no earlier than its predecessor in the job ends; the
    first operation of a job starts no earlier than the release date. Of two operations on a machine, one ends no later than the
    other starts, so an operation of duration zero may lie between two others, but not inside one. Side constraints, if the
    instance has any, are checked last.
    """
    start, machine = _arrays(instance, solution)
    end = ends(instance, Schedule(start, machine))
    first_operations = instance.first[:-1]
    ready = np.empty_like(start)
    ready[1:] = end[:-1]
    ready[first_operations] = instance.release
    if (early := start < ready).any():
        at = int(early.argmax())
        what = "the job is released" if at in first_operations else "the operation before it ends"
        raise Infeasible(f"{instance.place_of(at)} starts at {start[at]}; {what} at {ready[at]}")
    order = np.lexsort((end, start, machine))
    before, after = order[:-1], order[1:]
    if (overlap := (machine[before] == machine[after]) & (end[before] > start[after])).any():
        a, b = int(before[overlap][0]), int(after[overlap][0])
        on = f"machine {instance.machine_label(int(machine[a]))}"
        message = f"{on} does {instance.place_of(a)} until {end[a]} and {instance.place_of(b)} from {start[b]}"
        raise Infeasible(message)
    if instance.rules is not None:
        check_rules(instance, start, machine, end, instance.place_of)
    return Schedule(start, machine)


def _arrays(instance: JobShopInstance, schedule: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the starts and machines of a schedule as arrays. Raises Infeasible for a wrong type, shape or range."""
    try:
        start, machine = (np.asarray(part) for part in schedule)
    except (TypeError, ValueError):
        raise Infeasible("a schedule is a pair: the starts and the machines of all operations") from None
    for what, array in (("starts", start), ("machines", machine)):
        if array.shape != (instance.operations,) or array.dtype.kind not in "iu":
            given = f"{array.dtype} of shape {list(array.shape)}"
            raise Infeasible(f"the {what} are {given}; accepted: {instance.operations} integers, one for every operation")
    if (outside := (start < 0) | (start > _LATEST_START)).any():
        at = int(outside.argmax())
        raise Infeasible(f"{instance.place_of(at)} starts at {start[at]}; accepted: 0 to 2**53")
    if (outside := (machine < 0) | (machine >= instance.machines)).any():
        at = int(outside.argmax())
        base = instance.first_machine
        accepted = f"accepted: {base} to {instance.machines - 1 + base}"
        raise Infeasible(f"{instance.place_of(at)} is on machine {machine[at] + base}; {accepted}")
    return start.astype(np.int64), machine.astype(np.int32)


def _durations(instance: JobShopInstance, machine: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the duration of each operation on its machine, int64 [operations].

    Raises Infeasible if a machine cannot process its operation.
    """
    counts = np.diff(instance.choice_first)
    chosen = instance.choice_machine == np.repeat(machine, counts)
    chosen_count = np.add.reduceat(chosen.astype(np.int64), instance.choice_first[:-1])
    if (chosen_count == 0).any():
        at = int((chosen_count == 0).argmax())
        accepted = ", ".join(instance.machine_label(choice) for choice, _ in instance.choices(at))
        where = instance.machine_label(int(machine[at]))
        raise Infeasible(f"{instance.place_of(at)} is on machine {where}; accepted: {accepted}")
    return np.asarray(instance.choice_duration[chosen], np.int64)


def schedule_of_orders(instance: JobShopInstance, orders: Sequence[ArrayLike]) -> Schedule:
    """Return the schedule that starts every operation as early as the sequences of the machines allow.

    orders[m] lists the operations, by their numbers in the instance, that machine m processes, in order. Raises Infeasible if an
    operation is missing, listed twice, on a machine that cannot process it, or waits for itself in a cycle.
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
    """Return the earliest starts, int64 [operations]; before[i] is the predecessor of operation i on its machine, or -1."""
    duration, job = _durations(instance, machine), instance.job
    first_operations = set(instance.first[:-1].tolist())
    successors: list[list[int]] = [[] for _ in range(instance.operations)]
    unscheduled_predecessors = np.zeros(instance.operations, np.int64)
    for i in range(instance.operations):
        for earlier in ([] if i in first_operations else [i - 1]) + ([] if before[i] < 0 else [int(before[i])]):
            successors[earlier].append(i)
            unscheduled_predecessors[i] += 1
    start = np.zeros(instance.operations, np.int64)
    for i in first_operations:
        start[i] = instance.release[job[i]]
    ready = np.flatnonzero(unscheduled_predecessors == 0).tolist()
    scheduled = 0
    while ready:
        i = ready.pop()
        scheduled += 1
        for later in successors[i]:
            start[later] = max(start[later], start[i] + duration[i])
            unscheduled_predecessors[later] -= 1
            if unscheduled_predecessors[later] == 0:
                ready.append(later)
    if scheduled < instance.operations:
        at = int((unscheduled_predecessors > 0).argmax())
        raise Infeasible(f"{instance.place_of(at)} waits for itself: the orders of the machines make a cycle")
    return start
