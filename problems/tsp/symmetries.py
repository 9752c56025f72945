"""Mirrored and rotated copies of an instance, which have the same tours, and the instance of its first cities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corl.problems.tsp.instance import TspInstance

__all__ = ["first_cities", "planar_symmetries"]


def planar_symmetries(instance: TspInstance) -> list[TspInstance]:
    """Return eight instances: the instance itself, then its copies under the seven other symmetries of the square.

    Every tour has the same length in all of them: the first two coordinates are exchanged or change their signs, which changes no
    distance of TSPLIB's metrics except GEO. For GEO and for a matrix the instance alone is returned.
    """
    if instance.points is None or instance.edge_weight_type == "GEO":
        return [instance]
    copies = []
    for columns in ([0, 1], [1, 0]):
        for signs in ([1, 1], [-1, 1], [1, -1], [-1, -1]):
            points = instance.points.copy()
            points[:, :2] = instance.points[:, columns] * np.array(signs, np.float64)
            copies.append(replace(instance, points=points))
    return [instance, *copies[1:]]


def first_cities(instance: TspInstance, most: int) -> TspInstance:
    """Return the instance of the first `most` cities; the instance itself if it has no more."""
    if instance.n <= most:
        return instance
    points = None if instance.points is None else instance.points[:most]
    matrix = None if instance.matrix is None else instance.matrix[:most, :most]
    display = None if instance.display is None else instance.display[:most]
    names = None if instance.names is None else instance.names[:most]
    return replace(instance, points=points, matrix=matrix, ids=instance.ids[:most], display=display, names=names)
