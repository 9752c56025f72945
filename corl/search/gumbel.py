"""Gumbel search (Danihelka, Guez, Schrittwieser & Silver, "Policy improvement by planning with Gumbel", ICLR 2022).

At the root, sequential halving over the actions that the Gumbel-top-k trick draws without replacement (section 3); below it,
the deterministic choice that makes visits follow the improved policy (section 5). The completed q uses the mixed value
for actions without visits (appendix D), and is scaled to [0, 1] by its extremes, as in the reference implementation.
The mixed value is always one of these extremes, as it is there if some action is masked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.hooks import attach
from corl.jit import kernel
from corl.options import Options, option
from corl.rng import hashed
from corl.search import priors, tree
from corl.search.loop import SearchResult, run_search
from corl.search.models import Model

__all__ = ["Gumbel", "considered_visits"]


@dataclass(frozen=True)
class Gumbel(Options):
    """Options of a Gumbel search, and the search itself."""

    simulations: int = option(64, "Leaves added to each tree.", low=1, scale="log")
    considered: int = option(16, "m, the greatest number of actions considered at the root.", low=1)
    noise: float = option(
        1.0, "Scale of the Gumbel noise: 1 to train (the policy improves in expectation), 0 for a deterministic search.", low=0
    )
    value_scale: float = option(
        0.1,
        "c_scale: sigma(q) = (visit_offset + largest visit count) * value_scale * q, q scaled to [0, 1] (section 3.4).",
        low=0,
    )
    visit_offset: float = option(50.0, "c_visit.", low=0)
    width: int = option(
        0, "The number of actions kept per node, those with the largest prior (at the root including the noise); 0: all.", low=0
    )
    leaves: int = option(
        1,
        "The most leaves of a tree evaluated in one call; more make larger batches. Unfinished visits count as visits.",
        low=1,
    )

    def search(self, model: Model, roots: Any, keys: int | ArrayLike) -> SearchResult:
        """Search from all roots at once.

        Args:
            model: The model to search in.
            roots: [B], in the form that the model takes.
            keys: A seed, or uint64 [B], one for each tree; the search of a tree depends on its key alone, not on the other trees.

        Returns:
            The policy is softmax(logit + sigma(completed q)), the target of section 4; the value is the mean of the root's
            returns; the action is the best of the most visited ones.
        """
        most = min(self.considered, self.width or self.considered)
        table = np.array([considered_visits(m, self.simulations) for m in range(most + 1)])
        rule = GumbelRule(table, self.noise, self.value_scale, self.visit_offset)
        return run_search(rule, model, roots, keys, self.simulations, self.width, self.leaves)


class GumbelRule(NamedTuple):
    """The options in the form that the kernels take."""

    table: NDArray[np.int32]
    """[m + 1, simulations] considered_visits by the number of actions at the root."""
    noise: float
    value_scale: float
    visit_offset: float


def considered_visits(considered: int, simulations: int) -> NDArray[np.int32]:
    """Return for each simulation the visits of the action that it selects: int32 [simulations] (sequential halving, section 3).

    The `considered` actions are visited in rounds; after each of ceil(log2 considered) phases of equal budget, half of them
    (at least two) remain.
    """
    if considered <= 1:
        return np.arange(simulations, dtype=np.int32)
    phases, alive, visits = math.ceil(math.log2(considered)), considered, 0
    sequence: list[int] = []
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (phases * alive))):
            sequence += [visits] * alive
            visits += 1
        alive = max(2, alive // 2)
    return np.array(sequence[:simulations], np.int32)


class _Completed(NamedTuple):
    """The completed q of a node: sigma(q) = scale * (q - low), and the mixed value for edges without a return."""

    mixed: float
    low: float
    scale: float


@kernel(borrow=True)
def _completed(rule: Any, trees: Any, t: Any, node: Any) -> Any:
    """Return the completed q of a node (appendix D).

    v_mix = (raw + N * sum(p q) / sum(p)) / (1 + N), both sums over the children that have returns.
    """
    raw = trees.raw[t, node]
    low, high = math.inf, -math.inf
    mass, weighted, returns, most = 0.0, 0.0, 0, 0
    for k in range(trees.children[t, node]):
        child = trees.child[t, node, k]
        most = max(most, trees.visits[t, child])
        if trees.finished[t, child] > 0:
            q = trees.reward[t, child] + trees.value[t, child]
            low, high = min(low, q), max(high, q)
            mass += trees.weight[t, node, k]
            weighted += trees.weight[t, node, k] * q
            returns += trees.finished[t, child]
    mixed = (raw + returns * (weighted / mass)) / (1 + returns) if returns > 0 else raw
    low, high = min(low, mixed), max(high, mixed)
    spread = max(high - low, tree.LEAST_SPREAD * max(abs(low), abs(high)))
    scale = (rule.visit_offset + most) * rule.value_scale / spread if spread > 0.0 else 0.0
    return _Completed(mixed, low, scale)


@kernel(borrow=True)
def _q(trees: Any, t: Any, child: Any, mixed: Any) -> Any:
    """Return the q of a child, or the mixed value if it has no return yet."""
    return trees.reward[t, child] + trees.value[t, child] if trees.finished[t, child] > 0 else mixed


@attach(tree.choose, GumbelRule, borrow=True)
def _choose(rule: Any, trees: Any, t: Any, node: Any) -> Any:
    if node == 0:
        actions = min(trees.branches[t, 0], len(rule.table) - 1)
        return _best_with(rule, trees, t, rule.table[actions, trees.visits[t, 0] - 2])
    return _choose_inside(rule, trees, t, node)


@kernel(borrow=True)
def _best_with(rule: Any, trees: Any, t: Any, visits: Any) -> Any:
    """Return the argmax of g + logit + sigma(q) over the root's edges with this number of visits (section 3.3)."""
    children = trees.children[t, 0]
    if (
        visits == 0 and children < trees.branches[t, 0]
    ):  # all of these have the mixed value, so they are in the order of their scores
        return children
    completed = _completed(rule, trees, t, 0)
    best, highest = 0, -math.inf
    for k in range(children):
        child = trees.child[t, 0, k]
        if trees.visits[t, child] == visits:
            score = trees.root_score[t, k] + completed.scale * (_q(trees, t, child, completed.mixed) - completed.low)
            if score > highest:
                best, highest = k, score
    return best


