"""The cheapest position at which a node can be inserted into a path: a kernel of `RuinRecreate`."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.rng import below, next_u64
from corl.routing.metric import distance

__all__ = ["NO_POSITION", "cheapest"]

NO_POSITION = 1e300  # stands for the detour if there is no position
_BLINK_PERIOD = 128  # one in this many positions is skipped (Christiaens and Vanden Berghe: one in a hundred)


@kernel(borrow=True)
def cheapest(search, node):
    """Find the cheapest insertion of a node next to one of its neighbours, a few of which are skipped at random.

    If this finds no position, all positions on the path are considered, with probability 1/8.

    Returns:
        The detour (NO_POSITION if no position was considered) and the predecessor.
    """
    path, random = search.path, search.random
    least_detour, best_predecessor, last = NO_POSITION, 0, len(path.scores) - 1
    bits = next_u64(random)
    for k in range(search.neighbours.shape[1]):
        near = search.neighbours[node, k]
        if not path.on[near]:
            continue
        if bits < np.uint64(2**20):
            bits = next_u64(random)
        if bits % np.uint64(_BLINK_PERIOD) == 0:
            bits = next_u64(random)
            continue
        bits >>= np.uint64(1)
        distance_to = search.lengths[node, k]
        if near != last and 2.0 * (distance_to - path.ahead[near]) < least_detour:  # lower bound, triangle inequality
            detour = distance_to + distance(path.metric, node, path.after[near]) - path.ahead[near]
            if detour < least_detour:
                least_detour, best_predecessor = detour, near
        if near == 0:
            continue
        predecessor = path.before[near]
        if 2.0 * (distance_to - path.ahead[predecessor]) < least_detour:
            detour = distance_to + distance(path.metric, node, predecessor) - path.ahead[predecessor]
            if detour < least_detour:
                least_detour, best_predecessor = detour, predecessor
    if least_detour == NO_POSITION and below(random, 8) == 0:
        node_before = 0
        while node_before != last:
            following = path.after[node_before]
            detour = distance(path.metric, node_before, node) + distance(path.metric, node, following) - path.ahead[node_before]
            if detour < least_detour:
                least_detour, best_predecessor = detour, node_before
            node_before = following
    return least_detour, best_predecessor
