"""The kernel's view of an instance's distances (corl.routing.metric): no N x N matrix for coordinate instances.

The judge (evaluation.py) does not use it: it has formulas of its own.
"""

from __future__ import annotations

from corl.problems.tsp.instance import TspInstance
from corl.routing.metric import ATT, CEIL, EUCLIDEAN, EXPLICIT, GEO, MANHATTAN, MAXIMUM, ROUNDED, Metric, distance, metric

__all__ = ["ATT", "CEIL", "EUCLIDEAN", "EXPLICIT", "GEO", "MANHATTAN", "MAXIMUM", "ROUNDED", "Metric", "distance", "metric_of"]


def metric_of(instance: TspInstance) -> Metric:
    """The kernel's view of an instance's distances: O(n) memory beyond the instance for coordinates, none for a matrix."""
    return metric(instance.edge_weight_type, instance.points, instance.matrix)
