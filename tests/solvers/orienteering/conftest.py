"""Shared by the tests of orienteering: small random instances, and the best score by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from corl.edge_weights import edge_lengths
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.instance import TspInstance


def _random_instance(n: int, kind: str = "EUC_2D", seed: int = 0, closed: bool = True) -> OrienteeringInstance:
    """Scores 0 to 9, a limit of some of the way round; `kind` is an edge-weight type (EXPLICIT: a random matrix)."""
    random = np.random.default_rng([n, seed, closed])
    if kind == "EXPLICIT":
        half = np.triu(random.integers(1, 60, (n, n)), 1).astype(float)
        graph = TspInstance("random", kind, matrix=half + half.T)
    else:
        points = random.random((n, 2)) if kind == "EXACT_2D" else random.integers(0, 60, (n, 2)).astype(float)
        graph = TspInstance("random", kind, points)
    start, end = (0, 0) if closed or n == 1 else (n - 1, 0)
    tour = np.append(np.arange(n), 0)
    around = float(edge_lengths(kind, graph.points, graph.matrix, tour[:-1], tour[1:])[: n if n > 1 else 0].sum())
    direct = 0.0 if start == end else float(edge_lengths(kind, graph.points, graph.matrix, np.array([start]), np.array([end]))[0])
    scores = random.integers(0, 10, n).astype(float)
    return OrienteeringInstance(graph, scores, max(direct, around * random.random()), start, end, "random")


def _most(instance: OrienteeringInstance) -> float:
    """The best score over all orders of all subsets, of at most about seven nodes; -inf where no path is short enough."""
    n, graph = instance.n, instance.graph
    tails, heads = np.divmod(np.arange(n * n), n)
    distances = edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, tails, heads).reshape(n, n).tolist()
    others = [i for i in range(n) if i not in (instance.start, instance.end)]
    best = -math.inf
    for size in range(len(others) + 1):
        for inner in itertools.permutations(others, size):
            path = [instance.start, *inner, instance.end]
            if sum(distances[a][b] for a, b in itertools.pairwise(path) if a != b) <= instance.limit * (1 + 1e-12):
                best = max(best, float(instance.scores[list(set(path))].sum()))
    return best


@pytest.fixture(scope="session")
def random_instance():
    """A function (n, kind, seed, closed) -> OrienteeringInstance."""
    return _random_instance


@pytest.fixture(scope="session")
def most():
    """A function: the best score of an instance of at most about seven nodes."""
    return _most
