"""Gantt charts with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import whole_ticks
from corl.problems.jobshop.evaluation import check, completion, ends, objective
from corl.problems.jobshop.evaluation_rules import setup_begin, setups_before
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import Rules

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_schedule"]

_LABELLED = 400  # operations up to which a bar may carry its job's number
_NAMED = 60  # machines or jobs up to which every row has its number
_SHORT = 10  # characters of a name on a bar
_DUE = "#24292f"
_BREAK = "#d0d7de"


def draw_schedule(instance: JobShopInstance, solution: Any, axes: Axes) -> None:
    """Draw a schedule: a row a machine, a bar an operation, a colour a job; the title gives its value. Of rules, grey is when a
    machine is not available, hatched a set-up, framed what is fixed, and a dotted line is now.

    Without a solution the rows are jobs and the bars their operations one after the other, coloured by machine (of several
    the quickest), from the release date on, with a mark at the due date.
    """
    if solution is None:
        return _draw_jobs(instance, axes)
    schedule = check(instance, solution)
    _bars(instance, schedule, schedule.machine, instance.job, _jobs(instance), axes)
    told = [] if instance.rules is None else _rules(instance, instance.rules, schedule, axes)
    end = completion(instance, schedule)
    late: NDArray[np.int64] = np.zeros(0, np.int64)
    if instance.objective != "makespan" and instance.due is not None:
        late = np.flatnonzero(end > instance.due)
        for j in late:
            last = int(instance.first[j + 1]) - 1
            axes.plot([end[j]] * 2, [schedule.machine[last] - 0.45, schedule.machine[last] + 0.45], color=_DUE, linewidth=1.5)
    label = "time; a bar's text: its job" + ("; a black line: the end of a late job" if len(late) else "")
    axes.set_xlabel(label + ("\n" + "; ".join(told) if told else ""))
    axes.set_ylabel("machine")
    _rows(axes, _machines(instance))
    what = instance.objective.replace("earliness_", "earliness and ").replace("_", " ")
    axes.set_title(f"{_title(instance)}, {what} {objective(instance, schedule):,.10g}")
    axes.set_xlim(0, max(1, int(end.max())))


def _rules(instance: JobShopInstance, rules: Rules, schedule: Schedule, axes: Axes) -> list[str]:
    """What the rules add to a Gantt chart; returns what each mark means."""
    told, last = [], int(ends(instance, schedule).max())
    for machine, begin, end in [] if rules.unavailable is None else rules.unavailable.tolist():
        if begin < last:
            axes.barh(machine, min(end, last) - begin, left=begin, height=0.98, color=_BREAK, zorder=0)
            told = ["grey: not available"]
    setups = [(i, length) for i, _, length in setups_before(instance, schedule.start, schedule.machine) if length]
    for i, length in setups:
        begin = setup_begin(instance, schedule, i, length)
        axes.barh(schedule.machine[i], length, left=begin, height=0.5, color="white", edgecolor=_DUE, hatch="////", linewidth=0.5)
    told += ["hatched: a set-up"] if setups else []
    fixed = rules.fixed
    if len(fixed):
        lengths, where = (ends(instance, schedule) - schedule.start)[fixed], schedule.machine[fixed]
        axes.barh(where, lengths, left=schedule.start[fixed], height=0.9, color="none", edgecolor=_DUE, linewidth=1.5)
        told.append("framed: fixed")
    if rules.now:
        axes.axvline(rules.now, color=_DUE, linestyle=":", linewidth=1.0)
        told.append("dotted: now")
    return told


def _draw_jobs(instance: JobShopInstance, axes: Axes) -> None:
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
    """One bar for each operation at height row[i] in the colour of hue[i], with the beginning of its name."""
    import matplotlib

    counts = np.diff(instance.choice_first)
    chosen = instance.choice_machine == np.repeat(schedule.machine, counts)
    duration = instance.choice_duration[chosen]
    # the golden ratio's steps round the colour wheel keep neighbours apart, however many there are
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
