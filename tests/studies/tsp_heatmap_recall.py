"""How many edges of good tours five candidates a city hold: the nearest, quadrants', alpha-nearness', the network's.

python tests/studies/tsp_heatmap_recall.py --size 500 --instances 16 prints the table; no file keeps it.

An edge is held where either of its cities lists the other. Instances are uniform, from seeds that nothing was trained or tuned
on; the tours are those of eax with 20 iterations a city.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from corl.problems.tsp.generators import uniform
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.registry import solver
from corl.run import Run
from corl.solvers.tsp.heatmap.heatmap import network_heatmap
from corl.solvers.tsp.neighbours.candidates import neighbours
from corl.statistics import Resampling

__all__ = ["KINDS", "alpha_nearest", "main", "recall"]

_FIRST_SEED = 80_000
_LISTED = 5


def recall(near: NDArray[np.int32], tour: NDArray[np.integer]) -> float:
    """The share of a tour's edges that `near` [n, k] lists from either end."""
    a, b = np.asarray(tour), np.roll(tour, -1)
    return float(((near[a] == b[:, None]).any(1) | (near[b] == a[:, None]).any(1)).mean())


def alpha_nearest(instance: TspInstance, k: int, rounds: int = 600) -> NDArray[np.int32]:
    """int32 [n, k]: the k alpha-nearest cities of each (Helsgaun 2000), after subgradient ascent on a 10-neighbour graph.

    alpha(i, j): how much longer the minimum spanning tree becomes when it must have the edge. O(n^2): for experiments.
    """
    n, points = instance.n, instance.points
    assert points is not None
    near, lengths = neighbours(instance, metric_of(instance), 10, 2)
    i, j, d = np.repeat(np.arange(n), near.shape[1]), near.ravel(), lengths.ravel()
    pi: NDArray[np.float64] = np.zeros(n)
    before: NDArray[np.float64] = np.zeros(n)
    step: float = float(lengths[:, 4].mean() - lengths[:, 0].mean())
    best, best_pi = -np.inf, pi
    for r in range(rounds):
        tree = minimum_spanning_tree(csr_array((d + pi[i] + pi[j] + 10.0, (i, j)), (n, n))).tocoo()
        slope = np.bincount(np.concatenate((tree.row, tree.col)), minlength=n).astype(np.float64) - 2.0
        if (weight := tree.data.sum() - 2.0 * pi.sum()) > best:
            best, best_pi = weight, pi
        pi = pi + step * (1.0 - r / rounds) ** 2 * (0.7 * slope + 0.3 * before)
        before = slope
    cost = np.sqrt(((points[:, None] - points[None]) ** 2).sum(2)) + best_pi[:, None] + best_pi[None]
    tree = minimum_spanning_tree(cost - cost.min() + 1.0)  # zeros would be taken for missing edges
    order, parent = breadth_first_order(tree, 0, directed=False)
    most = np.full((n, n), -np.inf)  # the heaviest edge between two cities in the tree
    for at, city in enumerate(order[1:], 1):
        seen, up = order[:at], parent[city]
        most[city, seen] = most[seen, city] = np.maximum(most[up, seen], cost[city, up])
    alpha = cost - most
    np.fill_diagonal(alpha, np.inf)
    return np.lexsort((cost, alpha), axis=1)[:, :k].astype(np.int32)


KINDS: dict[str, Callable[[TspInstance], NDArray[np.int32]]] = {
    "nearest": lambda instance: neighbours(instance, metric_of(instance), _LISTED)[0],
    "quadrants": lambda instance: neighbours(instance, metric_of(instance), _LISTED, 1)[0],
    "alpha": lambda instance: alpha_nearest(instance, _LISTED),
    "gnn": lambda instance: network_heatmap(instance, metric_of(instance)).near[:, :_LISTED],
}
"""Name -> the five candidates of every city, int32 [n, 5]."""


def main() -> None:
    """The command above: for each kind the mean recall in per cent, with its 95 % interval over instances."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--instances", type=int, default=16)
    given = parser.parse_args()
    rows, teacher = np.empty((len(KINDS), given.instances, 1)), solver("tsp", "eax")()
    for number in range(given.instances):
        instance = uniform(size=given.size, edge_weight_type="EXACT_2D", seed=_FIRST_SEED + number)
        run = Run(Tsp(), instance, iterations=20 * given.size)
        teacher.solve(instance, run)
        rows[:, number, 0] = [100.0 * recall(kind(instance), run.solution) for kind in KINDS.values()]
    estimates = Resampling(np.ones(rows.shape[1:], bool)).means(rows)
    for name, estimate in zip(KINDS, estimates):
        print(f"{name:10} {estimate.value:.3f} % [{estimate.low}, {estimate.high}]")


if __name__ == "__main__":
    main()
