"""Drawing instances and paths with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.files.drawing import note, write_ids
from corl.problems.orienteering.evaluation import check, objective, path_length
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.drawing import layout_of, positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_path"]

_PATH, _NODE, _LEFT, _ENDS = "#1f6feb", "#24292f", "#afb8c1", "#cf222e"


def draw_path(instance: OrienteeringInstance, solution: Any, axes: Axes) -> None:
    """The nodes, larger where they score more, the ends in red; with a path, the nodes that it leaves out are pale.

    The title tells score and length. Up to a hundred nodes have their numbers in the file.
    """
    n = instance.n
    xy = positions(instance.graph)
    visited = np.full(n, solution is None)
    title = f"{instance.name or 'orienteering'}: {n:,} node{'s' if n > 1 else ''}, limit {instance.limit:,.10g}"
    if solution is not None:
        path = check(instance, solution)
        visited[path] = True
        axes.plot(xy[path, 0], xy[path, 1], color=_PATH, linewidth=float(np.clip(30 / np.sqrt(n), 0.2, 1.5)))
        title += f"\nscore {objective(instance, path):,.10g}, length {path_length(instance, path):,.10g}"
    most = float(instance.scores.max()) or 1.0
    size = float(np.clip(8000 / n, 0.2, 40)) * (0.15 + 0.85 * instance.scores / most)
    for chosen, colour in ((~visited, _LEFT), (visited, _NODE)):
        axes.scatter(xy[chosen, 0], xy[chosen, 1], s=size[chosen], color=colour, linewidths=0, zorder=3)
    ends = [instance.start, instance.end]
    axes.scatter(xy[ends, 0], xy[ends, 1], s=30, color=_ENDS, marker="s", linewidths=0, zorder=4)
    write_ids(axes, xy, instance.graph.ids)
    axes.set_title(title)
    if told := layout_of(instance.graph):
        note(axes, told)
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()
