"""Heatmaps: a weight for every candidate edge, from a network, from distances, or from nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import Metric
from corl.solvers.tsp.neighbours.candidates import neighbours

if TYPE_CHECKING:
    from corl.networks.graph import GatedGraphNetwork

__all__ = ["NEAREST", "NETWORK", "Heat", "cleaned", "heat_of", "network", "network_heat", "sorted_heat"]

NETWORK = "tsp-heatmap"
# python tests/studies/tsp_heatmap_prior.py --size 500 --instances 200: seeds 0 to 199, eax with 10 iterations a city (within
# 0.03 % of the best tour known, on 6 instances).
NEAREST = (
    0.44275, 0.25413, 0.13443, 0.07213, 0.04002, 0.02313, 0.01342, 0.00772, 0.00463, 0.00291,
    0.00185, 0.00113, 0.00064, 0.00040, 0.00025, 0.00015, 0.00008, 0.00006, 0.00005, 0.00003,
)  # fmt: skip
"""P(1), P(2), ... as in Pan et al. (2024), for uniform cities; their .442 .256 .134 .071 .041 .024 .013 .008 .0045 agree."""
_LISTED = 10  # edges of a city that have a weight, where no more are asked for


class Heat(NamedTuple):
    """Edges of n cities, K for each, the most likely first."""

    near: NDArray[np.int32]
    """[n, K]"""
    lengths: NDArray[np.float64]
    """[n, K]"""
    heat: NDArray[np.float64]
    """[n, K], from 0; each row sums to at most about 1, and to more than 0."""


def heat_of(instance: TspInstance, metric: Metric, kind: str, candidates: int, temperature: float) -> Heat:
    """The heatmap of that kind with at least `candidates` edges a city, where there are so many.

    metric: the instance's, its cities perhaps renumbered. temperature: of "softmax", in mean distances of a nearest neighbour.
    """
    if kind == "gnn":
        return network_heat(instance, metric)
    near, lengths = neighbours(instance, metric, max(candidates, _LISTED))
    k = near.shape[1]
    if kind == "nearest":
        row = np.interp(np.arange(k), np.arange(len(NEAREST)), NEAREST)
        heat = np.broadcast_to(row, near.shape)
    elif kind == "softmax":
        unit = temperature * float(np.abs(lengths[:, 0]).mean()) or 1.0
        heat = np.exp((lengths[:, :1] - lengths) / unit)
        heat /= heat.sum(1, keepdims=True)
    else:
        heat = np.full(near.shape, 1.0 / max(k, 1))
    return sorted_heat(near, lengths, heat)


def network_heat(instance: TspInstance, metric: Metric) -> Heat:
    """The shipped network's probabilities of its candidate edges, both directions' logits averaged, over two."""
    import torch

    from corl.networks.threads import one_thread
    from corl.solvers.tsp.heatmap.features import edge_graph, links_of, symmetric

    graph = edge_graph(instance, metric)
    with torch.inference_mode(), one_thread():
        parts = torch.from_numpy(graph.nodes), torch.from_numpy(links_of(graph.near)), torch.from_numpy(graph.edges)
        logits = network()(*parts).double().numpy().reshape(graph.near.shape)
    return sorted_heat(graph.near, graph.lengths, 0.5 / (1.0 + np.exp(-symmetric(graph.near, logits))))


def sorted_heat(near: NDArray[np.int32], lengths: NDArray[np.float64], heat: NDArray[np.float64]) -> Heat:
    """Rows in falling order of heat (of equals, the nearest first), whatever the numbers: see `cleaned`."""
    heat = cleaned(heat)
    by = np.lexsort((lengths, -heat), axis=1)
    return Heat(*(np.ascontiguousarray(np.take_along_axis(part, by, 1)) for part in (near, lengths, heat)))


def cleaned(heat: NDArray[np.floating]) -> NDArray[np.float64]:
    """Float64 weights from 0 to 1e6: NaN and less than 0 are 0, and a row of zeros becomes one of ones."""
    clean = np.clip(np.nan_to_num(heat.astype(np.float64), nan=0.0, posinf=1e6, neginf=0.0), 0.0, 1e6)
    clean[clean.sum(1) <= 0.0] = 1.0
    return clean


def network() -> GatedGraphNetwork:
    """The shipped network."""
    from corl.networks.checkpoints import load_cached_as
    from corl.networks.graph import GatedGraphNetwork

    return load_cached_as(GatedGraphNetwork, NETWORK)
