"""Small graphs of every edge-weight type."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from corl import registry
from corl.problems.tsp.instance import COORDINATE_TYPES, EDGE_WEIGHT_TYPES, TspInstance
from corl.routing.edge_weights import edge_lengths
from support.playing import tiny_graph

CHEAP = "ils"
LARGE = {"tsp": ("uniform", {"size": 20000}), "atsp": ("asymmetric", {"size": 1000})}
LESS_LARGE = {"tsp-400": ("uniform", {"size": 400})}

BUSY = ("uniform", {"size": 300})
TINY_MIXES = 40
PAGE = ("uniform", {"size": 12})
HELD: list[Any] = [[[0.0, 1.0], [2.0, 3.0], [4.0, 0.0], [1.0, 1.0]], [[0, 2, 3], [2, 0, 4], [3, 4, 0]]]
COMPILATION = 40
RECORDED = (
    "eax",
    "exact",
    "ils",
)
GOLDENS = {
    "asymmetric": ("asymmetric", {"size": 12, "seed": 1}),
    "globe": ("uniform", {"size": 25, "edge_weight_type": "GEO", "seed": 2}),
    "larger": ("asymmetric", {"size": 40, "seed": 3}),
    "plane": ("uniform", {"size": 40, "seed": 4}),
    "twelve": ("uniform", {"size": 12, "seed": 5}),
}
GOLDEN_SOLVES = """
eax globe 60
eax plane 60
exact asymmetric - proof
exact plane - proof +pyscipopt
exact twelve - proof
fast-tsp plane - engine +fast-tsp
greedy-edge globe -
greedy-edge plane -
heatmap-mcts plane 60
heatmap-mcts plane 60 preset=paper heatmap=gnn +torch
heatmap-mcts globe 60 heatmap=softmax
ils asymmetric 60
ils globe 60
ils larger 80
ils plane 80
muzero twelve 100 network=tsp-muzero +torch
nearest-neighbour plane -
ortools larger - engine +ortools
ortools plane - engine +ortools
policy larger 150 +torch
policy plane 300 +torch
policy twelve 150 decoder=greedy augment=8 network=tsp-muzero +torch
policy twelve 150 decoder=sample network=tsp-muzero +torch
policy twelve 150 decoder=stochastic-beam network=tsp-muzero +torch
policy twelve 150 decoder=without-replacement network=tsp-muzero +torch
tree-search asymmetric 150 +torch
tree-search twelve 200 network=tsp-muzero +torch
tree-search twelve 200 method=puct leaves=4 network=tsp-muzero +torch
"""


def random_instance(kind: str, n: int, seed: int = 0, scale: float = 100.0) -> TspInstance:
    """An instance of an edge-weight type, or of "ATSP"; every third has coordinates on a grid, so that cities coincide."""
    random = np.random.default_rng(seed)
    if kind in ("EXPLICIT", "ATSP"):
        matrix = random.random((n, n)) * scale
        matrix = matrix if kind == "ATSP" else matrix + matrix.T
        return TspInstance("random", "EXPLICIT", matrix=matrix, symmetric=kind != "ATSP", ids=random.permutation(n) + 5)
    dimensions = COORDINATE_TYPES[kind]
    points = (random.random((n, dimensions)) * 2 - 1) * ([90, 180] if kind == "GEO" else scale)
    points = np.round(points, 2)
    if seed % 3 == 0:
        points = np.round(points / 40) * 40
    return TspInstance("random", kind, points, ids=random.permutation(n) + 5)


def sample(seed: int) -> TspInstance:
    """An instance of up to nine cities, of a kind by the seed."""
    return random_instance((*EDGE_WEIGHT_TYPES, "ATSP")[seed % (len(EDGE_WEIGHT_TYPES) + 1)], 1 + seed // 100 % 9, seed)


def solved(seed: int) -> tuple[TspInstance, float]:
    """Of every edge-weight type, with the shortest tour; matrices with negative entries, symmetric and not."""
    kinds = (*COORDINATE_TYPES, "EXPLICIT")
    random, n = np.random.default_rng(seed), 1 + seed // 3 % 7
    kind = kinds[seed // 2 % len(kinds)] if seed % 2 else "EXPLICIT"
    points, matrix = tiny_graph(random, n, kind, -5 if seed % 3 == 2 else 0)
    symmetric = matrix is None or bool(seed // 2 % 2)
    if matrix is not None and symmetric:
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    tours = (np.array((0, *rest)) for rest in itertools.permutations(range(1, n)))
    best = min(float(edge_lengths(kind, points, matrix, tour, np.roll(tour, -1)).sum()) for tour in tours)
    return TspInstance(f"tiny-{seed}", kind, points, matrix, symmetric=symmetric), best


def _graph(*points: tuple[float, float]) -> TspInstance:
    return TspInstance("points", "EUC_2D", np.array(points, float))


def kinds() -> dict[str, Callable[[], Any]]:
    """Sizes that take different branches."""
    random = np.random.default_rng(0)
    data: dict[str, Any] = {}
    for n in (11, 700):
        matrix = random.random((n, n))
        data |= {f"plane {n}": random.random((n, 2)), f"matrix {n}": matrix + matrix.T, f"asymmetric {n}": matrix}
    data |= {"matrix 40": matrix[:40, :40] + matrix[:40, :40].T, "space 700": random.random((700, 3))}
    data |= {"same 40": np.zeros((40, 2)), "plane 21000": random.random((21_000, 2))}
    adapt = registry.problem("tsp").adapt
    found: dict[str, Callable[[], Any]] = {name: partial(adapt, each) for name, each in data.items()}
    types = (*EDGE_WEIGHT_TYPES, "ATSP")
    return found | {f"{kind} 9": partial(random_instance, kind, 9) for kind in types}


def smallest() -> list[Any]:
    """One city, two, three; all in one place; asymmetric."""
    square = [(0.0, 0.0), (0.0, 3.0), (4.0, 3.0), (4.0, 0.0)]
    several = [_graph(*square[:n]) for n in (1, 2, 3, 4)] + [_graph(*[(1.0, 1.0)] * 6)]
    return [*several, *(TspInstance("a", "EXPLICIT", matrix=np.triu(np.ones((n, n)), 1), symmetric=False) for n in (1, 2, 4))]


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    random, adapt = np.random.default_rng(0), registry.problem("tsp").adapt
    half = random.random((40, 40))
    data = [random.random((40, 2)), np.ones((6, 6)) - np.eye(6), half + half.T, half, random.random((20_001, 2))]
    return [adapt(each) for each in data]
