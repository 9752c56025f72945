"""Random instances, identical for a seed on every machine (NumPy's PCG64 streams).

Scores are those of the three generations of M. Fischetti, J. Salazar and P. Toth, INFORMS Journal on Computing 10, 1998,
section 5: all 1; pseudo-random; growing with the distance from the depot. Their nodes are TSPLIB's, and their limits are half the
length of an optimal tour; here nodes are uniform in a square, and the limit is a share of the expected length of an optimal tour.
`distance` makes the instances of the learning literature.
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

_SIDE = 1000  # of the square
_TOUR = 0.7124  # times the root of nodes and area: an optimal tour (Johnson, McGeoch and Rothberg, 1996)
_LARGEST = 1_000_000
_LIMITS = {20: 2.0, 50: 3.0, 100: 4.0}


def scores(graph: TspInstance, generation: int) -> NDArray[np.float64]:
    """Return the scores of a generation, 1 to 3, for the nodes of `graph`, float64 [n]; the depot is the first node."""
    number = np.arange(graph.n)
    if generation == 1:
        return np.ones(graph.n)
    if generation == 2:
        return np.asarray(1.0 + (7141 * number + 73) % 100, np.float64)
    far = edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, np.zeros(graph.n, np.int64), number)
    found = 1.0 + np.floor(99.0 * far / max(1.0, float(far.max())))
    found[0] = 0.0
    return np.asarray(found)


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
    2019, appendix). `limit` 0 means 2, from 50 nodes on 3, from 100 nodes on 4.
    """
    if not 1 <= size <= _LARGEST:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to {_LARGEST:,}")
    if not 0.0 <= limit <= _LARGEST:
        raise UsageError(f"limit: {limit} is not accepted; accepted: 0 to {_LARGEST:,}")
    points = np.random.default_rng(seed).random((size + 1, 2))
    far = np.hypot(*(points - points[0]).T)
    found = (1.0 + np.floor(99.0 * far / far.max())) / 100.0
    found[0] = 0.0
    name, given = f"distance-{size}", f" --option limit={limit!r}" if limit else ""
    comment = f"corl generate orienteering distance --option size={size}{given} --seed {seed}"
    longest = limit or _LIMITS[max((n for n in _LIMITS if n <= size), default=20)]
    return OrienteeringInstance(TspInstance(name, "EXACT_2D", points), found, longest, name=name, comment=comment)


GENERATORS: dict[str, Callable[..., OrienteeringInstance]] = {
    "generation-1": generation_1,
    "generation-2": generation_2,
    "generation-3": generation_3,
    "distance": distance,
}


def _instance(generation: int, size: int, share: float, seed: int) -> OrienteeringInstance:
    """Return an instance of a generation, 1 to 3, whose limit is `share` of the expected length of an optimal tour."""
    if not 1 <= size <= _LARGEST:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to {_LARGEST:,}")
    if not 0.0 <= share <= 10.0:
        raise UsageError(f"share: {share} is not accepted; accepted: 0 to 10")
    points = np.random.default_rng(seed).integers(0, _SIDE, (size, 2)).astype(np.float64)
    name = f"gen{generation}-{size}"
    comment = f"corl generate orienteering generation-{generation} --option size={size} --option share={share!r} --seed {seed}"
    graph = TspInstance(name, "EUC_2D", points)
    limit = float(math.ceil(share * _TOUR * _SIDE * math.sqrt(size) * (1.0 + 0.33 / size)))
    return OrienteeringInstance(graph, scores(graph, generation), limit, name=name, comment=comment)
