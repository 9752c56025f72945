"""What a page shows of a choice of items."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.problems.knapsack.evaluation import check
from corl.problems.knapsack.instance import KnapsackInstance
from corl.view.scene import Group, Scene, short

__all__ = ["scene_of"]


def scene_of(instance: KnapsackInstance, solution: Any) -> Scene:
    """A point an item, its weight (with several capacities the mean share of them) and value; those left are hollow."""
    shares = instance.weights / np.where(instance.capacities > 0, instance.capacities, 1.0)[:, None]
    one = instance.m == 1
    x = instance.weights[0] if one else 100.0 * shares.mean(axis=0)
    axis = "weight" if one else "mean share of the capacities, %"
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
