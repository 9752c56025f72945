"""Pictures of programs and of how they were solved: the matrix, bound and incumbent against time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corl.problems.milp.evaluation import check_solution, objective_of
from corl.problems.milp.instance import MilpInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_bounds", "draw_matrix"]

_CONTINUOUS, _INTEGER, _ZERO = "#0969da", "#24292f", "#d0d7de"


def draw_matrix(instance: MilpInstance, solution: Any, axes: Axes) -> None:
    """A mark for each entry of A, in one colour for integer variables and in another for continuous ones.

    With a solution the columns of variables that are zero in it are pale, and the title gives its value.
    """
    colours = np.where(instance.integer, _INTEGER, _CONTINUOUS)
    title = f"{instance.name or 'program'}: {instance.m:,} rows, {instance.n:,} columns"
    if solution is not None:
        x = check_solution(instance, solution)
        colours = np.where(x == 0.0, _ZERO, colours)
        title += f", objective {objective_of(instance, x):,.10g}"
    size = float(np.clip(60_000 / max(1, max(instance.m, instance.n)) ** 2, 0.2, 30.0))
    axes.scatter(instance.column, instance.row, s=size, c=colours[instance.column], marker="s", linewidths=0)
    axes.set_xlim(-0.5, instance.n - 0.5)
    axes.set_ylim(max(1, instance.m) - 0.5, -0.5)
    axes.set_xlabel("variable")
    axes.set_ylabel("constraint")
    axes.set_title(title)


def draw_bounds(trace: Sequence[tuple[float, float | None, float | None]], axes: Axes) -> None:
    """Incumbent and bound against seconds, as steps, from the trace of a Result."""
    for place, label, colour in ((1, "incumbent", _INTEGER), (2, "bound", _CONTINUOUS)):
        known = [(entry[0], entry[place]) for entry in trace if entry[place] is not None]
        if known:
            seconds, values = zip(*known)
            last = max(entry[0] for entry in trace)
            axes.step([*seconds, last], [*values, values[-1]], where="post", label=label, color=colour)
    axes.set_xlabel("seconds")
    axes.set_ylabel("objective")
    if trace:
        axes.legend()
