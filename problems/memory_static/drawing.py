"""Pictures of instances and allocations as memory over time: `draw` with matplotlib, and `scene` for HTML pages."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from corl.files.drawing import whole_ticks
from corl.problems.memory_static.evaluation import check
from corl.problems.memory_static.instance import StaticInstance, sections
from corl.view.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "scene"]

_MAX_EDGED = 3000  # the largest number of buffers whose rectangles have edges; the edges of more would hide the rectangles


def draw(instance: StaticInstance, solution: Any, axes: Axes) -> None:
    """Draw one rectangle per buffer, over its lifetime and its offsets, and the load as a line; without a solution only the load.

    The load is the total size of the buffers that are alive at a moment.
    """
    section_data = sections(instance)
    bound = int(section_data.load.max())
    title = f"{instance.name or 'allocation'}: {instance.n:,} buffer{'s' if instance.n > 1 else ''}, load {bound:,}"
    top = float(bound)
    if solution is not None:
        offsets = check(instance, solution)
        _rectangles(instance, offsets, axes)
        top = float((offsets + instance.size).max())
        title += f", height {int(top):,}"
    axes.stairs(
        section_data.load, section_data.times, color="#cf222e", linewidth=1.0, label="load", fill=solution is None, alpha=0.8
    )
    axes.axhline(top, color="#57606a", linewidth=0.8, linestyle="--")
    axes.set_xlim(float(section_data.times[0]), float(section_data.times[-1]))
    axes.set_ylim(0.0, 1.03 * max(top, 1.0))
    axes.legend(loc="upper right")
    whole_ticks(axes)
    axes.set_xlabel("time")
    axes.set_ylabel("memory")
    axes.set_title(title)


def _rectangles(instance: StaticInstance, offsets: Any, axes: Axes) -> None:
    """Draw all buffers in random colours, so that neighbours differ."""
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    left, right = instance.lower.astype(float), instance.upper.astype(float)
    low, high = offsets.astype(float), (offsets + instance.size).astype(float)
    corners = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    colours = colormaps["viridis"](np.random.default_rng(0).random(instance.n) * 0.85 + 0.15)
    width = 0.4 if instance.n <= _MAX_EDGED else 0.0
    axes.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors="white", linewidths=width))


def scene(instance: StaticInstance, solution: Any) -> Scene:
    """Return a scene with one box per buffer, over its lifetime and its offsets, and the load as a line.

    The load is the total size of the buffers that are alive at a moment; no allocation is lower than the largest load.
    """
    section_data = sections(instance)
    scene = Scene(f"{instance.name or 'allocation'}: {instance.n:,} buffers", "time", "memory")
    if solution is not None:
        offsets = check(instance, solution)
        columns = (instance.ids, instance.lower.tolist(), instance.upper.tolist(), instance.size.tolist(), offsets.tolist())
        for k, (name, low, high, size, offset) in enumerate(zip(*columns)):
            text = f"{name}\n{size:,} at {offset:,}, alive from {low} to {high}"
            scene.boxes.append((low, offset, high - low, size, text, k, False))
        if float((offsets + instance.size).max()) == float(section_data.load.max()):
            scene.tight.append("the height equals the largest load: no allocation is lower")
    times = section_data.times.tolist()
    xs = [time for pair in itertools.pairwise(times) for time in pair]
    heights = [float(load) for load in section_data.load for _ in (0, 1)]
    scene.lines.append((xs, heights, "the load: total size of the buffers that are alive", -1))
    return scene
