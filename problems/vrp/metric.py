"""The kernels' view of an instance's distances (corl.routing.metric): no N x N matrix for coordinate instances."""

from __future__ import annotations

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, Metric, distance, metric

__all__ = ["EXPLICIT", "Metric", "distance", "metric_of"]


def metric_of(instance: VrpInstance) -> Metric:
    """The kernel's view of an instance's distances (times `scale`): O(n) memory for coordinates, none for a matrix."""
    return metric(instance.edge_weight_type, instance.points, instance.matrix)
