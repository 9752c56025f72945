"""Pictures of fast memory over time: `draw` with matplotlib, with bandwidth and stalls, and `scene` for HTML pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.problems.memory.evaluation import Timeline, run_plan
from corl.problems.memory.instance import MappingInstance
from corl.view.scene import Group, Scene, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "scene"]

_MAX_LABELLED = 200  # the largest number of residencies for which rectangles are labelled with their tensors' names
_STRIP = 0.18  # height of the strip that shows bandwidth, as a share of the height of the fast memory
_OWN, _COPIES, _STALL = "#57606a", "#0969da", "#cf222e"  # colours of operations' own accesses, copies, and stalls


def draw(instance: MappingInstance, solution: Any, axes: Axes) -> None:
    """Draw a plan over time.

    Above zero is one rectangle per residency, over its operations and its bytes of fast memory. Below zero is the share of the
    slow memory's bandwidth that operations (grey) and copies (blue) use. Stalls are red over the whole height. Without a
    solution, all tensors are in slow memory.
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
    stalled = 1e6 * float(timeline.stall.sum())
    name = instance.name or "program"
    axes.set_title(f"{name}: {instance.ops:,} operations, {1e6 * timeline.total:,.2f} µs, of which {stalled:,.2f} µs are stalls")


def _residencies(instance: MappingInstance, residencies: Any, timeline: Timeline, axes: Axes) -> None:
    """Draw one rectangle per residency, in the colour of its tensor."""
    import matplotlib
    from matplotlib.patches import Rectangle

    edges = 1e6 * np.append(timeline.start, timeline.total)
    colours = matplotlib.colormaps["hsv"]((np.arange(instance.tensors) * 0.6180339887) % 1.0) * [0.8, 0.8, 0.8, 1.0]
    for t, low, high, offset in residencies.tolist():
        corner, width = (edges[low], offset / 2**20), edges[high] - edges[low]
        height = instance.sizes[t] / 2**20
        axes.add_patch(Rectangle(corner, width, height, facecolor=colours[t], edgecolor="white", linewidth=0.4))
        has_room = width > 0.06 * edges[-1] and height > 0.03 * instance.machine.fast_bytes / 2**20
        if len(residencies) <= _MAX_LABELLED and has_room:
            middle = (corner[0] + width / 2, corner[1] + height / 2)
            axes.text(*middle, instance.tensor_names[t][:20], ha="center", va="center", fontsize=6, color="white", clip_on=True)


def _bandwidth(instance: MappingInstance, timeline: Timeline, capacity: float, axes: Axes) -> None:
    """Draw bars below zero: the bytes moved during each operation, relative to what slow memory could move in its time."""
    possible = np.maximum(timeline.duration * instance.machine.slow_bandwidth, 1e-30)
    base = np.full(instance.ops, -1.05 * _STRIP * capacity)
    for used, colour in ((timeline.slow_bytes, _OWN), (timeline.copied, _COPIES)):
        height = _STRIP * capacity * used / possible
        widths = 1e6 * timeline.duration
        axes.bar(1e6 * timeline.start, height, widths, bottom=base, align="edge", color=colour, linewidth=0)
        base += height


def scene(instance: MappingInstance, solution: Any) -> Scene | None:
    """Return a scene with one box per residency, over its operations and its bytes, and one group of boxes per tensor.

    Returns None if there is no solution.
    """
    if solution is None:
        return None
    timeline = run_plan(instance, solution)
    edges = (1e6 * np.append(timeline.start, timeline.total)).tolist()
    scene = Scene(f"{instance.name or 'program'}: {instance.ops:,} operations", "microseconds", "fast memory, MiB")
    scene.head = ("tensor", "MiB", "places", "of the time")
    groups: dict[int, int] = {}
    widths: dict[int, list[float]] = {}
    for t, low, high, offset in np.asarray(solution[0]).tolist():
        size, width = instance.sizes[t] / 2**20, edges[high] - edges[low]
        group = groups.setdefault(t, len(groups))
        widths.setdefault(group, []).append(width)
        name = instance.tensor_names[t]
        text = f"{name}\n{short(round(size, 6))} MiB from operation {low} to {high}"
        scene.boxes.append((edges[low], offset / 2**20, width, float(size), text, group, False))
    for t, group in groups.items():
        share = f"{100 * sum(widths[group]) / (edges[-1] or 1.0):.3g} %"
        scene.groups.append(Group((instance.tensor_names[t], round(instance.sizes[t] / 2**20, 6), len(widths[group]), share)))
    if stalled := float(timeline.stall.sum()):
        scene.tight.append(f"copies make operations wait for {1e6 * stalled:.4g} microseconds in all")
    return scene
