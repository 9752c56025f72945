"""Rows of renewable resources below the machines of a Gantt chart, and the operations that wait for a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corl.problems.jobshop.evaluation import ends
from corl.problems.jobshop.evaluation_resources import usage
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.resources import row_labels
from corl.problems.jobshop.rules import SideConstraints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["add_rows", "awaited", "draw_rows"]

_HEIGHT = 0.9  # of a row, at which all units are occupied
_COLOUR = "#57606a"


def draw_rows(instance: JobShopInstance, rules: SideConstraints, schedule: Schedule, axes: Axes) -> list[str]:
    """Draw for each resource, below the machines, the share of its units that is occupied; return the entries of the legend."""
    if rules.capacity is None:
        return []
    end = ends(instance, schedule)
    for r, capacity in enumerate(rules.capacity.tolist()):
        times, units = usage(instance, rules, r, schedule.start, schedule.machine, end)
        base = instance.machines + r + _HEIGHT / 2
        if len(times):
            top = base - _HEIGHT * units / capacity
            axes.fill_between(times, np.full(len(times), base), top, step="post", color=_COLOUR, linewidth=0)
        axes.axhline(base - _HEIGHT, color=_COLOUR, linewidth=0.5, linestyle=":")
    return ["lower rows: resources in use"]


def add_rows(
    instance: JobShopInstance, rules: SideConstraints, schedule: Schedule
) -> list[tuple[float, float, float, float, str, int, bool]]:
    """Return boxes of a scene (corl.view.scene) with the units of each resource that are occupied, in rows below the machines."""
    boxes: list[tuple[float, float, float, float, str, int, bool]] = []
    end = ends(instance, schedule)
    for r, label in enumerate(row_labels(rules)):
        assert rules.capacity is not None
        times, units = (part.tolist() for part in usage(instance, rules, r, schedule.start, schedule.machine, end))
        for begin, until, occupied in zip(times, times[1:], units):
            if occupied:
                text = f"{occupied}\n{label}: {occupied} of {rules.capacity[r]} from {begin} to {until}"
                boxes.append((begin, instance.machines + r, until - begin, 1, text, -1, False))
    return boxes


def awaited(instance: JobShopInstance, schedule: Schedule, operation: int) -> list[int]:
    """Return the operations that occupy a resource until the start of `operation`, which could not start earlier for that reason.

    Without them, an earlier start would not overload the resource.
    """
    rules = instance.rules
    if rules is None or rules.capacity is None or rules.demand is None:
        return []
    chosen = np.flatnonzero(instance.choice_machine == np.repeat(schedule.machine, np.diff(instance.choice_first)))
    end, time, found = ends(instance, schedule), schedule.start[operation], list[int]()
    running = (schedule.start < time) & (end >= time)
    for r, capacity in enumerate(rules.capacity.tolist()):
        units = rules.demand[chosen, r]
        if units[operation] and end[operation] > time and units[running].sum() + units[operation] > capacity:
            found += np.flatnonzero(running & (end == time) & (units > 0)).tolist()
    return found
