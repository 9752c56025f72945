"""Gumbel search (Danihelka, Guez, Schrittwieser & Silver, "Policy improvement by planning with Gumbel", ICLR 2022).

At the root, the Gumbel-top-k trick draws actions without replacement, among which sequential halving chooses (section 3). Below
the root, a deterministic choice makes visits follow the improved policy (section 5). q(a) is the reward of action a plus the
value after it; the completed q (appendix D) is q(a), or the mixed value for an action without visits. q is scaled to [0, 1] by
its extremes, as in the reference implementation, mctx. The mixed value always counts for the extremes, as it does in mctx if an
action is masked.
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
    considered: int = option(16, "The greatest number of actions considered at the root (m in the paper).", low=1)
    noise: float = option(
        1.0, "Scale of the Gumbel noise: 1 to train (the policy improves in expectation), 0 for a deterministic search.", low=0
    )
    value_scale: float = option(
        0.1,
        "Weight of values: sigma(q) = (visit_offset + largest visit count) * value_scale * q; q in [0, 1] (section 3.4).",
        low=0,
    )
    visit_offset: float = option(50.0, "Number that is added to the largest visit count in sigma (c_visit in the paper).", low=0)
    width: int = option(
        0, "The number of actions kept per node, those with the largest prior (at the root including the noise); 0: all.", low=0
    )
    leaves: int = option(
        1,
        "The greatest number of leaves of a tree evaluated in one call; more make larger batches. A visit counts before its leaf "
        "is evaluated.",
        low=1,
    )

    def search(self, model: Model, roots: Any, keys: int | ArrayLike) -> SearchResult:
        """Search from all roots at once.

        Args:
            model: The model to search in.
            roots: B roots, in the form that `model.root` takes.
            keys: A seed, or uint64 [B], one for each tree; the search of a tree depends on its key alone, not on the other trees.

        Returns:
            The policy is softmax(logit + sigma(completed q)), the target of section 4. The value is the mean of the root's
            returns. The action is the best one among those with the most visits.
        """
        max_considered = min(self.considered, self.width or self.considered)
        table = np.array([considered_visits(m, self.simulations) for m in range(max_considered + 1)])
        rule = GumbelRule(table, self.noise, self.value_scale, self.visit_offset)
        return run_search(rule, model, roots, keys, self.simulations, self.width, self.leaves)


class GumbelRule(NamedTuple):
    """The options in the form that the kernels take."""

    table: NDArray[np.int32]
    """[m + 1, simulations] row i is considered_visits(i, simulations), for i actions at the root."""
    noise: float
    value_scale: float
    visit_offset: float


def considered_visits(considered: int, simulations: int) -> NDArray[np.int32]:
    """Return the schedule of sequential halving (section 3), int32 [simulations].

    Simulation i selects an action that has had schedule[i] visits. The `considered` actions are visited in turn; after each of
    ceil(log2 considered) phases of equal numbers of simulations, half of the actions (at least two) remain.
    """
    if considered <= 1:
        return np.arange(simulations, dtype=np.int32)
    phases, remaining, visits = math.ceil(math.log2(considered)), considered, 0
    schedule: list[int] = []
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (phases * remaining))):
            schedule += [visits] * remaining
            visits += 1
        remaining = max(2, remaining // 2)
    return np.array(schedule[:simulations], np.int32)


class _ValueScaling(NamedTuple):
    """How the values of a node's edges enter scores: sigma(q) = scale * (q - low); edges without a return have q = mixed."""

    mixed: float
    low: float
    scale: float


@kernel(borrow=True)
def _value_scaling(rule: Any, trees: Any, t: Any, node: Any) -> Any:
    """Return the mixed value of a node (appendix D) and the scaling of its values.

    The mixed value is (raw + N * sum(p q) / sum(p)) / (1 + N): N is the number of returns, p are priors, and both sums are over
    the children that have returns.
    """
    raw = trees.raw[t, node]
    low, high = math.inf, -math.inf
    prior_mass, weighted, returns, most_visits = 0.0, 0.0, 0, 0
    for k in range(trees.children[t, node]):
        child = trees.child[t, node, k]
        most_visits = max(most_visits, trees.visits[t, child])
        if trees.finished[t, child] > 0:
            q = trees.reward[t, child] + trees.value[t, child]
            low, high = min(low, q), max(high, q)
            prior_mass += trees.weight[t, node, k]
            weighted += trees.weight[t, node, k] * q
            returns += trees.finished[t, child]
    mixed = (raw + returns * (weighted / prior_mass)) / (1 + returns) if returns > 0 else raw
    low, high = min(low, mixed), max(high, mixed)
    spread = max(high - low, tree.LEAST_SPREAD * max(abs(low), abs(high)))
    scale = (rule.visit_offset + most_visits) * rule.value_scale / spread if spread > 0.0 else 0.0
    return _ValueScaling(mixed, low, scale)


