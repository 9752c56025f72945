"""Ruin: strings of clients are removed from routes near a random client, the seed.

Christiaens & Vanden Berghe, Slack Induction by String Removals for Vehicle Routing Problems, Transportation Science 54 (2020),
section 5.2.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below, uniform
from corl.solvers.vrp.ruin.constrained_insertion import awaits_insertion, must_serve, real_clients, removable
from corl.solvers.vrp.ruin.repair import repair_route
from corl.solvers.vrp.ruin.routes import remove, retime_backward, retime_forward
from corl.solvers.vrp.ruin.state import DONE, LOGGED, REMOVED, SERVED, TOUCHED, USED

__all__ = ["ruin"]

_LONGEST = 10.0  # the paper's L max: greatest number of clients in a string
_MEAN = 10.0  # the paper's c bar: mean number of clients removed in an iteration
_SPLIT = 0.5  # the paper's alpha: probability that a substring inside the string is kept
_TRY = 0.5  # probability that an unserved client near the seed is tried again
_GROW = 0.01  # the paper's beta: probability that the kept substring grows by one


@kernel(borrow=True)
def ruin(data, plan, work):
    """Remove strings; their clients are then in `work.removed`. Return the change in cost."""
    work.counts[REMOVED] = work.counts[LOGGED] = work.counts[TOUCHED] = 0
    change = 0.0
    if plan.counts[SERVED] == 0 and not data.has_optional:
        return change
    random, now = work.random, plan.counts[DONE] + 1
    seed = below(random, real_clients(data, data.rules))
    longest = min(_LONGEST, plan.counts[SERVED] / max(1, plan.counts[USED]))
    strings = int(uniform(random) * (4.0 * _MEAN / (1.0 + longest) - 1.0) + 1.0)
    for a in range(-1, data.near.shape[1]):
        client = seed if a < 0 else data.near[seed, a]
        slot = plan.route[client]
        if slot < 0:
            optional = data.has_optional and data.prize[client] < math.inf and uniform(random) < _TRY
            optional = optional and _untouched(work, client) and awaits_insertion(data, plan, data.rules, client)
            if optional and not must_serve(data, plan, data.rules, client):
                work.removed[work.counts[REMOVED]] = client
                work.counts[REMOVED] += 1
            continue
        if strings == 0:
            if not data.has_optional:
                break
            continue
        if work.stamp[slot] != now:
            work.stamp[slot] = now
            since = work.counts[REMOVED]
            change += _take_string(data, plan, work, client, slot, longest)
            change += repair_route(data, plan, work, data.rules, slot, since)
            strings -= 1
    return change


@kernel(borrow=True)
def _untouched(work, client):
    """Return whether an unserved client was unserved before this iteration, too."""
    logged = False
    for k in range(work.counts[LOGGED]):
        logged |= work.client[k] == client
    return not logged


@kernel(inline=True, borrow=True)
def _take_string(data, plan, work, client, slot, longest):
    """Remove a random string that includes `client` from its route; return the change in cost.

    longest: the greatest length of the string, as a float.
    """
    random, size = work.random, plan.size[slot]
    length = min(size, int(uniform(random) * min(float(size), longest) + 1.0))
    kept = 0
    if 1 < length < size and uniform(random) < _SPLIT:
        kept = 1
        while length + kept < size and uniform(random) < _GROW:
            kept += 1
    span, depot = length + kept, data.clients + slot
    back, node = 0, client
    while back < span - 1 and plan.prev[node] != depot:
        node = plan.prev[node]
        back += 1
    ahead, node = 0, client
    while ahead < span - 1 and plan.next[node] != depot:
        node = plan.next[node]
        ahead += 1
    least = span - 1 - ahead
    offset = least + below(random, back - least + 1)
    node = client
    for _ in range(offset):
        node = plan.prev[node]
    keep_from = span if kept == 0 else 1 + below(random, length - 1)
    before, change = plan.prev[node], 0.0
    for position in range(span):
        successor = plan.next[node]
        if (position < keep_from or position >= keep_from + kept) and removable(data.rules, node):
            work.removed[work.counts[REMOVED]] = node
            work.counts[REMOVED] += 1
            change += remove(data, plan, work, node)
        node = successor
    if data.timed and plan.size[slot] > 0:
        retime_forward(data, plan, plan.next[before], node)
        retime_backward(data, plan, plan.prev[node], before)
    return change
