"""Small instances of orienteering, and the best score by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from corl import registry
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.instance import TspInstance
from corl.routing.edge_weights import COORDINATE_TYPES, edge_lengths
from support.playing import tiny_graph

CHEAP = "ruin-recreate"
LARGE = {"orienteering": ("generation-1", {"size": 5000})}

BUSY = ("generation-2", {"size": 300})
TINY_MIXES = 40
PAGE = ("distance", {"size": 12})
HELD: list[Any] = [
    {"points": [[0, 0], [3, 4], [6, 0]], "scores": [0, 5, 3], "limit": 12.5, "start": 0, "end": 2},
    {"matrix": [[0, 2, 3], [2, 0, 4], [3, 4, 0]], "scores": [0, 5, 3], "limit": 9, "ids": [4, 5, 6]},
]
RECORDED = ("ruin-recreate",)
GOLDENS = {
    "equal": ("generation-1", {"size": 30, "seed": 1}),
    "near": ("generation-3", {"size": 40, "share": 0.4, "seed": 2}),
}
GOLDEN_SOLVES = """
ortools equal - engine +ortools
ruin-recreate equal 300
ruin-recreate near 300
"""
GOLDEN_NETWORKS = "equal"


def random_instance(n: int, kind: str = "EUC_2D", seed: int = 0, closed: bool = True) -> OrienteeringInstance:
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


def mixed_instance(seed: int) -> OrienteeringInstance:
    """Up to six nodes, every edge-weight type, open and closed, limits that are often 0, or just enough, or too short."""
    random = np.random.default_rng(seed)
    n, kinds = int(random.integers(1, 7)), (*COORDINATE_TYPES, "EXPLICIT")
    kind = kinds[seed % len(kinds)]
    points, matrix = tiny_graph(random, n, kind)
    if matrix is not None:
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    far = edge_lengths(kind, points, matrix, *np.divmod(np.arange(n * n), n))
    limits = (0.0, 0.5, 1.0, far.max(), far.sum() * random.random() / n, 2.0 * far.max() * random.random())
    start, end = (int(each) for each in random.integers(0, n, 2))
    scores = random.integers(0, 10, n).astype(float) if random.random() < 0.6 else random.random(n)
    graph = TspInstance(f"mixed-{seed}", kind, points, matrix=matrix)
    end = start if random.random() < 0.4 else end
    return OrienteeringInstance(graph, scores, float(random.choice(limits)), start, end, f"mixed-{seed}")


def most(instance: OrienteeringInstance) -> float:
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


def sample(seed: int) -> OrienteeringInstance:
    """An instance of up to nine nodes, of a kind by the seed."""
    kind = ("EUC_2D", "EXACT_2D", "CEIL_2D", "GEO", "EXPLICIT")[seed // 100 % 5]
    return random_instance(2 + seed % 8, kind, seed, closed=seed // 1000 % 2 == 0)


def solved(seed: int) -> tuple[OrienteeringInstance, float | None]:
    """A tiny instance with its optimum; None where no path is short enough."""
    instance = mixed_instance(seed)
    best = most(instance)
    return instance, best if math.isfinite(best) else None


def _graph(*points: tuple[float, float]) -> TspInstance:
    return TspInstance("points", "EUC_2D", np.array(points, float))


def kinds() -> dict[str, Callable[[], Any]]:
    """By a name: instances that take other ways through the solvers."""
    types = ("EUC_2D", "EXACT_2D", "CEIL_2D", "GEO", "EXPLICIT")
    return {
        f"{kind} {'closed' if closed else 'open'}": partial(random_instance, 20, kind, 1, closed)
        for kind in types
        for closed in (True, False)
    }


def smallest() -> list[Any]:
    """Start alone; no way to go; nothing to gain; everything within reach; from one end to another."""
    line = _graph((0.0, 0.0), (0.0, 3.0), (0.0, 5.0))
    score = np.array([1.0, 2.0, 3.0])
    return [
        OrienteeringInstance(_graph((0.0, 0.0)), np.array([1.0]), 0.0), OrienteeringInstance(line, score, 0.0),
        OrienteeringInstance(line, 0.0 * score, 20.0), OrienteeringInstance(line, score, 100.0),
        OrienteeringInstance(line, score, 5.0, 0, 2), OrienteeringInstance(_graph(*[(0.0, 0.0)] * 5), np.ones(5), 0.0),
    ]  # fmt: skip


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    points = np.random.default_rng(0).random((30, 2))
    return [registry.problem("orienteering").adapt({"points": points, "scores": np.ones(30), "limit": 2.0})]
