"""Distances of an instance inside kernels (corl.routing.metric): no N x N matrix for coordinate instances."""

from __future__ import annotations

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, Metric, distance, metric

__all__ = ["EXPLICIT", "Metric", "distance", "metric_of"]


def metric_of(instance: VrpInstance) -> Metric:
    """Return the Metric of an instance (distances times `scale`): O(n) memory for coordinates, none for a matrix."""
    return metric(instance.edge_weight_type, instance.points, instance.matrix)
