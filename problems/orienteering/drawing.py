"""Pictures of instances and paths: with matplotlib, and as scenes for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.files.drawing import note, write_ids
from corl.problems.orienteering.evaluation import check, objective, path_length
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.drawing import layout_of, positions
from corl.view.scene import Scene, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "scene"]

_PATH_COLOUR, _NODE_COLOUR, _UNVISITED_COLOUR, _ENDS_COLOUR = "#1f6feb", "#24292f", "#afb8c1", "#cf222e"


def draw(instance: OrienteeringInstance, solution: Any, axes: Axes) -> None:
    """Draw the nodes, larger for higher scores, and the path `solution`, if it is not None.

    Start and end are red, unvisited nodes are pale. The title gives score and length. Nodes are labelled with their ids if there
    are at most a hundred.
    """
    n = instance.n
    xy = positions(instance.graph)
    visited = np.full(n, solution is None)
    title = f"{instance.name or 'orienteering'}: {n:,} node{'s' if n > 1 else ''}, limit {instance.limit:,.10g}"
    if solution is not None:
        path = check(instance, solution)
        visited[path] = True
        axes.plot(xy[path, 0], xy[path, 1], color=_PATH_COLOUR, linewidth=float(np.clip(30 / np.sqrt(n), 0.2, 1.5)))
        title += f"\nscore {objective(instance, path):,.10g}, length {path_length(instance, path):,.10g}"
    max_score = float(instance.scores.max()) or 1.0
    size = float(np.clip(8000 / n, 0.2, 40)) * (0.15 + 0.85 * instance.scores / max_score)
    for drawn, colour in ((~visited, _UNVISITED_COLOUR), (visited, _NODE_COLOUR)):
        axes.scatter(xy[drawn, 0], xy[drawn, 1], s=size[drawn], color=colour, linewidths=0, zorder=3)
    ends = [instance.start, instance.end]
    axes.scatter(xy[ends, 0], xy[ends, 1], s=30, color=_ENDS_COLOUR, marker="s", linewidths=0, zorder=4)
    write_ids(axes, xy, instance.graph.ids)
    axes.set_title(title)
    if layout := layout_of(instance.graph):
        note(axes, layout)
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()


def scene(instance: OrienteeringInstance, solution: Any) -> Scene:
    """Return the picture for a page: the path and the nodes; start and end are squares, unvisited nodes are hollow."""
    xy, graph = positions(instance.graph), instance.graph
    scene = Scene(f"{instance.name or 'orienteering'}: {instance.n:,} nodes", equal=True, note=layout_of(graph) or "")
    visited = np.full(instance.n, solution is None)
    if solution is not None:
        path = check(instance, solution)
        visited[path] = True
        length = path_length(instance, path)
        scene.lines.append((xy[path, 0].tolist(), xy[path, 1].tolist(), f"length {short(length)} of {short(instance.limit)}", 0))
        if length >= instance.limit * (1 - 1e-9):
            scene.tight.append(f"the path is as long as it may be ({short(instance.limit)})")
    ids = np.arange(1, instance.n + 1) if graph.ids is None else graph.ids
    for node, (x, y) in enumerate(xy.tolist()):
        kind = "depot" if node in (instance.start, instance.end) else "" if visited[node] else "out"
        text = f"node {ids[node]}, score {short(float(instance.scores[node]))}"
        scene.points.append((x, y, text, 0 if visited[node] and solution is not None else -1, kind))
    return scene
