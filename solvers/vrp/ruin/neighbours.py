"""The clients next to which a client may be inserted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, GEO, MANHATTAN, MAXIMUM, Metric
from corl.solvers.vrp.ruin.pairs import fill_keys, pair_distances

__all__ = ["nearest"]

_ROWS = 4096  # clients per block
_SAMPLE = 512  # size of the sample from which farther neighbours are taken
_WIDER = 3  # with time windows, neighbours are chosen among this multiple of the nearest clients
_WAIT, _LATE = 0.2, 1.0  # weights of waiting and lateness, relative to distance (Vidal et al. 2013)


def nearest(instance: VrpInstance, metric: Metric, count: int, farther: int = 0) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each client's neighbours, the most promising first, and the distances to them.

    Neighbours are sorted by distance (the shorter direction); with time windows by distance, waiting and lateness if one client
    directly follows the other (the better order). The last `farther` come from a sample of all others, the closer ones more
    densely: in a cluster of more than `count` clients, the nearest would never include one on a route that only passes by.

    Args:
        instance: The instance.
        metric: Its distances, by which clients are near.
        count: The number of nearest neighbours.
        farther: The number of farther ones; K is `count + farther`, or n - 1 if that is less.

    Returns:
        near, int32 [n, K], and apart, float64 [n, K].
    """
    n = instance.clients
    count = min(count, n - 1)
    farther = min(farther, n - 1 - count)
    if count == 0:
        return np.zeros((n, 0), np.int32), np.zeros((n, 0))
    wider = min(n - 1, _WIDER * count) if instance.windows else count
    near = np.empty((n, count + farther), np.int32)
    apart = np.empty((n, count + farther))
    sample = np.sort(np.random.default_rng(n).permutation(n)[: max(_SAMPLE, 2 * (count + farther) + 2)])
    for start in range(0, n, _ROWS):
        block = np.arange(start, min(n, start + _ROWS))
        found = _closest(instance, metric, block, wider)
        if instance.windows:
            chosen = np.argsort(_proximity(instance, metric, block, found), axis=1, kind="stable")[:, :count]
            found = np.take_along_axis(found, chosen, axis=1)
        near[block, :count] = found
        if farther:
            near[block, count:] = _farther(instance, metric, block, found, sample, farther)
        apart[block] = pair_distances(metric, block + instance.depots, near[block].astype(np.int64) + instance.depots)
    return near, apart


def _farther(
    instance: VrpInstance,
    metric: Metric,
    block: NDArray[np.int64],
    found: NDArray[np.int64],
    sample: NDArray[np.int64],
    count: int,
) -> NDArray[np.int64]:
    """Return int [rows, count]: clients of the sample that are not in `found`, at ranks that grow geometrically.

    Args:
        instance: The instance.
        metric: Its distances.
        block: int [rows], clients.
        found: int [rows, k], their nearest neighbours.
        sample: int [S], sorted clients.
        count: How many to return for each client.
    """
    others = np.broadcast_to(sample, (len(block), len(sample)))
    if instance.windows:
        apart = _proximity(instance, metric, block, others)
    else:
        apart = pair_distances(metric, block + instance.depots, others + instance.depots)
    place = np.full(instance.clients, -1)
    place[sample] = np.arange(len(sample))
    known = place[np.column_stack([block, found])]
    rows, columns = np.nonzero(known >= 0)
    apart[rows, known[rows, columns]] = np.inf
    left = len(sample) - int((known >= 0).sum(axis=1).max())
    ranks = np.geomspace(1, left, count).astype(np.int64)
    for k in range(1, count):  # strictly increasing
        ranks[k] = max(ranks[k], ranks[k - 1] + 1)
    return np.take_along_axis(others, _at_ranks(apart, np.minimum(ranks, left) - 1), axis=1)


def _at_ranks(apart: NDArray[np.float64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int [rows, len(ranks)]: the column of the number of each rank; of equal numbers the leftmost is first."""
    columns = apart.shape[1]
    # Sorting integers that include their column is three to five times faster than argsort.
    for kind, bits in ((np.int32, 30), (np.int64, 61)):
        keys = np.empty(apart.shape, kind)
        if fill_keys(apart, keys, 2.0**bits // columns):
            keys.sort(axis=1)
            return np.asarray(keys[:, ranks] % columns, np.int64)
    return np.asarray(np.argsort(apart, axis=1, kind="stable")[:, ranks])


def _closest(instance: VrpInstance, metric: Metric, block: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return int [rows, count]: the closest other clients of those in `block`, closest first."""
    depots = instance.depots
    if metric.kind == EXPLICIT:
        matrix = metric.matrix[depots:, depots:]
        rows = np.minimum(matrix[block], matrix[:, block].T)
        rows[np.arange(len(block)), block] = np.inf
        return np.argsort(rows, axis=1, kind="stable")[:, :count]
    from scipy.spatial import cKDTree

    points = metric.points[depots:]
    # Distances grow monotonically with these norms, on the globe too.
    norm = {MANHATTAN: 1.0, MAXIMUM: np.inf}.get(metric.kind, 2.0)
    assert metric.kind != GEO or np.allclose((points**2).sum(axis=1), 1.0)
    _, found = cKDTree(points).query(points[block], count + 1, p=norm)
    others = found != block[:, None]
    others[others.all(axis=1), -1] = False  # among many clients at one place, a client may not be in its own result
    return np.asarray(found[others].reshape(len(block), count))


def _proximity(instance: VrpInstance, metric: Metric, block: NDArray[np.int64], found: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return float64 [rows, count]: how well two clients follow each other directly, in the better order; small is good.

    It is the distance plus weighted waiting and lateness.
    """
    assert instance.earliest is not None and instance.latest is not None
    nodes, others = block[:, None] + instance.depots, found + instance.depots
    service = np.zeros(instance.n) if instance.service is None else instance.service
    latest = np.minimum(instance.latest, 1e15)
    best = np.full(found.shape, np.inf)
    there = pair_distances(metric, nodes[:, 0], others)
    back = there if instance.symmetric else metric.matrix[others, nodes]
    for one, two, d in ((nodes, others, there), (others, nodes, back)):
        wait = np.maximum(0.0, instance.earliest[two] - d - service[one] - latest[one])
        late = np.maximum(0.0, instance.earliest[one] + service[one] + d - latest[two])
        best = np.minimum(best, d + _WAIT * wait + _LATE * late)
    return best
