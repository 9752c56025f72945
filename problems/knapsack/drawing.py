"""Pictures of instances and solutions: with matplotlib, and for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.problems.knapsack.evaluation import check, objective
from corl.problems.knapsack.instance import KnapsackInstance
from corl.view.scene import Group, Scene, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "scene"]

_TAKEN_COLOUR, _NOT_TAKEN_COLOUR = "#1f6feb", "#afb8c1"


def draw(instance: KnapsackInstance, solution: Any, axes: Axes) -> None:
    """Draw one point per item, at its weight and value; items taken are highlighted.

    With several capacities, the mean share of the capacities that the item uses, in per cent, replaces the weight. The title has
    the value of the items taken, and how full the fullest capacity is.
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
        fullest = 100.0 * float((used / np.where(instance.capacities > 0, instance.capacities, 1.0)).max())
        title += f", {len(items):,} taken, value {objective(instance, items):,.10g}, {fullest:.4g} % full"
    for drawn, colour, name in ((~taken, _NOT_TAKEN_COLOUR, "left"), (taken, _TAKEN_COLOUR, "taken")):
        if drawn.any():
            axes.scatter(x[drawn], instance.values[drawn], s=size, color=colour, linewidths=0, label=name)
    if solution is not None:
        axes.legend(loc="upper left")
    axes.set_xlabel(label)
    axes.set_ylabel("value")
    axes.set_title(title)


def scene(instance: KnapsackInstance, solution: Any) -> Scene:
    """Return the picture for a page: one point per item, at its weight and value; items that are not taken are hollow.

    With several capacities, the mean share of the capacities that the item uses, in per cent, replaces the weight.
    """
    shares = instance.weights / np.where(instance.capacities > 0, instance.capacities, 1.0)[:, None]
    has_one_capacity = instance.m == 1
    x = instance.weights[0] if has_one_capacity else 100.0 * shares.mean(axis=0)
    axis = "weight" if has_one_capacity else "mean share of the capacities, %"
    scene = Scene(f"{instance.name or 'knapsack'}: {instance.n:,} items", axis, "value")
    taken = np.full(instance.n, solution is None)
    if solution is not None:
        items = check(instance, solution)
        taken[items] = True
        scene.head = ("capacity", "used", "full")
        for k in range(instance.m):
            used, capacity = float(instance.weights[k, items].sum()), float(instance.capacities[k])
            share = 100.0 * used / capacity if capacity else 100.0
            scene.groups.append(Group((short(capacity), short(used), f"{share:.4g} %")))
            if share >= 100.0 * (1 - 1e-9):
                scene.tight.append(f"capacity {k + 1} is full ({short(capacity)})")
    for i in range(instance.n):
        weights = ", ".join(short(float(weight)) for weight in instance.weights[:, i])
        text = f"item {i}, value {short(float(instance.values[i]))}, weight {weights}"
        kind = "" if taken[i] else "out"
        scene.points.append((float(x[i]), float(instance.values[i]), text, 0 if taken[i] and solution is not None else -1, kind))
    return scene
