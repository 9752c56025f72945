"""What a page shows of a schedule: a Gantt chart with the critical operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.evaluation import check_schedule, completion
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.view.scene import Group, Scene

__all__ = ["critical", "scene_of"]


def scene_of(instance: JobShopInstance, solution: Any) -> Scene | None:
    """A row a machine, a box an operation, a group a job; without a solution there is nothing to see."""
    if solution is None:
        return None
    schedule = check_schedule(instance, solution)
    duration, end = _durations(instance, schedule), completion(instance, schedule)
    scene = Scene(f"{instance.name or 'job shop'}: {instance.jobs:,} jobs on {instance.machines:,} machines", "time", "machine")
    scene.rows = [str(machine + instance.first_machine) for machine in range(instance.machines)]
    scene.marked = "a critical operation: were it later, so would be the last job that ends"
    scene.head = ("job", "operations", "starts", "ends") + (("due", "late") if instance.due is not None else ())
    scene.steps_head = ("operation", "machine", "start", "end")
    marked = critical(instance, schedule, duration)
    end_of = schedule.start + duration
    for i in range(instance.operations):
        job, start = int(instance.job[i]), int(schedule.start[i])
        step = i - int(instance.first[job])
        text = f"{job}\noperation {step + 1} of job {job}: {start} to {start + duration[i]}"
        scene.boxes.append((start, int(schedule.machine[i]), int(duration[i]), 1, text, job, bool(marked[i])))
    for job in range(instance.jobs):
        first, last = int(instance.first[job]), int(instance.first[job + 1])
        cells: list[Any] = [f"job {job}", last - first, int(schedule.start[first]), int(end[job])]
        if instance.due is not None:
            cells += [int(instance.due[job]), max(0, int(end[job] - instance.due[job]))]
        scene.groups.append(Group(cells, [
            (i - first + 1, int(schedule.machine[i]) + instance.first_machine, int(schedule.start[i]), int(end_of[i]))
            for i in range(first, last)
        ]))  # fmt: skip
    return scene


def critical(instance: JobShopInstance, schedule: Schedule, duration: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool [operations]: those on a chain without a gap, along jobs and machines, to the end of the last job."""
    end, found = schedule.start + duration, np.zeros(instance.operations, bool)
    order = np.lexsort((np.arange(instance.operations), schedule.start, schedule.machine))
    same = schedule.machine[order[1:]] == schedule.machine[order[:-1]]
    before_on_machine = np.full(instance.operations, -1)
    before_on_machine[order[1:][same]] = order[:-1][same]
    waiting = np.flatnonzero(end == end.max()).tolist()
    while waiting:
        i = waiting.pop()
        if found[i]:
            continue
        found[i] = True
        before = [int(before_on_machine[i])] + ([i - 1] if i > instance.first[instance.job[i]] else [])
        waiting += [k for k in before if k >= 0 and end[k] == schedule.start[i]]
    return found


def _durations(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    chosen = instance.choice_machine == np.repeat(schedule.machine, np.diff(instance.choice_first))
    duration: NDArray[np.int64] = instance.choice_duration[chosen].astype(np.int64)
    return duration
