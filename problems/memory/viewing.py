"""What a page shows of a plan: what is in fast memory, and when."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.instance import MappingInstance
from corl.view.scene import Group, Scene, short

__all__ = ["scene_of"]


def scene_of(instance: MappingInstance, solution: Any) -> Scene | None:
    """A box a residency, from when it is reserved to when it ends, at its bytes; a group a tensor. None without a solution."""
    if solution is None:
        return None
    timeline = run_plan(instance, solution)
    edges = (1e6 * np.append(timeline.start, timeline.total)).tolist()
    scene = Scene(f"{instance.name or 'program'}: {instance.ops:,} operations", "microseconds", "fast memory, MiB")
    scene.head = ("tensor", "MiB", "places", "of the time")
    groups: dict[int, int] = {}
    held: dict[int, list[float]] = {}
    for t, low, high, offset in np.asarray(solution[0]).tolist():
        size, width = instance.sizes[t] / 2**20, edges[high] - edges[low]
        group = groups.setdefault(t, len(groups))
        held.setdefault(group, []).append(width)
        name = instance.tensor_names[t]
        text = f"{name}\n{short(round(size, 6))} MiB from operation {low} to {high}"
        scene.boxes.append((edges[low], offset / 2**20, width, float(size), text, group, False))
    for t, group in groups.items():
        share = f"{100 * sum(held[group]) / (edges[-1] or 1.0):.3g} %"
        scene.groups.append(Group((instance.tensor_names[t], round(instance.sizes[t] / 2**20, 6), len(held[group]), share)))
    if waits := float(timeline.stall.sum()):
        scene.tight.append(f"copies make operations wait for {1e6 * waits:.4g} microseconds in all")
    return scene
