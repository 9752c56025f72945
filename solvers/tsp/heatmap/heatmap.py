"""Heatmaps: a weight for every candidate edge, from a network, from distances, or equal for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import Metric
from corl.solvers.tsp.neighbours.candidates import neighbours

if TYPE_CHECKING:
    from corl.networks.graph import GatedGraphNetwork

__all__ = ["NEAREST", "NETWORK", "Heatmap", "heatmap_of", "network", "network_heatmap", "sorted_heatmap", "valid_weights"]

NETWORK = "tsp-heatmap"
"""The name of the shipped network."""
# Measured by python tests/studies/tsp_heatmap_prior.py --size 500 --instances 200 (seeds 0 to 199) on tours of eax with 10
# iterations per city, which were within 0.03 % of the best known tours of 6 instances.
NEAREST = (
    0.44275, 0.25413, 0.13443, 0.07213, 0.04002, 0.02313, 0.01342, 0.00772, 0.00463, 0.00291,
    0.00185, 0.00113, 0.00064, 0.00040, 0.00025, 0.00015, 0.00008, 0.00006, 0.00005, 0.00003,
)  # fmt: skip
"""P(k), half the probability that an optimal tour of uniform cities has the edge from a city to its k-th nearest neighbour, for
k = 1 to 20. Half, because a city has two edges, so that the sum over k is 1. The values .442 .256 .134 .071 .041 .024 .013 .008
.0045 of Pan et al. (2024) agree."""
_LEAST_EDGES = 10  # each city has at least this many weighted edges, if it has as many neighbours


class Heatmap(NamedTuple):
    """Weighted edges of n cities, K for each, the heaviest first."""

    near: NDArray[np.int32]
    """[n, K] the city at the other end of each edge."""
    lengths: NDArray[np.float64]
    """[n, K] the lengths of the edges."""
    weights: NDArray[np.float64]
    """[n, K] the weights, at least 0. The sum of each row is positive, and with `heatmap_of` at most about 1 (K in a row of ones,
    see `valid_weights`)."""


def heatmap_of(instance: TspInstance, metric: Metric, kind: str, candidates: int, temperature: float) -> Heatmap:
    """Return the heatmap of the given kind for an instance.

    Args:
        instance: The instance.
        metric: Its metric, perhaps with renumbered cities.
        kind: Where the weights come from. "gnn": the shipped graph network; "nearest": `NEAREST`, by the rank of the neighbour;
            "softmax": a softmax of negative distances; "none": equal weights.
        candidates: The least number of edges of a city, if it has as many neighbours; "gnn" has a fixed number.
        temperature: The temperature of "softmax", in units of the mean distance to the nearest neighbour.
    """
    if kind == "gnn":
        return network_heatmap(instance, metric)
    near, lengths = neighbours(instance, metric, max(candidates, _LEAST_EDGES))
    k = near.shape[1]
    if kind == "nearest":
        row = np.interp(np.arange(k), np.arange(len(NEAREST)), NEAREST)
        weights = np.broadcast_to(row, near.shape)
    elif kind == "softmax":
        unit = temperature * float(np.abs(lengths[:, 0]).mean()) or 1.0
        weights = np.exp((lengths[:, :1] - lengths) / unit)
        weights /= weights.sum(1, keepdims=True)
    else:
        weights = np.full(near.shape, 1.0 / max(k, 1))
    return sorted_heatmap(near, lengths, weights)


def network_heatmap(instance: TspInstance, metric: Metric) -> Heatmap:
    """Return the heatmap of the shipped network: half the predicted probability that the edge is in an optimal tour.

    The logits of the two directions of an edge are averaged. Half, so that the weights of the edges at a city add up to about 1.
    """
    import torch

    from corl.networks.threads import one_thread
    from corl.solvers.tsp.heatmap.features import edge_graph, links_of, symmetric

    graph = edge_graph(instance, metric)
    with torch.inference_mode(), one_thread():
        parts = torch.from_numpy(graph.nodes), torch.from_numpy(links_of(graph.near)), torch.from_numpy(graph.edges)
        logits = network()(*parts).double().numpy().reshape(graph.near.shape)
    return sorted_heatmap(graph.near, graph.lengths, 0.5 / (1.0 + np.exp(-symmetric(graph.near, logits))))


def sorted_heatmap(near: NDArray[np.int32], lengths: NDArray[np.float64], weights: NDArray[np.float64]) -> Heatmap:
    """Return a heatmap whose rows are sorted by decreasing weight, ties by distance.

    Args:
        near: int32 [n, K], the city at the other end of each edge.
        lengths: float64 [n, K], the lengths of the edges.
        weights: float64 [n, K], any numbers; `valid_weights` is applied.
    """
    weights = valid_weights(weights)
    order = np.lexsort((lengths, -weights), axis=1)
    return Heatmap(*(np.ascontiguousarray(np.take_along_axis(part, order, 1)) for part in (near, lengths, weights)))


def valid_weights(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the weights clipped to 0 .. 1e6, float64 [n, K]; NaN becomes 0, and then a row of zeros becomes a row of ones."""
    clean = np.clip(np.nan_to_num(weights.astype(np.float64), nan=0.0, posinf=1e6, neginf=0.0), 0.0, 1e6)
    clean[clean.sum(1) <= 0.0] = 1.0
    return clean


def network() -> GatedGraphNetwork:
    """Return the shipped network."""
    from corl.networks.checkpoints import load_cached_as
    from corl.networks.graph import GatedGraphNetwork

    return load_cached_as(GatedGraphNetwork, NETWORK)
