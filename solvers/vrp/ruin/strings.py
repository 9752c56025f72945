"""Ruin: strings of clients are taken out of routes near a seed. Christiaens & Vanden Berghe, Slack Induction by String
Removals for Vehicle Routing Problems, Transportation Science 54 (2020), section 5.2."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below, uniform
from corl.solvers.vrp.ruin.placing import mended, movable, must_serve, real_clients, waits
from corl.solvers.vrp.ruin.routes import remove, retime_backward, retime_forward
from corl.solvers.vrp.ruin.state import DONE, LOGGED, REMOVED, SERVED, TOUCHED, USED

__all__ = ["ruin"]

_LONGEST = 10.0  # the paper's L max, clients in a string
_MEAN = 10.0  # the paper's c bar, clients taken out in an iteration
_SPLIT = 0.5  # the paper's alpha: how often a stretch inside the string stays
_TRY = 0.5  # how often a client near the seed that is left out is tried again
_GROW = 0.01  # the paper's beta: how often that stretch is one longer


@kernel(borrow=True)
def ruin(data, plan, work):
    """Take out strings; the clients are then in work.removed. Returns the change of cost."""
    work.counts[REMOVED] = work.counts[LOGGED] = work.counts[TOUCHED] = 0
    change = 0.0
    if plan.counts[SERVED] == 0 and not data.prizes:
        return change
    random, now = work.random, plan.counts[DONE] + 1
    seed = below(random, real_clients(data, data.rules))
    longest = min(_LONGEST, plan.counts[SERVED] / max(1, plan.counts[USED]))
    strings = int(uniform(random) * (4.0 * _MEAN / (1.0 + longest) - 1.0) + 1.0)
    for a in range(-1, data.near.shape[1]):
        client = seed if a < 0 else data.near[seed, a]
        slot = plan.route[client]
        if slot < 0:
            optional = data.prizes and data.prize[client] < math.inf and uniform(random) < _TRY
            optional = optional and _untouched(work, client) and waits(data, plan, data.rules, client)
            if optional and not must_serve(data, plan, data.rules, client):
                work.removed[work.counts[REMOVED]] = client
                work.counts[REMOVED] += 1
            continue
        if strings == 0:
            if not data.prizes:
                break
            continue
        if work.stamp[slot] != now:
            work.stamp[slot] = now
            since = work.counts[REMOVED]
            change += _take_string(data, plan, work, client, slot, longest)
            change += mended(data, plan, work, data.rules, slot, since)
            strings -= 1
    return change


@kernel(borrow=True)
def _untouched(work, client):
    """Whether a client without a route had none before this iteration."""
    logged = False
    for k in range(work.counts[LOGGED]):
        logged |= work.client[k] == client
    return not logged


@kernel(inline=True, borrow=True)
def _take_string(data, plan, work, client, slot, longest):
    """Take a random string around `client` out of its route; returns the change of cost."""
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
        behind = plan.next[node]
        if (position < keep_from or position >= keep_from + kept) and movable(data.rules, node):
            work.removed[work.counts[REMOVED]] = node
            work.counts[REMOVED] += 1
            change += remove(data, plan, work, node)
        node = behind
    if data.timed and plan.size[slot] > 0:
        retime_forward(data, plan, plan.next[before], node)
        retime_backward(data, plan, plan.prev[node], before)
    return change
