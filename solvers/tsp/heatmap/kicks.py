"""The tuned search: kick a short stretch of the incumbent, repair it by actions from the cities at the changes, or undo.

The actions, their weights and visits are the paper's. What is ours: actions begin where something changed (a queue of
cities) in both directions, are given up once they cannot gain, and a restart is a double bridge of three neighbouring
stretches (Martin, Otto & Felten 1991) instead of a new tour.
"""

from __future__ import annotations

from corl.jit import kernel
from corl.problems.tsp.metric import Metric
from corl.rng import below
from corl.solvers.tsp.heatmap.actions import Rules, learn, simulate
from corl.solvers.tsp.heatmap.state import CURRENT, PAIRS, PHASE, Mcts
from corl.solvers.tsp.tours.array_tour import forget, log_is_full, reverse_path, undo
from corl.solvers.tsp.tours.city_queue import enqueue, next_in_queue
from corl.solvers.tsp.tours.double_bridge import bridge_cost, bridge_ends, draw_sizes

__all__ = ["begin", "kicks"]

_DESCEND, _KICK = range(2)  # phases of the search
_UNIT = 100  # queued cities of the first descent that count as one unit


@kernel
def begin(mcts: Mcts) -> None:
    """Queue every city in tour order."""
    for city in mcts.tour.order:
        enqueue(mcts.queue, city)


@kernel
def kicks(metric: Metric, mcts: Mcts, rules: Rules, units: int) -> None:
    """Do `units` units of work: 100 queued cities or, once the first descent is over, a kick with its repair. n >= 8."""
    n = len(mcts.tour.order)
    for _ in range(units):
        if mcts.counts[PHASE] == _DESCEND:
            _settle(metric, mcts, rules, _UNIT)
            forget(mcts.tour)
            mcts.counts[PHASE] = _KICK if mcts.queue.ring[1] == 0 else _DESCEND
            continue
        before = mcts.length[CURRENT]
        _kick(metric, mcts, rules.stretch)
        _settle(metric, mcts, rules, n * n)
        if mcts.length[CURRENT] >= before - rules.least:
            undo(mcts.tour, 0)
            mcts.length[CURRENT] = before
        forget(mcts.tour)


@kernel(borrow=True)
def _settle(metric: Metric, mcts: Mcts, rules: Rules, cities: int) -> None:
    """Sample actions from queued cities, at most `cities` of them, until the queue is empty; the log grows."""
    for _ in range(cities):
        if mcts.queue.ring[1] == 0:
            return
        city = next_in_queue(mcts.queue)
        for t in range(rules.tries):
            if log_is_full(mcts.tour, rules.depth + 1):
                break
            gain = simulate(metric, mcts, rules, city, t & 1 == 0)
            if gain > 0.0:
                mcts.length[CURRENT] -= gain
                learn(mcts, rules, gain)
                for e in range(2 * mcts.counts[PAIRS]):
                    enqueue(mcts.queue, mcts.ends[e])
                break


@kernel(borrow=True)
def _kick(metric: Metric, mcts: Mcts, stretch: int) -> None:
    """A double bridge at a random place, by reversals of D C B and of each of them; queues the cities at the changed edges."""
    tour, ends, n = mcts.tour, mcts.ends, len(mcts.tour.order)
    b, c, d = draw_sizes(mcts.random, min(stretch, (n - 2) // 3))
    bridge_ends(tour.order, below(mcts.random, n), b, c, d, ends)
    mcts.length[CURRENT] += bridge_cost(metric, ends)
    forward = reverse_path(tour, ends[1], ends[6], True)
    for k in (6, 4, 2):
        forward = reverse_path(tour, ends[k], ends[k - 1], forward)
    for k in (0, 7, 1, 2, 3, 4, 5, 6):
        enqueue(mcts.queue, ends[k])