@kernel(borrow=True)
def _choose_inside(rule: Any, trees: Any, t: Any, node: Any) -> Any:
    """Return the argmax of pi'(a) - N(a) / (1 + sum N), with pi' = softmax(logit + sigma(q)) (section 5)."""
    children, count = trees.children[t, node], trees.branches[t, node]
    if children == 0:
        return 0
    completed = _completed(rule, trees, t, node)
    rest = trees.mass[t, node]
    top = completed.mixed if children < count else -math.inf
    for k in range(children):
        top = max(top, _q(trees, t, trees.child[t, node, k], completed.mixed))
        rest -= trees.weight[t, node, k]
    fresh = math.exp(completed.scale * (completed.mixed - top)) if children < count else 0.0
    total = max(rest, 0.0) * fresh
    improved = trees.scratch[t]
    for k in range(children):
        q = _q(trees, t, trees.child[t, node, k], completed.mixed)
        improved[k] = trees.weight[t, node, k] * math.exp(completed.scale * (q - top))
        total += improved[k]
    visits = trees.visits[t, node] - 1  # 1 + sum N: the current simulation does not count
    best, highest = children, -math.inf
    if children < count:
        highest = trees.weight[t, node, children] * fresh / total
    for k in range(children):
        share = improved[k] / total - trees.visits[t, trees.child[t, node, k]] / visits
        if share > highest:
            best, highest = k, share
    return best


@attach(tree.score_root, GumbelRule)
def _score_root(rule: Any, trees: Any, t: Any, key: Any, weights: Any, scores: Any) -> Any:
    """Write the scores of Gumbel-top-k (section 3.2), g + logit; the noise of a slot depends on the key and the action alone."""
    count = 0
    for k in range(len(weights)):
        if weights[k] > 0.0:
            count += 1
            scores[k] = trees.root_logit[t, k]
            if rule.noise > 0.0:
                drawn = max(hashed(key, 0, trees.root_action[t, k]), 1e-300)
                scores[k] -= rule.noise * math.log(-math.log(drawn))
    return min(count, len(rule.table) - 1)


@attach(tree.conclude, GumbelRule)
def _conclude(rule: Any, trees: Any, t: Any, key: Any, values: Any, policy: Any) -> Any:
    completed = _completed(rule, trees, t, 0)
    for slot in range(len(values)):
        if trees.root_logit[t, slot] > priors.FAR:
            values[slot] = completed.mixed
    most = 0
    for k in range(trees.children[t, 0]):
        child = trees.child[t, 0, k]
        values[trees.root_slot[t, k]] = _q(trees, t, child, completed.mixed)
        most = max(most, trees.visits[t, child])
    highest = -math.inf
    for slot in range(len(values)):
        policy[slot] = trees.root_logit[t, slot] + completed.scale * (values[slot] - completed.low)
        highest = max(highest, policy[slot])
    for slot in range(len(values)):
        policy[slot] = math.exp(policy[slot] - highest)
    policy /= policy.sum()
    return _best_with(rule, trees, t, most)
