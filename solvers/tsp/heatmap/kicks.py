"""The tuned search: kick a short stretch of the incumbent, repair it by actions from the cities at the changes, or undo.

The actions, their weights and visits are the paper's. What is ours: actions begin where something changed (a queue of
cities) in both directions, are given up once they cannot gain, and a restart is a double bridge of three neighbouring
stretches (Martin, Otto & Felten 1991) instead of a new tour.
"""

from __future__ import annotations

from corl.jit import kernel
from corl.problems.tsp.metric import distance
from corl.rng import below
from corl.solvers.tsp.heatmap.actions import learn, simulate
from corl.solvers.tsp.heatmap.state import log_is_full, reverse_path, undo

__all__ = ["begin", "kicks"]

_DESCENT = 100  # queued cities of the first descent that count as one unit


@kernel
def begin(mcts):
    """Queue every city in tour order."""
    for city in mcts.order:
        _enqueue(mcts, city)


@kernel(inline=True)
def _enqueue(mcts, city):
    if not mcts.queued[city]:
        n = len(mcts.queue)
        at = mcts.counts[2] + mcts.counts[3]
        mcts.queue[at if at < n else at - n] = city
        mcts.queued[city] = True
        mcts.counts[3] += 1


@kernel(inline=True)
def _dequeue(mcts):
    n = len(mcts.queue)
    city = mcts.queue[mcts.counts[2]]
    mcts.counts[2] = mcts.counts[2] + 1 if mcts.counts[2] + 1 < n else 0
    mcts.counts[3] -= 1
    mcts.queued[city] = False
    return city


@kernel
def kicks(metric, mcts, rules, units):
    """Do `units` units of work: 100 queued cities or, once the first descent is over, a kick with its repair. n >= 8."""
    for _ in range(units):
        if mcts.counts[5] == 0:
            _settle(metric, mcts, rules, _DESCENT)
            mcts.counts[1] = 0
            mcts.counts[5] = mcts.counts[3] == 0
            continue
        before = mcts.length[0]
        _kick(metric, mcts, rules.stretch)
        _settle(metric, mcts, rules, len(mcts.queue) * len(mcts.queue))
        if mcts.length[0] >= before - rules.least:
            undo(mcts, 0)
            mcts.length[0] = before
        mcts.counts[1] = 0


@kernel
def _settle(metric, mcts, rules, cities):
    """Sample actions from queued cities, at most `cities` of them, until the queue is empty; the log grows."""
    for _ in range(cities):
        if mcts.counts[3] == 0:
            return
        city = _dequeue(mcts)
        for t in range(rules.tries):
            if log_is_full(mcts):
                break
            gain = simulate(metric, mcts, rules, city, t & 1 == 0)
            if gain > 0.0:
                mcts.length[0] -= gain
                learn(mcts, rules, gain)
                for e in range(2 * mcts.counts[4]):
                    _enqueue(mcts, mcts.ends[e])
                break


@kernel
def _kick(metric, mcts, stretch):
    """Stretches B C D at a random place become D C B; queues the eight cities at the changed edges."""
    order, n = mcts.order, len(mcts.order)
    widest = min(stretch, (n - 2) // 3)
    b, c, d = 1 + below(mcts.random, widest), 1 + below(mcts.random, widest), 1 + below(mcts.random, widest)
    start = below(mcts.random, n)
    before, after = order[start - 1 if start > 0 else n - 1], order[(start + b + c + d) % n]
    b1, b2 = order[start], order[(start + b - 1) % n]
    c1, c2 = order[(start + b) % n], order[(start + b + c - 1) % n]
    d1, d2 = order[(start + b + c) % n], order[(start + b + c + d - 1) % n]
    mcts.length[0] += distance(metric, before, d1) + distance(metric, d2, c1) + distance(metric, c2, b1)
    mcts.length[0] += distance(metric, b2, after) - distance(metric, before, b1) - distance(metric, b2, c1)
    mcts.length[0] -= distance(metric, c2, d1) + distance(metric, d2, after)
    forward = reverse_path(mcts, b1, d2, True)
    forward = reverse_path(mcts, d2, d1, forward)
    forward = reverse_path(mcts, c2, c1, forward)
    reverse_path(mcts, b2, b1, forward)
    for city in (before, after, b1, b2, c1, c2, d1, d2):
        _enqueue(mcts, city)
