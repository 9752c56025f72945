"""Sampled k-opt actions: simulation, selection by potential, and back-propagation into the weights.

An action is a k-opt move a_1, b_1, a_2, b_2, ...: it removes the tour edges (a_i b_i), adds the edges (b_i a_i+1), and closes the
tour by the edge from the last b to a_1. W is the weight of an edge, Q how often actions have added it, and M the number of
actions. Sources: Fu, Qiu & Zha, Generalize a small pre-trained model to arbitrarily large TSP instances, AAAI 2021, section
"Reinforcement learning by Monte Carlo tree search"; Pan et al., Rethinking the "heatmap + Monte Carlo tree search" paradigm,
2024.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math
from typing import NamedTuple

from corl.jit import kernel
from corl.problems.tsp.metric import distance
from corl.rng import uniform
from corl.solvers.tsp.heatmap.state import ACTIONS, CURRENT, PAIRS
from corl.solvers.tsp.tours.array_tour import city_after, reverse_path, undo

__all__ = ["ActionParameters", "add_visit", "add_weight", "learn", "simulate"]


class ActionParameters(NamedTuple):
    """The parameters of a search, with the paper's symbols."""

    alpha: float
    """The weight of exploration: the factor of the bonus that rarely chosen edges get."""
    beta: float
    """The learning rate: the factor of what an improving action adds to the weights of its new edges (`learn`)."""
    candidates: int
    """C: an action may add only the C edges of greatest initial weight at a city."""
    depth: int
    """D: the greatest number of pairs (a_i, b_i) of an action after the first pair."""
    tries: int
    """In the paper's search (episodes.py), the number of consecutive actions without gain that ends an episode: H for each city.
    In the tuned search (kicks.py), which takes its start cities from a queue, the most actions sampled from one start city."""
    criterion: bool
    """The gain criterion: whether, after each edge added, the removed edges must be longer in total than the added edges."""
    stretch: int
    """The greatest number of cities in each of the three stretches that a kick (a random double bridge) exchanges."""
    most_moved: int
    """The greatest number of cities that one reversal of a path may move in the array."""
    tolerance: float
    """Gains up to this are treated as rounding errors."""


@kernel(inline=True, borrow=True)
def _shifted(mcts, b, a_next):
    """Return about how many cities move in the array if the path from `b` to the city before `a_next` is reversed."""
    n = len(mcts.tour.order)
    size = abs(mcts.tour.position[a_next] - mcts.tour.position[b])
    return min(size, n - size)


@kernel(borrow=True)
def _select(mcts, parameters, a_1, b, gain, explore, forward):
    """Draw the next city a_{i+1} of an action among the candidates of b_i, with probabilities proportional to their potentials Z.

    Z = W / (mean W of the edges at b_i) + alpha sqrt(ln(M + 1) / (Q + 1)); candidates with Z < 1 are not drawn.

    Args:
        mcts: Mcts.
        parameters: ActionParameters.
        a_1: The first city of the action.
        b: The city b_i.
        gain: The length removed minus the length added so far.
        explore: alpha sqrt(ln(M + 1)).
        forward: Whether the tour without its edge from a_1 to b_i, a path from b_i to a_1, runs in the array's direction.

    Returns the column of a_{i+1} in mcts.near[b]; -1 if there is no candidate.
    """
    n = len(mcts.tour.order)
    scale = (n - 1) / mcts.total[b]
    following = city_after(mcts.tour, b, forward)
    total = 0.0
    for c in range(parameters.candidates):
        z = 0.0
        a_next = mcts.near[b, c]
        if a_next != a_1 and a_next != following and not (parameters.criterion and mcts.lengths[b, c] >= gain):
            z = mcts.weight[b, c] * scale
            if explore > 0.0:
                z += explore / math.sqrt(mcts.visits[b, c] + 1.0)
            if z < 1.0 or (parameters.most_moved < n and _shifted(mcts, b, a_next) > parameters.most_moved):
                z = 0.0
        mcts.choice[c] = z
        total += z
    if total <= 0.0:
        return -1
    threshold, chosen = uniform(mcts.random) * total, -1
    for c in range(parameters.candidates):
        if mcts.choice[c] > 0.0:
            chosen = c
            threshold -= mcts.choice[c]
            if threshold < 0.0:
                break
    return chosen


@kernel(borrow=True)
def simulate(metric, mcts, parameters, a_1, forward):
    """Sample one action that begins by removing the edge from `a_1` to the next city in the given direction.

    If the action shortens the tour, the tour remains changed and `ends` holds the action; otherwise the tour is restored. Returns
    the gain, or 0.
    """
    mcts.counts[ACTIONS] += 1
    mark = mcts.tour.logged[0]
    explore = parameters.alpha * math.sqrt(math.log(mcts.counts[ACTIONS] + 0.0)) if parameters.alpha > 0.0 else 0.0
    b = city_after(mcts.tour, a_1, forward)
    gain = distance(metric, a_1, b)
    mcts.ends[0], mcts.ends[1] = a_1, b
    pairs = 1
    while pairs <= parameters.depth:
        c = _select(mcts, parameters, a_1, b, gain, explore, forward)
        if c < 0:
            break
        a_next = mcts.near[b, c]
        b_next = city_after(mcts.tour, a_next, not forward)
        if parameters.alpha > 0.0:
            mcts.visits[b, c] += 1
            add_visit(mcts, a_next, b)
        gain += distance(metric, a_next, b_next) - mcts.lengths[b, c]
        forward = reverse_path(mcts.tour, b, b_next, forward)
        b = b_next
        mcts.ends[2 * pairs], mcts.ends[2 * pairs + 1] = a_next, b
        pairs += 1
        closed = gain - distance(metric, b, a_1)
        if closed > parameters.tolerance:
            mcts.counts[PAIRS] = pairs
            return closed
    undo(mcts.tour, mark)
    return 0.0


@kernel(borrow=True)
def add_visit(mcts, i, j):
    """Count one more choice of the edge from city i to city j, if j is among the candidates of i."""
    for c in range(mcts.near.shape[1]):
        if mcts.near[i, c] == j:
            mcts.visits[i, c] += 1


@kernel(borrow=True)
def learn(mcts, parameters, gain):
    """Back-propagation: W(b_i, a_{i+1}) += beta (exp(gain / length) - 1) for the edges that the action in `ends` added, in place.

    `length` is the length of the tour before the action, mcts.length[CURRENT] + gain.
    """
    old_length = mcts.length[CURRENT] + gain
    if parameters.beta <= 0.0 or old_length <= 0.0:
        return
    step = parameters.beta * math.expm1(gain / old_length)
    pairs = mcts.counts[PAIRS]
    for i in range(pairs):
        b, a_next = mcts.ends[2 * i + 1], mcts.ends[2 * i + 2 if i + 1 < pairs else 0]
        add_weight(mcts, b, a_next, step)
        add_weight(mcts, a_next, b, step)


@kernel(borrow=True)
def add_weight(mcts, i, j, step):
    """Add `step` to the weight of the edge from city i to city j, if j is among the candidates of i."""
    for c in range(mcts.near.shape[1]):
        if mcts.near[i, c] == j:
            mcts.weight[i, c] += step
            mcts.total[i] += step
