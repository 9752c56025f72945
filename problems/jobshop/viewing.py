"""What a page shows of a schedule: a Gantt chart with the critical operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.evaluation import check, completion
from corl.problems.jobshop.evaluation_rules import setup_begin, setups_before
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import FOREVER, Rules
from corl.view.scene import Group, Scene

__all__ = ["critical", "scene_of"]


def scene_of(instance: JobShopInstance, solution: Any) -> Scene | None:
    """A row a machine, a box an operation, a group a job; without a solution there is nothing to see."""
    if solution is None:
        return None
    schedule = check(instance, solution)
    duration, end = _durations(instance, schedule), completion(instance, schedule)
    scene = Scene(f"{instance.name or 'job shop'}: {instance.jobs:,} jobs on {instance.machines:,} machines", "time", "machine")
    scene.rows = instance.machine_names or [str(machine + instance.first_machine) for machine in range(instance.machines)]
    scene.marked = "a critical operation: were it later, so would be the last job that ends"
    scene.head = ("job", "operations", "starts", "ends") + (("due", "late") if instance.due is not None else ())
    scene.steps_head = ("operation", "machine", "start", "end")
    marked = critical(instance, schedule, duration)
    if instance.rules is not None:
        _rules(instance, instance.rules, schedule, int(end.max()), scene)
    end_of = schedule.start + duration
    fixed = set() if instance.rules is None else set(instance.rules.fixed.tolist())
    for i in range(instance.operations):
        job, start = int(instance.job[i]), int(schedule.start[i])
        step = i - int(instance.first[job])
        name = instance.job_names[job] if instance.job_names else str(job)
        text = f"{name}\noperation {step + 1} of job {name}: {start} to {start + duration[i]}" + (", fixed" if i in fixed else "")
        scene.boxes.append((start, int(schedule.machine[i]), int(duration[i]), 1, text, job, bool(marked[i])))
    for job in range(instance.jobs):
        first, last = int(instance.first[job]), int(instance.first[job + 1])
        cells: list[Any] = [
            instance.job_names[job] if instance.job_names else f"job {job}",
            last - first,
            int(schedule.start[first]),
            int(end[job]),
        ]
        if instance.due is not None:
            cells += [int(instance.due[job]), max(0, int(end[job] - instance.due[job]))]
        scene.groups.append(Group(cells, [
            (i - first + 1, _machine(instance, int(schedule.machine[i])), int(schedule.start[i]), int(end_of[i]))
            for i in range(first, last)
        ]))  # fmt: skip
    return scene


def _machine(instance: JobShopInstance, machine: int) -> str | int:
    return instance.machine_names[machine] if instance.machine_names else machine + instance.first_machine


def _rules(instance: JobShopInstance, rules: Rules, schedule: Schedule, last: int, scene: Scene) -> None:
    """Boxes of nobody's: when machines are not available, and set-ups; a line where it is now."""
    for machine, begin, end in [] if rules.unavailable is None else rules.unavailable.tolist():
        if begin < last:
            text = f"\nnot available from {begin}" + (f" to {end}" if end < FOREVER else " on")
            scene.boxes.append((begin, machine, min(end, last) - begin, 1, text, -1, False))
    for i, _, length in setups_before(instance, schedule.start, schedule.machine):
        if length:
            begin = setup_begin(instance, schedule, i, length)
            scene.boxes.append((begin, int(schedule.machine[i]), length, 1, f"S\nset-up: {begin} to {begin + length}", -1, False))
    told = [rules.names] if rules.names else []
    scene.note = "; ".join(", ".join(names) for names in told) + (f"; now is {rules.now}" if rules.now else "")


def critical(instance: JobShopInstance, schedule: Schedule, duration: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool [operations]: those on a chain without a gap, but for set-ups, along jobs and machines, to the end of the last job."""
    end, found = schedule.start + duration, np.zeros(instance.operations, bool)
    order = np.lexsort((np.arange(instance.operations), schedule.start, schedule.machine))
    same = schedule.machine[order[1:]] == schedule.machine[order[:-1]]
    before_on_machine = np.full(instance.operations, -1)
    before_on_machine[order[1:][same]] = order[:-1][same]
    setup = {i: length for i, _, length in setups_before(instance, schedule.start, schedule.machine)}
    waiting = np.flatnonzero(end == end.max()).tolist()
    while waiting:
        i = waiting.pop()
        if found[i]:
            continue
        found[i] = True
        before = [(int(before_on_machine[i]), setup.get(i, 0))] + ([(i - 1, 0)] if i > instance.first[instance.job[i]] else [])
        waiting += [k for k, gap in before if k >= 0 and end[k] + gap == schedule.start[i]]
    return found


def _durations(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    chosen = instance.choice_machine == np.repeat(schedule.machine, np.diff(instance.choice_first))
    duration: NDArray[np.int64] = instance.choice_duration[chosen].astype(np.int64)
    return duration
