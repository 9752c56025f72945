"""Gantt charts of schedules: with matplotlib, and as scenes for pages, in which the critical operations are marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import whole_ticks
from corl.problems.jobshop.evaluation import check, completion, ends, objective
from corl.problems.jobshop.evaluation_rules import setup_begin, setups_before
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from corl.view.scene import Group, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["critical", "draw", "scene"]

_LABELLED = 400  # the most operations for which bars are labelled with their jobs
_NAMED = 60  # the most machines or jobs for which rows are labelled
_SHORT = 10  # the most characters of a name on a bar
_DUE = "#24292f"
_BREAK = "#d0d7de"


def draw(instance: JobShopInstance, solution: Any, axes: Axes) -> None:
    """Draw a schedule: one row per machine, one bar per operation, one colour per job; the title states the objective value.

    Breaks of machines are grey, set-ups hatched, fixed operations framed, and a dotted line marks the present time.

    Without a solution there is one row per job: its operations without waiting from its release date on, coloured by machine (the
    quickest one), with a mark at the due date.
    """
    if solution is None:
        return _draw_jobs(instance, axes)
    schedule = check(instance, solution)
    _bars(instance, schedule, schedule.machine, instance.job, _jobs(instance), axes)
    legend = [] if instance.rules is None else _rules(instance, instance.rules, schedule, axes)
    end = completion(instance, schedule)
    late: NDArray[np.int64] = np.zeros(0, np.int64)
    if instance.objective != "makespan" and instance.due is not None:
        late = np.flatnonzero(end > instance.due)
        for j in late:
            last = int(instance.first[j + 1]) - 1
            axes.plot([end[j]] * 2, [schedule.machine[last] - 0.45, schedule.machine[last] + 0.45], color=_DUE, linewidth=1.5)
    label = "time; a bar's text: its job" + ("; a black line: the end of a late job" if len(late) else "")
    axes.set_xlabel(label + ("\n" + "; ".join(legend) if legend else ""))
    axes.set_ylabel("machine")
    _rows(axes, _machines(instance))
    what = instance.objective.replace("earliness_", "earliness and ").replace("_", " ")
    axes.set_title(f"{_title(instance)}, {what} {objective(instance, schedule):,.10g}")
    axes.set_xlim(0, max(1, int(end.max())))


def _rules(instance: JobShopInstance, rules: SideConstraints, schedule: Schedule, axes: Axes) -> list[str]:
    """Add the side constraints to a Gantt chart; return the meaning of each mark."""
    legend, last = [], int(ends(instance, schedule).max())
    for machine, begin, end in [] if rules.unavailable is None else rules.unavailable.tolist():
        if begin < last:
            axes.barh(machine, min(end, last) - begin, left=begin, height=0.98, color=_BREAK, zorder=0)
            legend = ["grey: not available"]
    setups = [(i, length) for i, _, length in setups_before(instance, schedule.start, schedule.machine) if length]
    for i, length in setups:
        begin = setup_begin(instance, schedule, i, length)
        axes.barh(schedule.machine[i], length, left=begin, height=0.5, color="white", edgecolor=_DUE, hatch="////", linewidth=0.5)
    legend += ["hatched: a set-up"] if setups else []
    fixed = rules.fixed
    if len(fixed):
        lengths, where = (ends(instance, schedule) - schedule.start)[fixed], schedule.machine[fixed]
        axes.barh(where, lengths, left=schedule.start[fixed], height=0.9, color="none", edgecolor=_DUE, linewidth=1.5)
        legend.append("framed: fixed")
    if rules.now:
        axes.axvline(rules.now, color=_DUE, linestyle=":", linewidth=1.0)
        legend.append("dotted: now")
    return legend


def _draw_jobs(instance: JobShopInstance, axes: Axes) -> None:
    """Draw the operations of each job one after the other, coloured by machine."""
    duration = instance.shortest.astype(np.int64)
    quickest = [min(instance.choices(i), key=lambda choice: choice[1])[0] for i in range(instance.operations)]
    before = np.cumsum(duration) - duration
    start = before - before[instance.first[:-1]][instance.job] + instance.release[instance.job]
    schedule = Schedule(start, np.array(quickest, np.int32))
    _bars(instance, schedule, instance.job, schedule.machine, _machines(instance), axes)
    if instance.due is not None:
        axes.plot(instance.due, np.arange(instance.jobs), linestyle="", marker="|", color=_DUE)
    axes.set_xlabel("time; a bar's text: its machine" + ("; a mark: a due date" if instance.due is not None else ""))
    axes.set_ylabel("job")
    _rows(axes, _jobs(instance))
    axes.set_title(_title(instance))


def _bars(instance: JobShopInstance, schedule: Schedule, row: Any, hue: Any, hues: Sequence[str], axes: Axes) -> None:
    """Draw one bar for each operation i, at height row[i], in the colour of hues[hue[i]] and labelled by its first characters."""
    import matplotlib

    counts = np.diff(instance.choice_first)
    chosen = instance.choice_machine == np.repeat(schedule.machine, counts)
    duration = instance.choice_duration[chosen]
    # steps of the golden ratio round the colour wheel keep the colours of neighbours apart for any number of hues
    colours = matplotlib.colormaps["hsv"]((np.arange(len(hues)) * 0.6180339887) % 1.0) * [0.8, 0.8, 0.8, 1.0]
    line = 0.4 if instance.operations <= 2000 else 0.0
    axes.barh(row, duration, left=schedule.start, height=0.9, color=colours[hue], edgecolor="white", linewidth=line)
    if instance.operations <= _LABELLED:
        span = float((schedule.start + duration).max()) or 1.0
        for i in np.flatnonzero(duration > 0.02 * span):
            middle = schedule.start[i] + duration[i] / 2
            axes.text(middle, row[i], hues[hue[i]][:_SHORT], ha="center", va="center", fontsize=6, color="white")
    whole_ticks(axes, "x")


def _rows(axes: Axes, names: Sequence[str]) -> None:
    if len(names) <= _NAMED:
        axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _jobs(instance: JobShopInstance) -> Sequence[str]:
    return instance.job_names or [str(job) for job in range(instance.jobs)]


def _machines(instance: JobShopInstance) -> Sequence[str]:
    return instance.machine_names or [str(machine + instance.first_machine) for machine in range(instance.machines)]


def _title(instance: JobShopInstance) -> str:
    return f"{instance.name or 'job shop'}: {instance.jobs:,} jobs, {instance.machines:,} machines"


def scene(instance: JobShopInstance, solution: Any) -> Scene | None:
    """Return a scene with one row per machine, one box per operation and one group per job; None without a solution."""
    if solution is None:
        return None
    schedule = check(instance, solution)
    duration, end = _durations(instance, schedule), completion(instance, schedule)
    scene = Scene(f"{instance.name or 'job shop'}: {instance.jobs:,} jobs on {instance.machines:,} machines", "time", "machine")
    scene.rows = instance.machine_names or [str(machine + instance.first_machine) for machine in range(instance.machines)]
    scene.marked = "a critical operation: a delay of it delays the end of the last job"
    scene.head = ("job", "operations", "starts", "ends") + (("due", "late") if instance.due is not None else ())
    scene.steps_head = ("operation", "machine", "start", "end")
    marked = critical(instance, schedule, duration)
    if instance.rules is not None:
        _add_rules(instance, instance.rules, schedule, int(end.max()), scene)
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


def _add_rules(instance: JobShopInstance, rules: SideConstraints, schedule: Schedule, last: int, scene: Scene) -> None:
    """Add boxes without a group for breaks of machines and set-ups, and a note of the side constraints and the present time."""
    for machine, begin, end in [] if rules.unavailable is None else rules.unavailable.tolist():
        if begin < last:
            text = f"\nnot available from {begin}" + (f" to {end}" if end < FOREVER else " on")
            scene.boxes.append((begin, machine, min(end, last) - begin, 1, text, -1, False))
    for i, _, length in setups_before(instance, schedule.start, schedule.machine):
        if length:
            begin = setup_begin(instance, schedule, i, length)
            scene.boxes.append((begin, int(schedule.machine[i]), length, 1, f"S\nset-up: {begin} to {begin + length}", -1, False))
    legend = [rules.names] if rules.names else []
    scene.note = "; ".join(", ".join(names) for names in legend) + (f"; now is {rules.now}" if rules.now else "")


def critical(instance: JobShopInstance, schedule: Schedule, duration: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which operations are critical, bool [operations].

    These are the operations on a chain along jobs and machines, without gaps except set-ups, that ends at the makespan.
    """
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
