"""Gantt charts with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import whole_ticks
from corl.problems.jobshop.evaluation import check_schedule, completion, objective
from corl.problems.jobshop.instance import JobShopInstance, Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_schedule"]

_LABELLED = 400  # operations up to which a bar may carry its job's number
_NAMED = 60  # machines or jobs up to which every row has its number
_DUE = "#24292f"


def draw_schedule(instance: JobShopInstance, solution: Any, axes: Axes) -> None:
    """Draw a schedule: a row a machine, a bar an operation, a colour a job; the title gives its value.

    Without a solution the rows are jobs and the bars their operations one after the other, coloured by machine (of several
    the quickest), from the release date on, with a mark at the due date.
    """
    if solution is None:
        return _draw_jobs(instance, axes)
    schedule = check_schedule(instance, solution)
    _bars(instance, schedule, schedule.machine, instance.job, instance.jobs, axes)
    end = completion(instance, schedule)
    late: NDArray[np.int64] = np.zeros(0, np.int64)
    if instance.objective != "makespan" and instance.due is not None:
        late = np.flatnonzero(end > instance.due)
        for j in late:
            last = int(instance.first[j + 1]) - 1
            axes.plot([end[j]] * 2, [schedule.machine[last] - 0.45, schedule.machine[last] + 0.45], color=_DUE, linewidth=1.5)
    axes.set_xlabel("time; a bar's number: its job" + ("; a black line: the end of a late job" if len(late) else ""))
    axes.set_ylabel("machine")
    _rows(axes, instance.machines, instance.first_machine)
    what = "makespan" if instance.objective == "makespan" else "weighted tardiness"
    axes.set_title(f"{_title(instance)}, {what} {objective(instance, schedule):,.10g}")
    axes.set_xlim(0, max(1, int(end.max())))


def _draw_jobs(instance: JobShopInstance, axes: Axes) -> None:
    duration = instance.shortest.astype(np.int64)
    quickest = [min(instance.choices(i), key=lambda choice: choice[1])[0] for i in range(instance.operations)]
    before = np.cumsum(duration) - duration
    start = before - before[instance.first[:-1]][instance.job] + instance.release[instance.job]
    schedule = Schedule(start, np.array(quickest, np.int32))
    _bars(instance, schedule, instance.job, schedule.machine, instance.machines, axes)
    if instance.due is not None:
        axes.plot(instance.due, np.arange(instance.jobs), linestyle="", marker="|", color=_DUE)
    axes.set_xlabel("time; a bar's number: its machine" + ("; a mark: a due date" if instance.due is not None else ""))
    axes.set_ylabel("job")
    _rows(axes, instance.jobs, 0)
    axes.set_title(_title(instance))


def _bars(instance: JobShopInstance, schedule: Schedule, row: Any, hue: Any, hues: int, axes: Axes) -> None:
    """One bar for each operation at height row[i] in the colour of hue[i]."""
    import matplotlib

    counts = np.diff(instance.choice_first)
    chosen = instance.choice_machine == np.repeat(schedule.machine, counts)
    duration = instance.choice_duration[chosen]
    # the golden ratio's steps round the colour wheel keep neighbours apart, however many there are
    colours = matplotlib.colormaps["hsv"]((np.arange(hues) * 0.6180339887) % 1.0) * [0.8, 0.8, 0.8, 1.0]
    line = 0.4 if instance.operations <= 2000 else 0.0
    axes.barh(row, duration, left=schedule.start, height=0.9, color=colours[hue], edgecolor="white", linewidth=line)
    if instance.operations <= _LABELLED:
        span = float((schedule.start + duration).max()) or 1.0
        for i in np.flatnonzero(duration > 0.02 * span):
            middle = schedule.start[i] + duration[i] / 2
            axes.text(middle, row[i], str(hue[i]), ha="center", va="center", fontsize=6, color="white")
    whole_ticks(axes, "x")


def _rows(axes: Axes, count: int, first: int) -> None:
    if count <= _NAMED:
        axes.set_yticks(range(count), [str(k + first) for k in range(count)])
    axes.set_ylim(count - 0.4, -0.6)


def _title(instance: JobShopInstance) -> str:
    return f"{instance.name or 'job shop'}: {instance.jobs:,} jobs, {instance.machines:,} machines"
