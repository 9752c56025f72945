"""Random instances, identical for a seed on every machine (NumPy's PCG64 streams).

Scores are those of the three "generations" of M. Fischetti, J. Salazar and P. Toth, INFORMS Journal on Computing 10, 1998,
section 5: all 1; pseudo-random; growing with the distance from the depot. In that paper the nodes are those of TSPLIB, and the
limit is half the length of an optimal tour. Here the nodes are uniform in a square, and the limit is a share of the expected
length of an optimal tour. `distance` makes the instances of the learning literature.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.instance import TspInstance
from corl.routing.edge_weights import edge_lengths

__all__ = ["GENERATORS", "distance", "generation_1", "generation_2", "generation_3", "scores"]

_SQUARE_SIDE = 1000  # side of the square in which nodes lie
_TOUR_CONSTANT = 0.7124  # length of an optimal tour over sqrt(nodes * area) (Johnson, McGeoch and Rothberg, 1996)
_MAX_SIZE = 1_000_000  # greatest number of nodes, and greatest value of the option `limit`
_LITERATURE_LIMITS = {20: 2.0, 50: 3.0, 100: 4.0}  # number of nodes -> limit (Kool, van Hoof and Welling, 2019)


def scores(graph: TspInstance, generation: int) -> NDArray[np.float64]:
    """Return the scores of a generation, 1 to 3, for the nodes of `graph`, float64 [n]. The depot is node 0."""
    node = np.arange(graph.n)
    if generation == 1:
        return np.ones(graph.n)
    if generation == 2:
        return np.asarray(1.0 + (7141 * node + 73) % 100, np.float64)
    depot_distance = edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, np.zeros(graph.n, np.int64), node)
    node_scores = 1.0 + np.floor(99.0 * depot_distance / max(1.0, float(depot_distance.max())))
    node_scores[0] = 0.0
    return np.asarray(node_scores)


def generation_1(*, size: int = 400, share: float = 0.5, seed: int = 0) -> OrienteeringInstance:
    """Return an instance whose nodes all score 1. The limit is `share` of the expected length of an optimal tour."""
    return _instance(1, size, share, seed)


def generation_2(*, size: int = 400, share: float = 0.5, seed: int = 0) -> OrienteeringInstance:
    """Return an instance whose node i (0, 1, ...) scores 1 + (7141 i + 73) mod 100."""
    return _instance(2, size, share, seed)


def generation_3(*, size: int = 400, share: float = 0.5, seed: int = 0) -> OrienteeringInstance:
    """Return an instance whose nodes score 1 to 100, growing with the distance from the depot; the depot scores 0."""
    return _instance(3, size, share, seed)


def distance(*, size: int = 100, limit: float = 0.0, seed: int = 0) -> OrienteeringInstance:
    """Return an instance with a depot and `size` nodes uniform in the unit square, distances not rounded, for a closed tour.

    A node scores 0.01 to 1, growing with its distance from the depot: OP20, OP50 and OP100 of Kool, van Hoof and Welling (ICLR
    2019, appendix). A `limit` of 0 stands for theirs: 2 below 50 nodes, 3 below 100 nodes, 4 from 100 nodes on.
    """
    if not 1 <= size <= _MAX_SIZE:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to {_MAX_SIZE:,}")
    if not 0.0 <= limit <= _MAX_SIZE:
        raise UsageError(f"limit: {limit} is not accepted; accepted: 0 to {_MAX_SIZE:,}")
    points = np.random.default_rng(seed).random((size + 1, 2))
    depot_distance = np.hypot(*(points - points[0]).T)
    node_scores = (1.0 + np.floor(99.0 * depot_distance / depot_distance.max())) / 100.0
    node_scores[0] = 0.0
    name, limit_option = f"distance-{size}", f" --option limit={limit!r}" if limit else ""
    comment = f"corl generate orienteering distance --option size={size}{limit_option} --seed {seed}"
    used_limit = limit or _LITERATURE_LIMITS[max((n for n in _LITERATURE_LIMITS if n <= size), default=20)]
    return OrienteeringInstance(TspInstance(name, "EXACT_2D", points), node_scores, used_limit, name=name, comment=comment)


GENERATORS: dict[str, Callable[..., OrienteeringInstance]] = {
    "generation-1": generation_1,
    "generation-2": generation_2,
    "generation-3": generation_3,
    "distance": distance,
}


def _instance(generation: int, size: int, share: float, seed: int) -> OrienteeringInstance:
    """Return an instance of a generation, 1 to 3, whose limit is `share` of the expected length of an optimal tour."""
    if not 1 <= size <= _MAX_SIZE:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to {_MAX_SIZE:,}")
    if not 0.0 <= share <= 10.0:
        raise UsageError(f"share: {share} is not accepted; accepted: 0 to 10")
    points = np.random.default_rng(seed).integers(0, _SQUARE_SIDE, (size, 2)).astype(np.float64)
    name = f"gen{generation}-{size}"
    comment = f"corl generate orienteering generation-{generation} --option size={size} --option share={share!r} --seed {seed}"
    graph = TspInstance(name, "EUC_2D", points)
    limit = float(math.ceil(share * _TOUR_CONSTANT * _SQUARE_SIDE * math.sqrt(size) * (1.0 + 0.33 / size)))
    return OrienteeringInstance(graph, scores(graph, generation), limit, name=name, comment=comment)
