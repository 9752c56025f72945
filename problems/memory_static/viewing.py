"""What a page shows of an allocation: memory over time."""

from __future__ import annotations

import itertools
from typing import Any

from corl.problems.memory_static.evaluation import check
from corl.problems.memory_static.instance import StaticInstance, sections
from corl.view.scene import Scene

__all__ = ["scene_of"]


def scene_of(instance: StaticInstance, solution: Any) -> Scene:
    """A box a buffer, lifetime by offsets, and the load, below which no allocation is."""
    found = sections(instance)
    scene = Scene(f"{instance.name or 'allocation'}: {instance.n:,} buffers", "time", "memory")
    if solution is not None:
        offsets = check(instance, solution)
        columns = (instance.ids, instance.lower.tolist(), instance.upper.tolist(), instance.size.tolist(), offsets.tolist())
        for k, (name, low, high, size, offset) in enumerate(zip(*columns)):
            text = f"{name}\n{size:,} at {offset:,}, alive from {low} to {high}"
            scene.boxes.append((low, offset, high - low, size, text, k, False))
        if float((offsets + instance.size).max()) == float(found.load.max()):
            scene.tight.append("the height is the largest load: no allocation is lower")
    times = found.times.tolist()
    xs = [time for pair in itertools.pairwise(times) for time in pair]
    scene.lines.append((xs, [float(load) for load in found.load for _ in (0, 1)], "the load: what is alive together", -1))
    return scene
