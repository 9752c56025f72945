"""Drawing of a program's constraint matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.files.drawing import whole_ticks
from corl.problems.milp.evaluation import check, objective_of
from corl.problems.milp.instance import MilpInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_CONTINUOUS, _INTEGER, _ZERO = "#0969da", "#24292f", "#d0d7de"


def draw(instance: MilpInstance, solution: Any, axes: Axes) -> None:
    """Draw a mark for each entry of A, in one colour for integer variables and in another for continuous ones.

    With a solution, the columns of variables that are 0 are pale, and the title contains the objective value.
    """
    colours = np.where(instance.integer, _INTEGER, _CONTINUOUS)
    title = f"{instance.name or 'program'}: {instance.m:,} rows, {instance.n:,} columns"
    if solution is not None:
        x = check(instance, solution)
        colours = np.where(x == 0.0, _ZERO, colours)
        title += f", objective {objective_of(instance, x):,.10g}"
    size = float(np.clip(60_000 / max(1, max(instance.m, instance.n)) ** 2, 0.2, 30.0))
    axes.scatter(instance.column, instance.row, s=size, c=colours[instance.column], marker="s", linewidths=0)
    axes.set_xlim(-0.5, instance.n - 0.5)
    axes.set_ylim(max(1, instance.m) - 0.5, -0.5)
    whole_ticks(axes)
    axes.set_xlabel("variable")
    axes.set_ylabel("constraint")
    axes.set_title(title)
