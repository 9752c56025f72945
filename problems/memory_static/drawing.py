"""Drawing instances and allocations with matplotlib: memory over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.files.drawing import whole_ticks
from corl.problems.memory_static.evaluation import check
from corl.problems.memory_static.instance import StaticInstance, sections

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_allocation"]

_LARGEST_EDGES = 3000  # buffers, beyond which edges would hide what they bound


def draw_allocation(instance: StaticInstance, solution: Any, axes: Axes) -> None:
    """A rectangle a buffer, lifetime by offsets, and the load as a line; without a solution the load alone."""
    found = sections(instance)
    bound = int(found.load.max())
    title = f"{instance.name or 'allocation'}: {instance.n:,} buffer{'s' if instance.n > 1 else ''}, load {bound:,}"
    top = float(bound)
    if solution is not None:
        offsets = check(instance, solution)
        _rectangles(instance, offsets, axes)
        top = float((offsets + instance.size).max())
        title += f", height {int(top):,}"
    axes.stairs(found.load, found.times, color="#cf222e", linewidth=1.0, label="load", fill=solution is None, alpha=0.8)
    axes.axhline(top, color="#57606a", linewidth=0.8, linestyle="--")
    axes.set_xlim(float(found.times[0]), float(found.times[-1]))
    axes.set_ylim(0.0, 1.03 * max(top, 1.0))
    axes.legend(loc="upper right")
    whole_ticks(axes)
    axes.set_xlabel("time")
    axes.set_ylabel("memory")
    axes.set_title(title)


def _rectangles(instance: StaticInstance, offsets: Any, axes: Axes) -> None:
    """One collection of all buffers, in colours that tell neighbours apart."""
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    left, right = instance.lower.astype(float), instance.upper.astype(float)
    low, high = offsets.astype(float), (offsets + instance.size).astype(float)
    corners = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    colours = colormaps["viridis"](np.random.default_rng(0).random(instance.n) * 0.85 + 0.15)
    width = 0.4 if instance.n <= _LARGEST_EDGES else 0.0
    axes.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors="white", linewidths=width))