@kernel(borrow=True)
def _q(trees: Any, t: Any, child: Any, mixed: Any) -> Any:
    """Return the q of a child, or the mixed value if the child has no return yet."""
    return trees.reward[t, child] + trees.value[t, child] if trees.finished[t, child] > 0 else mixed


@attach(tree.choose, GumbelRule, borrow=True)
def _choose(rule: Any, trees: Any, t: Any, node: Any) -> Any:
    """Return the edge: at the root by the schedule of sequential halving, below it by `_choose_inside`."""
    if node == 0:
        actions = min(trees.branches[t, 0], len(rule.table) - 1)
        return _best_with(rule, trees, t, rule.table[actions, trees.visits[t, 0] - 2])
    return _choose_inside(rule, trees, t, node)


@kernel(borrow=True)
def _best_with(rule: Any, trees: Any, t: Any, visits: Any) -> Any:
    """Return the argmax of noise + logit + sigma(q) over the root's edges with this number of visits (section 3.3)."""
    children = trees.children[t, 0]
    if visits == 0 and children < trees.branches[t, 0]:
        return children  # edges without visits have equal values, so the first one has the highest score
    scaling = _value_scaling(rule, trees, t, 0)
    best, highest = 0, -math.inf
    for k in range(children):
        child = trees.child[t, 0, k]
        if trees.visits[t, child] == visits:
            score = trees.root_score[t, k] + scaling.scale * (_q(trees, t, child, scaling.mixed) - scaling.low)
            if score > highest:
                best, highest = k, score
    return best


@kernel(borrow=True)
def _choose_inside(rule: Any, trees: Any, t: Any, node: Any) -> Any:
    """Return the argmax of p(a) - N(a) / (1 + sum N), where p = softmax(logit + sigma(q)) and N are visits (section 5)."""
    children, count = trees.children[t, node], trees.branches[t, node]
    if children == 0:
        return 0
    scaling = _value_scaling(rule, trees, t, node)
    unvisited_mass = trees.mass[t, node]
    top = scaling.mixed if children < count else -math.inf
    for k in range(children):
        top = max(top, _q(trees, t, trees.child[t, node, k], scaling.mixed))
        unvisited_mass -= trees.weight[t, node, k]
    unvisited_factor = math.exp(scaling.scale * (scaling.mixed - top)) if children < count else 0.0
    total = max(unvisited_mass, 0.0) * unvisited_factor
    improved = trees.scratch[t]
    for k in range(children):
        q = _q(trees, t, trees.child[t, node, k], scaling.mixed)
        improved[k] = trees.weight[t, node, k] * math.exp(scaling.scale * (q - top))
        total += improved[k]
    visits = trees.visits[t, node] - 1  # 1 + sum N: the current simulation does not count
    best, highest = children, -math.inf
    if children < count:
        highest = trees.weight[t, node, children] * unvisited_factor / total
    for k in range(children):
        excess = improved[k] / total - trees.visits[t, trees.child[t, node, k]] / visits
        if excess > highest:
            best, highest = k, excess
    return best


@attach(tree.score_root, GumbelRule)
def _score_root(rule: Any, trees: Any, t: Any, key: Any, weights: Any, scores: Any) -> Any:
    """Write the scores of Gumbel-top-k (section 3.2), noise + logit. The noise depends on the key and the action alone."""
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
    """Write the completed q and the improved policy; return the best edge of those with the most visits."""
    scaling = _value_scaling(rule, trees, t, 0)
    for slot in range(len(values)):
        if trees.root_logit[t, slot] > priors.FAR:
            values[slot] = scaling.mixed
    most_visits = 0
    for k in range(trees.children[t, 0]):
        child = trees.child[t, 0, k]
        values[trees.root_slot[t, k]] = _q(trees, t, child, scaling.mixed)
        most_visits = max(most_visits, trees.visits[t, child])
    highest = -math.inf
    for slot in range(len(values)):
        policy[slot] = trees.root_logit[t, slot] + scaling.scale * (values[slot] - scaling.low)
        highest = max(highest, policy[slot])
    for slot in range(len(values)):
        policy[slot] = math.exp(policy[slot] - highest)
    policy /= policy.sum()
    return _best_with(rule, trees, t, most_visits)
