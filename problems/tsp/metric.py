"""Distances for kernels (corl.routing.metric), computed on demand: no n x n matrix for instances with coordinates.

The judge (evaluation.py) does not use this module; it has its own formulas.
"""

from __future__ import annotations

from corl.problems.tsp.instance import TspInstance
from corl.routing.metric import ATT, CEIL, EUCLIDEAN, EXPLICIT, GEO, MANHATTAN, MAXIMUM, ROUNDED, Metric, distance, metric

__all__ = ["ATT", "CEIL", "EUCLIDEAN", "EXPLICIT", "GEO", "MANHATTAN", "MAXIMUM", "ROUNDED", "Metric", "distance", "metric_of"]


def metric_of(instance: TspInstance) -> Metric:
    """Return the instance's distances for kernels; coordinates take O(n) more memory, a matrix is not copied."""
    return metric(instance.edge_weight_type, instance.points, instance.matrix)
