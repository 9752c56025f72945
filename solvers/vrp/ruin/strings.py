"""Ruin: strings (sequences of consecutive clients) are removed from the routes near a random client, the seed.

Christiaens & Vanden Berghe, Slack Induction by String Removals for Vehicle Routing Problems, Transportation Science 54 (2020),
section 5.2. A slot is a place for one route (state.py).
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

_MAX_STRING = 10.0  # the paper's L max: greatest number of clients in a string
_MEAN_REMOVED = 10.0  # the paper's c bar: mean number of clients removed in an iteration
_SPLIT = 0.5  # the paper's alpha: probability that a substring inside the string stays in the route
_GROW = 0.01  # the paper's beta: probability that this substring grows by one client
_RETRY = 0.5  # probability that an unserved optional client near the seed is to be inserted again


@kernel(borrow=True, shared=True)
def ruin(data, plan, work):
    """Remove strings from routes, in place, and write their clients to `work.removed`; return the change in cost."""
    work.counts[REMOVED] = work.counts[LOGGED] = work.counts[TOUCHED] = 0
    change = 0.0
    if plan.counts[SERVED] == 0 and not data.has_optional:
        return change
    random, iteration = work.random, plan.counts[DONE] + 1
    seed = below(random, real_clients(data, data.rules))
    longest = min(_MAX_STRING, plan.counts[SERVED] / max(1, plan.counts[USED]))
    strings = int(uniform(random) * (4.0 * _MEAN_REMOVED / (1.0 + longest) - 1.0) + 1.0)
    for a in range(-1, data.near.shape[1]):
        client = seed if a < 0 else data.near[seed, a]
        slot = plan.route[client]
        if slot < 0:
            optional = data.has_optional and data.prize[client] < math.inf and uniform(random) < _RETRY
            optional = optional and _untouched(work, client) and awaits_insertion(data, plan, data.rules, client)
            if optional and not must_serve(data, plan, data.rules, client):
                work.removed[work.counts[REMOVED]] = client
                work.counts[REMOVED] += 1
            continue
        if strings == 0:
            if not data.has_optional:
                break
            continue
        if work.stamp[slot] != iteration:
            work.stamp[slot] = iteration
            since = work.counts[REMOVED]
            change += _take_string(data, plan, work, client, slot, longest)
            change += repair_route(data, plan, work, data.rules, slot, since)
            strings -= 1
    return change


@kernel(borrow=True)
def _untouched(work, client):
    """Return whether an unserved client was unserved before this iteration, too: whether its removal is not logged."""
    logged = False
    for k in range(work.counts[LOGGED]):
        logged |= work.client[k] == client
    return not logged


@kernel(inline=True, borrow=True)
def _take_string(data, plan, work, client, slot, longest):
    """Remove a random string that includes `client` from its route, in place; return the change in cost.

    In half of the cases, a random substring stays in the route, and the string is longer by the length of this substring.

    longest: The greatest number of clients to remove, a float.
    """
    random, size = work.random, plan.size[slot]
    length = min(size, int(uniform(random) * min(float(size), longest) + 1.0))
    substring = 0
    if 1 < length < size and uniform(random) < _SPLIT:
        substring = 1
        while length + substring < size and uniform(random) < _GROW:
            substring += 1
    span, depot = length + substring, data.clients + slot
    clients_before, node = 0, client
    while clients_before < span - 1 and plan.prev[node] != depot:
        node = plan.prev[node]
        clients_before += 1
    clients_after, node = 0, client
    while clients_after < span - 1 and plan.next[node] != depot:
        node = plan.next[node]
        clients_after += 1
    min_offset = span - 1 - clients_after
    offset = min_offset + below(random, clients_before - min_offset + 1)
    node = client
    for _ in range(offset):
        node = plan.prev[node]
    substring_start = span if substring == 0 else 1 + below(random, length - 1)
    before, change = plan.prev[node], 0.0
    for position in range(span):
        successor = plan.next[node]
        if (position < substring_start or position >= substring_start + substring) and removable(data.rules, node):
            work.removed[work.counts[REMOVED]] = node
            work.counts[REMOVED] += 1
            change += remove(data, plan, work, node)
        node = successor
    if data.timed and plan.size[slot] > 0:
        retime_forward(data, plan, plan.next[before], node)
        retime_backward(data, plan, plan.prev[node], before)
    return change
