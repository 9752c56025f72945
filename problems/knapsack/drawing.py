"""Drawing instances and choices of items with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.problems.knapsack.evaluation import check, objective
from corl.problems.knapsack.instance import KnapsackInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_items"]

_TAKEN, _LEFT = "#1f6feb", "#afb8c1"


def draw_items(instance: KnapsackInstance, solution: Any, axes: Axes) -> None:
    """A point an item: its weight (with several capacities the mean share of them, in per cent) and value; taken ones stand out.

    The title tells the value of the items taken and how full the capacities are.
    """
    if instance.m == 1:
        x, label = instance.weights[0], "weight"
    else:
        capacities = np.where(instance.capacities > 0, instance.capacities, 1.0)
        x, label = 100.0 * (instance.weights / capacities[:, None]).mean(axis=0), "mean share of the capacities, %"
    size = float(np.clip(4000 / instance.n, 0.5, 25))
    taken = np.zeros(instance.n, bool)
    title = f"{instance.name or 'knapsack'}: {instance.n:,} item{'s' if instance.n > 1 else ''}"
    if solution is not None:
        items = check(instance, solution)
        taken[items] = True
        used = instance.weights[:, items].sum(axis=1)
        full = 100.0 * float((used / np.where(instance.capacities > 0, instance.capacities, 1.0)).max())
        title += f", {len(items):,} taken, value {objective(instance, items):,.10g}, {full:.4g} % full"
    for chosen, colour, name in ((~taken, _LEFT, "left"), (taken, _TAKEN, "taken")):
        if chosen.any():
            axes.scatter(x[chosen], instance.values[chosen], s=size, color=colour, linewidths=0, label=name)
    if solution is not None:
        axes.legend(loc="upper left")
    axes.set_xlabel(label)
    axes.set_ylabel("value")
    axes.set_title(title)
