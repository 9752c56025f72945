"""Gantt charts of schedules: with matplotlib, and as scenes for pages, in which the critical operations are marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import whole_ticks
from corl.problems.jobshop.drawing_resources import add_rows, awaited, draw_rows
from corl.problems.jobshop.evaluation import check, completion, ends, objective
from corl.problems.jobshop.evaluation_blocking import departures
from corl.problems.jobshop.evaluation_resumable import worked_intervals
from corl.problems.jobshop.evaluation_rules import setup_begin, setups_before
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.resources import row_labels
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from corl.view.scene import SETUP, Group, Play, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["critical", "draw", "scene"]

_MAX_LABELLED_BARS = 400
_MAX_LABELLED_ROWS = 60
_MAX_CHARACTERS = 10  # of a label on a bar
_DARK = "#24292f"
_GREY, _AMBER = "#d0d7de", "#d9962b"


def draw(instance: JobShopInstance, solution: Any, axes: Axes) -> None:
    """Draw a schedule: one row per machine, one bar per operation, one colour per job; the title states the objective value.

    Breaks of machines are grey, also within the bar of an operation that stops there; set-ups are amber and hatched, fixed
    operations are framed, and a dotted line marks the present time. A thin white bar shows that a job blocks its machine. Below
    the machines there is a row per resource with the units in use.

    If `solution` is None, there is one row per job: its operations from the release date on, without waiting, each on its fastest
    machine and coloured by that machine. A mark shows the due date.
    """
    if solution is None:
        return _draw_jobs(instance, axes)
    schedule = check(instance, solution)
    duration = _durations(instance, schedule)
    _draw_bars(instance, schedule, duration, schedule.machine, instance.job, _job_labels(instance), axes)
    legend = [] if instance.rules is None else _draw_rules(instance, instance.rules, schedule, axes)
    end = completion(instance, schedule)
    late: NDArray[np.int64] = np.zeros(0, np.int64)
    if instance.objective != "makespan" and instance.due is not None:
        late = np.flatnonzero(end > instance.due)
        for j in late:
            last = int(instance.first[j + 1]) - 1
            axes.plot([end[j]] * 2, [schedule.machine[last] - 0.45, schedule.machine[last] + 0.45], color=_DARK, linewidth=1.5)
    label = "time; a bar's text: its job" + ("; a black line: the end of a late job" if len(late) else "")
    axes.set_xlabel(label + ("\n" + "; ".join(legend) if legend else ""))
    axes.set_ylabel("machine")
    _label_rows(axes, _all_labels(instance))
    what = instance.objective.replace("earliness_", "earliness and ").replace("_", " ")
    axes.set_title(f"{_title(instance)}, {what} {objective(instance, schedule):,.10g}")
    axes.set_xlim(0, max(1, int(end.max())))


def _draw_rules(instance: JobShopInstance, rules: SideConstraints, schedule: Schedule, axes: Axes) -> list[str]:
    """Draw the side constraints in a Gantt chart; return the entries of its legend."""
    legend, last = [], int(ends(instance, schedule).max())
    for machine, begin, end in [] if rules.unavailable is None else rules.unavailable.tolist():
        if begin < last:
            axes.barh(machine, min(end, last) - begin, left=begin, height=0.98, color=_GREY, zorder=0)
            legend = ["grey: not available"]
    legend += _draw_stays(instance, rules, schedule, axes)
    setups = [(i, length) for i, _, length in setups_before(instance, schedule.start, schedule.machine) if length]
    for i, length in setups:
        begin = setup_begin(instance, schedule, i, length)
        style: dict[str, Any] = {"color": _AMBER, "edgecolor": _DARK, "hatch": "////", "linewidth": 0.5}
        axes.barh(schedule.machine[i], length, left=begin, height=0.5, **style)
    legend += ["amber, hatched: a set-up"] if setups else []
    fixed = rules.fixed
    if len(fixed):
        lengths, where = (ends(instance, schedule) - schedule.start)[fixed], schedule.machine[fixed]
        axes.barh(where, lengths, left=schedule.start[fixed], height=0.9, color="none", edgecolor=_DARK, linewidth=1.5)
        legend.append("framed: fixed")
    if rules.now:
        axes.axvline(rules.now, color=_DARK, linestyle=":", linewidth=1.0)
        legend.append("dotted: now")
    return legend + draw_rows(instance, rules, schedule, axes)


def _draw_stays(instance: JobShopInstance, rules: SideConstraints, schedule: Schedule, axes: Axes) -> list[str]:
    """Draw over the bars the breaks at which operations stop, and after them the stays of jobs that block their machines.

    Returns the entries of the legend.
    """
    end, legend = ends(instance, schedule), []
    leaves = departures(rules, schedule.start, end)
    style: dict[str, Any] = {"color": "white", "edgecolor": _DARK, "alpha": 0.6, "linewidth": 0.5}
    for i, m in enumerate(schedule.machine.tolist()):
        worked = list(worked_intervals(rules, i, m, int(schedule.start[i]), int(end[i])))
        for (_, stops), (goes_on, _) in pairwise(worked):
            axes.barh(m, goes_on - stops, left=stops, height=0.7, color=_GREY)
            legend.append("grey within a bar: a break at which an operation stops")
        if leaves[i] > end[i]:
            axes.barh(m, leaves[i] - end[i], left=end[i], height=0.3, **style)
            legend.append("a thin white bar: a job blocks its machine")
    return list(dict.fromkeys(legend))


def _draw_jobs(instance: JobShopInstance, axes: Axes) -> None:
    """Draw the operations of each job one after the other, coloured by machine."""
    duration = instance.shortest.astype(np.int64)
    fastest = [min(instance.choices(i), key=lambda choice: choice[1])[0] for i in range(instance.operations)]
    before = np.cumsum(duration) - duration
    start = before - before[instance.first[:-1]][instance.job] + instance.release[instance.job]
    schedule = Schedule(start, np.array(fastest, np.int32))
    _draw_bars(instance, schedule, duration, instance.job, schedule.machine, _machine_labels(instance), axes)
    if instance.due is not None:
        axes.plot(instance.due, np.arange(instance.jobs), linestyle="", marker="|", color=_DARK)
    axes.set_xlabel("time; a bar's text: its machine" + ("; a mark: a due date" if instance.due is not None else ""))
    axes.set_ylabel("job")
    _label_rows(axes, _job_labels(instance))
    axes.set_title(_title(instance))


def _draw_bars(
    instance: JobShopInstance, schedule: Schedule, duration: Any, row: Any, hue: Any, hues: Sequence[str], axes: Axes
) -> None:
    """Draw one bar per operation.

    Args:
        instance: The instance.
        schedule: Start and machine of each operation.
        duration: int [operations], the length of each bar.
        row: int [operations], the row of each operation's bar.
        hue: int [operations], the colour of each bar, as an index into `hues`.
        hues: The text that each colour stands for; its first characters label the bars of that colour.
        axes: Where the bars are drawn.
    """
    import matplotlib

    # steps of a golden ratio of the colour wheel make consecutive colours differ, for any number of colours
    colours = matplotlib.colormaps["hsv"]((np.arange(len(hues)) * 0.6180339887) % 1.0) * [0.8, 0.8, 0.8, 1.0]
    line = 0.4 if instance.operations <= 2000 else 0.0
    axes.barh(row, duration, left=schedule.start, height=0.9, color=colours[hue], edgecolor="white", linewidth=line)
    if instance.operations <= _MAX_LABELLED_BARS:
        span = float((schedule.start + duration).max()) or 1.0
        for i in np.flatnonzero(duration > 0.02 * span):
            middle = schedule.start[i] + duration[i] / 2
            axes.text(middle, row[i], hues[hue[i]][:_MAX_CHARACTERS], ha="center", va="center", fontsize=6, color="white")
    whole_ticks(axes, "x")


def _label_rows(axes: Axes, names: Sequence[str]) -> None:
    """Label the rows with their names unless there are too many, and put the first row at the top."""
    if len(names) <= _MAX_LABELLED_ROWS:
        axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _job_labels(instance: JobShopInstance) -> Sequence[str]:
    return instance.job_names or [str(job) for job in range(instance.jobs)]


def _machine_labels(instance: JobShopInstance) -> Sequence[str]:
    return instance.machine_names or [str(machine + instance.first_machine) for machine in range(instance.machines)]


def _all_labels(instance: JobShopInstance) -> list[str]:
    """Return the labels of all rows: of the machines, then of the resources."""
    return [*_machine_labels(instance), *([] if instance.rules is None else row_labels(instance.rules))]


def _title(instance: JobShopInstance) -> str:
    return f"{instance.name or 'job shop'}: {instance.jobs:,} jobs, {instance.machines:,} machines"


def scene(instance: JobShopInstance, solution: Any) -> Scene | None:
    """Return a scene with one row per machine, one box per operation and one group per job; None without a solution."""
    if solution is None:
        return None
    schedule = check(instance, solution)
    duration, end = _durations(instance, schedule), completion(instance, schedule)
    scene = Scene(f"{instance.name or 'job shop'}: {instance.jobs:,} jobs on {instance.machines:,} machines", "time", "machine")
    scene.rows = _all_labels(instance)
    scene.marked = "a critical operation: a delay of it delays the end of the last job"
    scene.head = ("job", "operations", "starts", "ends") + (("due", "late") if instance.due is not None else ())
    scene.steps_head = ("operation", "machine", "start", "end")
    is_critical = critical(instance, schedule, duration)
    if instance.rules is not None:
        _add_rules(instance, instance.rules, schedule, int(end.max()), scene)
    end_of = schedule.start + duration
    leaves = departures(instance.rules, schedule.start, end_of)
    fixed = set() if instance.rules is None else set(instance.rules.fixed.tolist())
    scene.play = Play(0.0, float(end.max()), boxes=[(0.0, None)] * len(scene.boxes))
    for i in range(instance.operations):
        job, start = int(instance.job[i]), int(schedule.start[i])
        step = i - int(instance.first[job])
        name = instance.job_names[job] if instance.job_names else str(job)
        text = f"{name}\noperation {step + 1} of job {name}: {start} to {start + duration[i]}" + (", fixed" if i in fixed else "")
        text += f", stays until {leaves[i]}" if leaves[i] > end_of[i] else ""
        scene.boxes.append((start, int(schedule.machine[i]), int(duration[i]), 1, text, job, bool(is_critical[i])))
        scene.play.boxes.append((float(instance.release[job]), float(start)))
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
    """Add to a scene boxes for breaks, set-ups and resources, and a note with the side constraints and the present time.

    The boxes belong to no job. Breaks are cut at `last`, the end of the schedule.
    """
    for machine, begin, end in [] if rules.unavailable is None else rules.unavailable.tolist():
        if begin < last:
            text = f"\nnot available from {begin}" + (f" to {end}" if end < FOREVER else " on")
            scene.boxes.append((begin, machine, min(end, last) - begin, 1, text, -1, False))
    for i, _, length in setups_before(instance, schedule.start, schedule.machine):
        if length:
            begin = setup_begin(instance, schedule, i, length)
            scene.boxes.append(
                (begin, int(schedule.machine[i]), length, 1, f"S\nset-up: {begin} to {begin + length}", SETUP, False)
            )
    scene.boxes += add_rows(instance, rules, schedule)
    legend = [rules.names] if rules.names else []
    colours = {-1: "grey: not available", SETUP: "amber: a set-up"}
    legend += [[words] for group, words in colours.items() if any(box[5] == group for box in scene.boxes)]
    scene.note = "; ".join(", ".join(names) for names in legend) + (f"; now is {rules.now}" if rules.now else "")


def critical(instance: JobShopInstance, schedule: Schedule, duration: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which operations are critical, bool [operations].

    An operation that ends at the makespan is critical. So is the job or machine predecessor of a critical operation, if the
    critical operation starts as soon as the predecessor has ended and the set-up between them, if there is one, is done; and so
    are the operations that occupy a resource until then, if it would be overloaded by an earlier start. If the machine
    predecessor blocks the machine, the operation that starts when its job moves on is critical instead.
    """
    end, found = schedule.start + duration, np.zeros(instance.operations, bool)
    order = np.lexsort((np.arange(instance.operations), schedule.start, schedule.machine))
    same_machine = schedule.machine[order[1:]] == schedule.machine[order[:-1]]
    before_on_machine = np.full(instance.operations, -1)
    before_on_machine[order[1:][same_machine]] = order[:-1][same_machine]
    setup = {i: length for i, _, length in setups_before(instance, schedule.start, schedule.machine)}
    leaves = departures(instance.rules, schedule.start, end)
    to_visit = np.flatnonzero(end == end.max()).tolist()
    while to_visit:
        i = to_visit.pop()
        if found[i]:
            continue
        found[i] = True
        before, start = int(before_on_machine[i]), schedule.start[i]
        if i > instance.first[instance.job[i]] and end[i - 1] == start:
            to_visit.append(i - 1)
        if before >= 0 and leaves[before] + setup.get(i, 0) == start:
            to_visit.append(before if leaves[before] == end[before] else before + 1)
        to_visit += awaited(instance, schedule, i)
    return found


def _durations(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    """Return the time from start to end of each operation, int64 [operations], with the breaks at which it stops."""
    return ends(instance, schedule) - schedule.start
