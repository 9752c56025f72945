"""Gantt charts of sequences: with matplotlib, and as scenes for pages, in which the critical operations are marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import whole_ticks
from corl.problems.flowshop.evaluation import check, completion, objective
from corl.problems.flowshop.instance import FlowShopInstance
from corl.view.scene import Group, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "scene"]

_MAX_LABELLED_BARS = 400


def draw(instance: FlowShopInstance, solution: Any, axes: Axes) -> None:
    """Draw a sequence: one row per machine, one bar per operation, one colour per job; the title states the objective value.

    Without a solution, the jobs are in the order of the file.
    """
    import matplotlib

    sequence = np.arange(instance.jobs) if solution is None else check(instance, solution)
    end, duration = completion(instance, sequence), instance.duration[sequence]
    # steps of a golden ratio of the colour wheel make the colours of consecutive jobs differ, for any number of jobs
    colours = matplotlib.colormaps["hsv"]((sequence * 0.6180339887) % 1.0) * [0.8, 0.8, 0.8, 1.0]
    line = 0.4 if duration.size <= 2000 else 0.0
    for i in range(instance.machines):
        left = end[:, i] - duration[:, i]
        axes.barh(i, duration[:, i], left=left, height=0.9, color=colours, edgecolor="white", linewidth=line)
    last = max(1, int(end.max()))
    for k, i in np.argwhere(duration > 0.02 * last) if duration.size <= _MAX_LABELLED_BARS else ():
        middle = end[k, i] - duration[k, i] / 2
        axes.text(middle, i, str(sequence[k]), ha="center", va="center", fontsize=6, color="white")
    whole_ticks(axes, "x")
    axes.set_xlabel("time; a bar's number: its job")
    axes.set_ylabel("machine")
    axes.set_ylim(instance.machines - 0.4, -0.6)
    axes.set_xlim(0, last)
    title = f"{instance.name or 'flow shop'}: {instance.jobs:,} jobs, {instance.machines:,} machines"
    if solution is not None:
        title += f", {instance.objective.replace('_', ' ')} {objective(instance, sequence):,.10g}"
    axes.set_title(title)


def scene(instance: FlowShopInstance, solution: Any) -> Scene | None:
    """Return a scene with one row per machine, one box per operation and one group per job; None without a solution."""
    if solution is None:
        return None
    sequence = check(instance, solution)
    end, duration = completion(instance, sequence), instance.duration[sequence]
    scene = Scene(f"{instance.name or 'flow shop'}: {instance.jobs:,} jobs on {instance.machines:,} machines", "time", "machine")
    scene.rows = [str(i) for i in range(instance.machines)]
    scene.marked = "a critical operation: a delay of it delays the end of the last job"
    scene.head, scene.steps_head = ("job", "place", "starts", "ends"), ("machine", "start", "end")
    is_critical, start = _critical(instance, sequence, end), end - duration
    for k, job in enumerate(sequence.tolist()):
        for i in range(instance.machines):
            text = f"{job}\njob {job} on machine {i}: {start[k, i]} to {end[k, i]}"
            scene.boxes.append((int(start[k, i]), i, int(duration[k, i]), 1, text, k, bool(is_critical[k, i])))
        steps = [(i, int(start[k, i]), int(end[k, i])) for i in range(instance.machines)]
        scene.groups.append(Group((f"job {job}", k + 1, int(start[k, 0]), int(end[k, -1])), steps))
    return scene


def _critical(instance: FlowShopInstance, sequence: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which operations are on one critical path, bool [n, m] (position, machine).

    The path is a chain of operations that ends at the makespan, without idle time between them except set-ups.
    """
    found = np.zeros(end.shape, bool)
    k, i = instance.jobs - 1, instance.machines - 1
    while True:
        found[k, i] = True
        start = end[k, i] - instance.duration[sequence[k], i]
        if i and end[k, i - 1] == start:
            i -= 1
        elif k:
            k -= 1
        else:
            return found
