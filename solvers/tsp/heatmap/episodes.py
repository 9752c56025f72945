"""The published search, in episodes: construct a tour by weights, improve it by 2-opt, then sample actions until many fail.

Fu, Qiu & Zha (2021) call construction and 2-opt "state initialisation"; 2-opt moves update the weights, too. The weights W and
the visits Q of edges are kept from one episode to the next.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.problems.tsp.metric import distance
from corl.rng import below, uniform
from corl.solvers.tsp.heatmap.actions import add_visit, learn, simulate
from corl.solvers.tsp.heatmap.state import ACTIONS, BEST, CITIES, CURRENT, FAILURES, PAIRS, PHASE
from corl.solvers.tsp.tours.array_tour import city_after, forget, reverse_path

__all__ = ["episodes"]

_CONSTRUCT, _DESCEND, _SAMPLE = range(3)
_CITIES_PER_UNIT = 100  # cities of construction or of 2-opt that count as one unit of work


@kernel
def episodes(metric, mcts, parameters, units):
    """Do `units` units of work, in place: 100 cities of construction or of 2-opt, or one action."""
    n = len(mcts.tour.order)
    for _ in range(units):
        if mcts.counts[PHASE] == _CONSTRUCT:
            _construct(metric, mcts)
        elif mcts.counts[PHASE] == _DESCEND:
            _descend(metric, mcts, parameters)
        else:
            gain = simulate(metric, mcts, parameters, below(mcts.random, n), True)
            forget(mcts.tour)
            mcts.counts[FAILURES] += 1
            if gain > 0.0:
                mcts.length[CURRENT] -= gain
                learn(mcts, parameters, gain)
                mcts.counts[FAILURES] = 0
            elif mcts.counts[FAILURES] >= parameters.tries:
                _keep_best(mcts, parameters.tolerance)
                mcts.counts[PHASE], mcts.counts[CITIES] = _CONSTRUCT, 0


@kernel
def _keep_best(mcts, tolerance):
    """Copy the current tour to `best` if it is shorter by more than `tolerance`."""
    if mcts.length[CURRENT] < mcts.length[BEST] - tolerance:
        mcts.length[BEST] = mcts.length[CURRENT]
        mcts.best[:] = mcts.tour.order


@kernel(borrow=True)
def _construct(metric, mcts):
    """Visit up to 100 more cities, each drawn from the unvisited cities with probability proportional to e^W.

    W is 0 for cities that are not candidates of the last city.

    The cities order[:counts[CITIES]] are visited, the later ones are not; `order` is always a permutation.
    """
    n = len(mcts.tour.order)
    if mcts.counts[CITIES] == 0:
        mcts.length[CURRENT] = math.inf
        _visit(mcts, below(mcts.random, n), 0)
        mcts.counts[CITIES] = 1
    for m in range(mcts.counts[CITIES], min(n, mcts.counts[CITIES] + _CITIES_PER_UNIT)):
        _visit(mcts, _next_city(mcts, mcts.tour.order[m - 1], m), m)
        mcts.counts[CITIES] = m + 1
    if mcts.counts[CITIES] == n:
        total = 0.0
        for i in range(n):
            total += distance(metric, mcts.tour.order[i - 1], mcts.tour.order[i])
        mcts.length[CURRENT] = total
        mcts.counts[PHASE], mcts.counts[CITIES], mcts.counts[FAILURES] = _DESCEND, 0, 0


@kernel(inline=True, borrow=True)
def _visit(mcts, city, m):
    """Exchange `city` with the city at position m of `order`."""
    i, other = mcts.tour.position[city], mcts.tour.order[m]
    mcts.tour.order[m], mcts.tour.order[i] = city, other
    mcts.tour.position[city], mcts.tour.position[other] = m, i


@kernel(borrow=True)
def _next_city(mcts, city, m):
    """Draw an unvisited city (position m or later) to follow `city`: candidates with weight e^(W - top), others with e^-top.

    `top` is the greatest W, whose subtraction prevents overflow.
    """
    near, weight = mcts.near, mcts.weight
    k, unvisited = near.shape[1], len(mcts.tour.order) - m
    top, listed = 0.0, 0
    for c in range(k):
        if mcts.tour.position[near[city, c]] >= m:
            top = max(top, weight[city, c])
            listed += 1
    others = (unvisited - listed) * math.exp(-top)
    total = others
    for c in range(k):
        if mcts.tour.position[near[city, c]] >= m:
            total += math.exp(weight[city, c] - top)
    threshold, drawn = uniform(mcts.random) * total, -1
    for c in range(k):
        if mcts.tour.position[near[city, c]] >= m:
            drawn = near[city, c]
            threshold -= math.exp(weight[city, c] - top)
            if threshold < 0.0:
                return drawn
    if unvisited == listed:
        return drawn
    while True:  # draw until the city is not a candidate: rarely more than a few times, since lists are short
        other = mcts.tour.order[m + below(mcts.random, unvisited)]
        is_listed = False
        for c in range(k):
            is_listed = is_listed or near[city, c] == other
        if not is_listed:
            return other


@kernel(borrow=True)
def _descend(metric, mcts, parameters):
    """Try 2-opt moves at up to 100 more cities, in sweeps over all cities until a sweep makes no move.

    Tried moves count as actions, and improving moves update the weights. The moves made in a sweep are counted in FAILURES.
    """
    n = len(mcts.tour.order)
    for i in range(mcts.counts[CITIES], min(n, mcts.counts[CITIES] + _CITIES_PER_UNIT)):
        for c in range(parameters.candidates):
            if _two_opt(metric, mcts, parameters, i, c):
                mcts.counts[FAILURES] += 1
                break
        mcts.counts[CITIES] = i + 1
    if mcts.counts[CITIES] == n:
        mcts.counts[CITIES] = 0
        if mcts.counts[FAILURES] == 0:
            mcts.counts[PHASE] = _SAMPLE
        mcts.counts[FAILURES] = 0


@kernel(borrow=True)
def _two_opt(metric, mcts, parameters, i, c):
    """Link city i to its candidate number c, and their successors to each other, if that shortens the tour.

    Returns whether it did.
    """
    j = mcts.near[i, c]
    i_next, j_next = city_after(mcts.tour, i, True), city_after(mcts.tour, j, True)
    if i_next == j or j_next == i:
        return False
    mcts.counts[ACTIONS] += 1
    if parameters.alpha > 0.0:
        mcts.visits[i, c] += 1
        add_visit(mcts, j, i)
        add_visit(mcts, i_next, j_next)
        add_visit(mcts, j_next, i_next)
    gain = distance(metric, i, i_next) + distance(metric, j, j_next) - mcts.lengths[i, c] - distance(metric, i_next, j_next)
    if gain <= parameters.tolerance:
        return False
    reverse_path(mcts.tour, i_next, j, True)
    forget(mcts.tour)
    mcts.length[CURRENT] -= gain
    mcts.ends[0], mcts.ends[1], mcts.ends[2], mcts.ends[3] = i_next, i, j, j_next
    mcts.counts[PAIRS] = 2
    learn(mcts, parameters, gain)
    return True
