"""Distances for kernels, equal to those with which evaluation.py judges solutions."""

from __future__ import annotations

import numpy as np

from corl.problems.orienteering.instance import OrienteeringInstance
from corl.routing.edge_weights import edge_lengths
from corl.routing.metric import EXPLICIT, Metric, metric

__all__ = ["metric_of"]


def metric_of(instance: OrienteeringInstance) -> Metric:
    """Return the distances for kernels; for GEO as a matrix, since a kernel's own GEO distances may differ by 1."""
    graph = instance.graph
    if graph.edge_weight_type != "GEO":
        return metric(graph.edge_weight_type, graph.points, graph.matrix)
    n = instance.n
    tails, heads = np.divmod(np.arange(n * n), n)
    return Metric(EXPLICIT, np.zeros((0, 3)), edge_lengths("GEO", graph.points, None, tails, heads).reshape(n, n))
