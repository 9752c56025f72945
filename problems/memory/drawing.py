"""The memory map over time with matplotlib, with bandwidth and stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.problems.memory.evaluation import Timeline, run_plan
from corl.problems.memory.instance import MappingInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_plan"]

_LABELLED = 200  # residencies up to which a rectangle may carry its tensor's name
_STRIP = 0.18  # height of the strip of bandwidth, as a share of the memory's
_OWN, _COPIES, _STALL = "#57606a", "#0969da", "#cf222e"


def draw_plan(instance: MappingInstance, solution: Any, axes: Axes) -> None:
    """Draw a plan: above, a rectangle a residency, from when it is reserved to when it ends, at its bytes; below, the share of
    the slow memory's bandwidth that operations (grey) and copies (blue) use; stalls in red over the whole height.

    Without a solution the memory is empty, all tensors being in slow memory.
    """
    plan = (np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64)) if solution is None else solution
    timeline = run_plan(instance, plan)
    capacity = max(1, instance.machine.fast_bytes) / 2**20
    _residencies(instance, np.asarray(plan[0]), timeline, axes)
    _bandwidth(instance, timeline, capacity, axes)
    ends = np.append(timeline.start, timeline.total)
    for i in np.flatnonzero(timeline.stall):
        axes.axvspan(1e6 * (ends[i] - timeline.stall[i]), 1e6 * ends[i], color=_STALL, alpha=0.4, linewidth=0)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xlim(0.0, 1e6 * timeline.total or 1.0)
    axes.set_ylim(-1.1 * _STRIP * capacity, capacity)
    axes.set_xlabel("µs; red: stalls")
    axes.set_ylabel("fast memory, MiB (below 0: bandwidth of slow memory in use)")
    waits = 1e6 * float(timeline.stall.sum())
    name = instance.name or "program"
    axes.set_title(f"{name}: {instance.ops:,} operations, {1e6 * timeline.total:,.2f} µs, of which {waits:,.2f} µs are stalls")


def _residencies(instance: MappingInstance, residencies: Any, timeline: Timeline, axes: Axes) -> None:
    import matplotlib
    from matplotlib.patches import Rectangle

    edges = 1e6 * np.append(timeline.start, timeline.total)
    colours = matplotlib.colormaps["hsv"]((np.arange(instance.tensors) * 0.6180339887) % 1.0) * [0.8, 0.8, 0.8, 1.0]
    for t, low, high, offset in residencies.tolist():
        corner, width = (edges[low], offset / 2**20), edges[high] - edges[low]
        height = instance.sizes[t] / 2**20
        axes.add_patch(Rectangle(corner, width, height, facecolor=colours[t], edgecolor="white", linewidth=0.4))
        big = width > 0.06 * edges[-1] and height > 0.03 * instance.machine.fast_bytes / 2**20
        if len(residencies) <= _LABELLED and big:
            middle = (corner[0] + width / 2, corner[1] + height / 2)
            axes.text(*middle, instance.tensor_names[t][:20], ha="center", va="center", fontsize=6, color="white", clip_on=True)


def _bandwidth(instance: MappingInstance, timeline: Timeline, capacity: float, axes: Axes) -> None:
    """Bars below zero: bytes over what the slow memory could have moved in an operation's time."""
    possible = np.maximum(timeline.duration * instance.machine.slow_bandwidth, 1e-30)
    base = np.full(instance.ops, -1.05 * _STRIP * capacity)
    for used, colour in ((timeline.slow_bytes, _OWN), (timeline.copied, _COPIES)):
        height = _STRIP * capacity * used / possible
        widths = 1e6 * timeline.duration
        axes.bar(1e6 * timeline.start, height, widths, bottom=base, align="edge", color=colour, linewidth=0)
        base += height
