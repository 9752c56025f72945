"""Distances for kernels that are those of the judge."""

from __future__ import annotations

import numpy as np

from corl.edge_weights import edge_lengths
from corl.metric import EXPLICIT, Metric
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.metric import metric_of

__all__ = ["metric_for"]


def metric_for(instance: OrienteeringInstance) -> Metric:
    """The kernel's view of the distances; of GEO a matrix, since the kernel's own may differ by one from the judge's."""
    graph = instance.graph
    if graph.edge_weight_type != "GEO":
        return metric_of(graph)
    n = instance.n
    tails, heads = np.divmod(np.arange(n * n), n)
    matrix = edge_lengths("GEO", graph.points, None, tails, heads).reshape(n, n)
    np.fill_diagonal(matrix, 0.0)
    return Metric(EXPLICIT, np.zeros((0, 3)), matrix)
