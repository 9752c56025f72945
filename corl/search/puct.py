"""PUCT search (Silver et al., Science 2018, "AlphaZero").

Constants and value normalisation are those of MuZero (Schrittwieser et al., Nature 2020, appendix B), except that values are
scaled by the extremes of a node and its children, not by those of the whole tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from corl.hooks import attach
from corl.jit import kernel
from corl.options import Options, option
from corl.rng import hashed, mix, uniform
from corl.search import priors, tree
from corl.search.loop import SearchResult, run_search
from corl.search.models import Model

__all__ = ["Puct"]


@dataclass(frozen=True)
class Puct(Options):
    """Options of a PUCT search, and the search itself."""

    simulations: int = option(64, "Leaves added to each tree.", low=1, scale="log")
    exploration: float = option(
        1.25, "c1 of the bonus U = P * sqrt(sum N) / (1 + N) * (c1 + log((sum N + c2 + 1) / c2)); P: prior, N: visits.", low=0
    )
    base: float = option(19652.0, "c2 of the bonus U, see `exploration`.", above=0, scale="log")
    noise: float = option(
        0.0, "Share of Dirichlet noise in the root's prior: 0.25 to train, 0 for a deterministic search.", low=0, high=1
    )
    concentration: float = option(
        0.3, "alpha of the Dirichlet noise; a good value is about 10 / number of actions.", above=0, scale="log"
    )
    temperature: float = option(
        0.0, "The action is drawn in proportion to visits ** (1 / temperature); 0: the most visited one.", low=0
    )
    width: int = option(0, "The number of actions kept per node, those with the largest prior; 0: all.", low=0)
    leaves: int = option(
        1,
        "The greatest number of leaves of a tree evaluated in one call; more make larger batches. A visit that is not yet "
        "evaluated counts as if it had returned the worst value among the node's children (virtual loss).",
        low=1,
    )

    def search(self, model: Model, roots: Any, keys: int | ArrayLike) -> SearchResult:
        """Search from all roots at once.

        Args:
            model: The model to search in.
            roots: B roots, in the form that `model.root` takes.
            keys: A seed, or uint64 [B], one for each tree; the search of a tree depends on its key alone, not on the other trees.

        Returns:
            The policy is the share of visits of each action. The value is the mean of the root's returns.
        """
        rule = PuctRule(self.exploration, self.base, self.noise, self.concentration, self.temperature)
        return run_search(rule, model, roots, keys, self.simulations, self.width, self.leaves)


class PuctRule(NamedTuple):
    """The options in the form that the kernels take."""

    exploration: float
    base: float
    noise: float
    concentration: float
    temperature: float


@attach(tree.choose, PuctRule, borrow=True)
def _choose(rule: Any, trees: Any, t: Any, node: Any) -> Any:
    """Return the argmax of q + U; q is scaled to [0, 1] by the extremes of the node and its children, and 0 without visits."""
    children, count = trees.children[t, node], trees.branches[t, node]
    low = high = trees.value[t, node]
    for k in range(children):
        child = trees.child[t, node, k]
        if trees.finished[t, child] > 0:
            q = trees.reward[t, child] + trees.value[t, child]
            low, high = min(low, q), max(high, q)
    spread = max(high - low, tree.LEAST_SPREAD * max(abs(low), abs(high)))
    value_factor = 1.0 / spread if spread > 0.0 else 0.0
    visits = trees.visits[t, node] - 1.0  # without the current simulation
    bonus = math.sqrt(visits) * (rule.exploration + math.log((visits + rule.base + 1.0) / rule.base)) / trees.mass[t, node]
    best, highest = children, -math.inf
    if children < count:
        highest = bonus * trees.weight[t, node, children]
    for k in range(children):
        child = trees.child[t, node, k]
        begun, finished = trees.visits[t, child], trees.finished[t, child]
        score = bonus * trees.weight[t, node, k] / (1 + begun)
        if finished > 0:
            score += (trees.reward[t, child] + trees.value[t, child] - low) * value_factor * finished / begun
        if score > highest:
            best, highest = k, score
    return best


@attach(tree.score_root, PuctRule)
def _score_root(rule: Any, trees: Any, t: Any, key: Any, weights: Any, scores: Any) -> Any:
    """Write the prior, mixed with Dirichlet noise, to scores and weights."""
    total, drawn, count = weights.sum(), 0.0, 0
    state = np.full(1, mix(key), np.uint64)
    for k in range(len(weights)):
        if weights[k] > 0.0:
            count += 1
            if rule.noise > 0.0:
                scores[k] = _gamma(rule.concentration, state)
                drawn += scores[k]
    for k in range(len(weights)):
        if weights[k] > 0.0:
            prior = weights[k] / total
            if drawn > 0.0:
                prior = (1.0 - rule.noise) * prior + rule.noise * scores[k] / drawn
            weights[k] = max(prior, 1.2e-38)
            scores[k] = weights[k]
    return count


@kernel
def _gamma(alpha: Any, state: Any) -> Any:
    """Draw from the gamma distribution of shape alpha (Marsaglia & Tsang, ACM TOMS 2000; alpha < 1 by way of alpha + 1)."""
    boost = 1.0 if alpha >= 1.0 else max(uniform(state), 1e-300) ** (1.0 / alpha)
    d = (alpha if alpha >= 1.0 else alpha + 1.0) - 1.0 / 3.0
    while True:
        radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
        x = radius * math.cos(2.0 * math.pi * uniform(state))
        v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
        if v > 0.0 and math.log(max(uniform(state), 1e-300)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v * boost


@attach(tree.conclude, PuctRule)
def _conclude(rule: Any, trees: Any, t: Any, key: Any, values: Any, policy: Any) -> Any:
    """Write values and policy, and return the chosen edge; an action without visits has the root's value."""
    for slot in range(len(values)):
        if trees.root_logit[t, slot] > priors.FAR:
            values[slot] = trees.value[t, 0]
    most_visits, chosen = 0, 0
    children = trees.children[t, 0]
    for k in range(children):
        child = trees.child[t, 0, k]
        values[trees.root_slot[t, k]] = trees.reward[t, child] + trees.value[t, child]
        policy[trees.root_slot[t, k]] = trees.visits[t, child]
        if trees.visits[t, child] > most_visits:
            most_visits, chosen = trees.visits[t, child], k
    policy /= policy.sum()
    if rule.temperature > 0.0:
        highest = -math.inf
        for k in range(children):  # the Gumbel-max trick draws from visits ** (1 / temperature)
            drawn = max(hashed(key, 1, trees.edge[t, 0, k]), 1e-300)
            score = math.log(trees.visits[t, trees.child[t, 0, k]]) / rule.temperature - math.log(-math.log(drawn))
            if score > highest:
                chosen, highest = k, score
    return chosen
