"""The tuned search: kick the current tour and repair it by actions from the changed cities; undo both unless it is shorter.

The actions, their weights and visits are those of Fu, Qiu & Zha (2021). Three things differ. Actions begin only at cities whose
edges have changed (they are queued), in both directions. An action ends once it cannot shorten the tour (gain criterion). A kick,
which is a local double bridge at a random place (Martin, Otto & Felten 1991), replaces the restart from a new tour.
"""

from __future__ import annotations

from corl.jit import kernel
from corl.problems.tsp.metric import Metric
from corl.rng import below
from corl.solvers.tsp.heatmap.actions import ActionParameters, learn, simulate
from corl.solvers.tsp.heatmap.state import CURRENT, PAIRS, PHASE, Mcts
from corl.solvers.tsp.tours.array_tour import forget, log_is_full, reverse_path, undo
from corl.solvers.tsp.tours.city_queue import enqueue, next_in_queue
from corl.solvers.tsp.tours.double_bridge import bridge_cost, bridge_ends, draw_sizes

__all__ = ["begin", "kicks"]

_DESCEND, _KICK = range(2)  # phases of the search
_CITIES_PER_UNIT = 100  # queued cities of the first descent that count as one unit of work


@kernel
def begin(mcts: Mcts) -> None:
    """Queue every city in tour order."""
    for city in mcts.tour.order:
        enqueue(mcts.queue, city)


@kernel
def kicks(metric: Metric, mcts: Mcts, parameters: ActionParameters, units: int) -> None:
    """Do `units` units of work, in place. For n >= 8.

    A unit is 100 queued cities during the first descent from the initial tour, and a kick with its repair afterwards.
    """
    n = len(mcts.tour.order)
    for _ in range(units):
        if mcts.counts[PHASE] == _DESCEND:
            _settle(metric, mcts, parameters, _CITIES_PER_UNIT)
            forget(mcts.tour)
            mcts.counts[PHASE] = _KICK if mcts.queue.ring[1] == 0 else _DESCEND
            continue
        old_length = mcts.length[CURRENT]
        _kick(metric, mcts, parameters.stretch)
        _settle(metric, mcts, parameters, n * n)
        if mcts.length[CURRENT] >= old_length - parameters.tolerance:
            undo(mcts.tour, 0)
            mcts.length[CURRENT] = old_length
        forget(mcts.tour)


@kernel(borrow=True)
def _settle(metric: Metric, mcts: Mcts, parameters: ActionParameters, cities: int) -> None:
    """Sample actions at up to `cities` queued cities, in place, until the queue is empty; changes remain in the tour's log."""
    for _ in range(cities):
        if mcts.queue.ring[1] == 0:
            return
        city = next_in_queue(mcts.queue)
        for t in range(parameters.tries):
            if log_is_full(mcts.tour, parameters.depth + 1):
                break
            gain = simulate(metric, mcts, parameters, city, t & 1 == 0)
            if gain > 0.0:
                mcts.length[CURRENT] -= gain
                learn(mcts, parameters, gain)
                for e in range(2 * mcts.counts[PAIRS]):
                    enqueue(mcts.queue, mcts.ends[e])
                break


@kernel(borrow=True)
def _kick(metric: Metric, mcts: Mcts, stretch: int) -> None:
    """Apply a double bridge at a random place, in place, and queue the cities at the changed edges.

    A B C D becomes A D C B, by reversing the whole of B C D and then each of D, C and B.
    """
    tour, ends, n = mcts.tour, mcts.ends, len(mcts.tour.order)
    b, c, d = draw_sizes(mcts.random, min(stretch, (n - 2) // 3))
    bridge_ends(tour.order, below(mcts.random, n), b, c, d, ends)
    mcts.length[CURRENT] += bridge_cost(metric, ends)
    forward = reverse_path(tour, ends[1], ends[6], True)
    for k in (6, 4, 2):
        forward = reverse_path(tour, ends[k], ends[k - 1], forward)
    for k in (0, 7, 1, 2, 3, 4, 5, 6):
        enqueue(mcts.queue, ends[k])
