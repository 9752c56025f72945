"""The neighbours of each client: the clients next to which it may be inserted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, GEO, MANHATTAN, MAXIMUM, Metric
from corl.solvers.vrp.ruin.pairs import fill_keys, pair_distances

__all__ = ["nearest"]

_BLOCK = 4096  # clients whose neighbours are computed at once, which limits memory
_SAMPLE = 512  # size of the sample from which farther neighbours are taken
_CANDIDATE_FACTOR = 3  # with time windows, the `count` neighbours are chosen among this many times as many nearest clients
_WAIT, _LATE = 0.2, 1.0  # weights of waiting and lateness, relative to distance (Vidal et al. 2013)


def nearest(instance: VrpInstance, metric: Metric, count: int, farther: int = 0) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each client's neighbours, the most promising first, and the distances to them.

    The first `count` neighbours are the nearest clients by the shorter of the distances in both directions. With time windows,
    they are the clients for which distance, waiting and lateness are least if one of the two clients directly follows the other,
    in the better of both orders.

    The last `farther` neighbours are sampled among all other clients, more densely among closer ones. In a cluster of more than
    `count` clients, the nearest clients alone would never include a client on a route that passes the cluster.

    Args:
        instance: The instance.
        metric: The distances by which clients are near.
        count: The number of nearest neighbours.
        farther: The number of farther neighbours.

    Returns:
        near: int32 [n, K], the neighbours; K is `count + farther`, but at most n - 1.
        apart: float64 [n, K], the distances to them.
    """
    n = instance.clients
    count = min(count, n - 1)
    farther = min(farther, n - 1 - count)
    if count == 0:
        return np.zeros((n, 0), np.int32), np.zeros((n, 0))
    candidate_count = min(n - 1, _CANDIDATE_FACTOR * count) if instance.windows else count
    near = np.empty((n, count + farther), np.int32)
    apart = np.empty((n, count + farther))
    sample = np.sort(np.random.default_rng(n).permutation(n)[: max(_SAMPLE, 2 * (count + farther) + 2)])
    for start in range(0, n, _BLOCK):
        block = np.arange(start, min(n, start + _BLOCK))
        found = _closest(instance, metric, block, candidate_count)
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
    """Return int64 [rows, count]: farther neighbours of the clients in `block`, closest first.

    The clients of the sample that are not in `found` are ranked by distance; those at geometrically growing ranks are taken.

    Args:
        instance: The instance.
        metric: The distances.
        block: int64 [rows], clients.
        found: int64 [rows, k], the nearest neighbours of each client in `block`.
        sample: int64 [S], a sample of all clients, in increasing order.
        count: The number of farther neighbours of each client.
    """
    others = np.broadcast_to(sample, (len(block), len(sample)))
    if instance.windows:
        apart = _proximity(instance, metric, block, others)
    else:
        apart = pair_distances(metric, block + instance.depots, others + instance.depots)
    column_of = np.full(instance.clients, -1)
    column_of[sample] = np.arange(len(sample))
    own_columns = column_of[np.column_stack([block, found])]
    rows, columns = np.nonzero(own_columns >= 0)
    apart[rows, own_columns[rows, columns]] = np.inf
    available = len(sample) - int((own_columns >= 0).sum(axis=1).max())
    ranks = np.geomspace(1, available, count).astype(np.int64)
    for k in range(1, count):  # make the ranks strictly increasing
        ranks[k] = max(ranks[k], ranks[k - 1] + 1)
    return np.take_along_axis(others, _at_ranks(apart, np.minimum(ranks, available) - 1), axis=1)


def _at_ranks(apart: NDArray[np.float64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64 [rows, len(ranks)]: the columns that stand at the given ranks if each row of `apart` is sorted stably."""
    columns = apart.shape[1]
    # Sorting integers that contain the column in their low digits is three to five times faster than argsort.
    for key_type, bits in ((np.int32, 30), (np.int64, 61)):
        keys = np.empty(apart.shape, key_type)
        if fill_keys(apart, keys, 2.0**bits // columns):
            keys.sort(axis=1)
            return np.asarray(keys[:, ranks] % columns, np.int64)
    return np.asarray(np.argsort(apart, axis=1, kind="stable")[:, ranks])


def _closest(instance: VrpInstance, metric: Metric, block: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return int64 [rows, count]: for each client in `block`, the closest other clients, closest first."""
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
    others[others.all(axis=1), -1] = False  # of many clients at one place, one may be missing from its own result
    return np.asarray(found[others].reshape(len(block), count))


def _proximity(instance: VrpInstance, metric: Metric, block: NDArray[np.int64], found: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return float64 [rows, count]: how badly each client in `block` and each client in its row of `found` follow each other.

    The number is the distance plus weighted waiting and lateness if one of the two clients directly follows the other, in the
    better of both orders.
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
