"""Distances of an instance for kernels (corl.routing.metric), computed from coordinates without an n x n matrix."""

from __future__ import annotations

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, Metric, distance, metric

__all__ = ["EXPLICIT", "Metric", "distance", "metric_of"]


def metric_of(instance: VrpInstance) -> Metric:
    """Return the Metric of an instance (distances times `scale`). It copies no matrix; for coordinates it takes O(n) memory."""
    return metric(instance.edge_weight_type, instance.points, instance.matrix)
