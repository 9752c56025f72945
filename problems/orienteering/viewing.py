"""What a page shows of a path."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.problems.orienteering.evaluation import check, path_length
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.drawing import layout_of, positions
from corl.view.scene import Scene, short

__all__ = ["scene_of"]


def scene_of(instance: OrienteeringInstance, solution: Any) -> Scene:
    """Nodes at `positions`, hollow where the path leaves them out; the ends are squares."""
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
