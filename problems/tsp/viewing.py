"""What a page shows of a tour."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.problems.tsp.drawing import layout_of, positions
from corl.problems.tsp.evaluation import check
from corl.problems.tsp.instance import TspInstance
from corl.view.scene import Scene

__all__ = ["scene_of"]

_NAMED = 20_000  # cities up to which each is a point of its own


def scene_of(instance: TspInstance, solution: Any) -> Scene:
    """Cities at `positions`, and the closed tour."""
    tour = None if solution is None else check(instance, solution)
    xy = positions(instance, tour)
    scene = Scene(f"{instance.name or 'TSP'}: {instance.n:,} cities", equal=True, note=layout_of(instance) or "")
    if tour is not None:
        closed = xy[np.append(tour, tour[0])]
        scene.lines.append((closed[:, 0].tolist(), closed[:, 1].tolist(), "", 0))
    place = np.empty(instance.n, np.int64)
    place[np.arange(instance.n) if tour is None else tour] = np.arange(instance.n)
    if instance.n <= _NAMED:
        called = instance.ids.tolist() if instance.names is None else instance.names
        where = "" if tour is None else ", stop {} of the tour"
        for k, ((x, y), at) in enumerate(zip(xy.tolist(), place.tolist())):
            scene.points.append((x, y, f"city {called[k]}" + where.format(at + 1), -1, ""))
    return scene
