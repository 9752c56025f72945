"""Gantt charts with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.files.drawing import whole_ticks
from corl.problems.flowshop.evaluation import check, completion, objective
from corl.problems.flowshop.instance import FlowShopInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_sequence"]

_LABELLED = 400  # operations up to which a bar may carry its job's number


def draw_sequence(instance: FlowShopInstance, solution: Any, axes: Axes) -> None:
    """Draw a sequence: a row a machine, a bar an operation, a colour a job; the title gives its value.

    Without a solution, the jobs in the order of the file.
    """
    import matplotlib

    sequence = np.arange(instance.jobs) if solution is None else check(instance, solution)
    end, duration = completion(instance, sequence), instance.duration[sequence]
    # the golden ratio's steps round the colour wheel keep neighbours apart, however many there are
    colours = matplotlib.colormaps["hsv"]((sequence * 0.6180339887) % 1.0) * [0.8, 0.8, 0.8, 1.0]
    line = 0.4 if duration.size <= 2000 else 0.0
    for i in range(instance.machines):
        left = end[:, i] - duration[:, i]
        axes.barh(i, duration[:, i], left=left, height=0.9, color=colours, edgecolor="white", linewidth=line)
    last = max(1, int(end.max()))
    for k, i in np.argwhere(duration > 0.02 * last) if duration.size <= _LABELLED else ():
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
