"""Search trees as arrays, shared by Gumbel and PUCT search; independent of problems and networks.

Under both selection rules, the action with the largest prior is the first to be tried among the actions without a child. So a
node stores the actions with children first, then the action with the largest prior, then the others, and a rule scores only the
children and one further action. A simulation therefore costs O(depth * children) and one pass over the K actions of two nodes.

A selection rule is a NamedTuple whose class is attached to `choose`, `score_root` and `conclude`, as a problem is to corl.hooks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.hooks import hook
from corl.jit import kernel
from corl.search.priors import FAR, keep_unmasked, prior_weights, promote

__all__ = [
    "ENDED",
    "LEAST_SPREAD",
    "WAITING",
    "Trees",
    "choose",
    "conclude",
    "expand_leaf",
    "expand_root",
    "new_trees",
    "score_root",
    "select_leaf",
]  # fmt: skip

ENDED = -1
"""The result of `select_leaf` if the simulation ended in a node whose episode is over."""
WAITING = -2
"""The result of `select_leaf` if the simulation came to a node that waits for the network."""

LEAST_SPREAD = 1e-8
"""Values count as equal if their relative difference is below this."""


class Trees(NamedTuple):
    """T trees of up to M nodes each; node 0 is the root. A node has up to K actions; the model lists up to W actions of the root.

    An *edge* is an action of a node; the first `children` edges have child nodes. `visits` counts a simulation when it begins,
    `finished` when the network has evaluated its leaf: in between, if one call evaluates several leaves, `visits` is larger.
    """

    size: NDArray[np.int32]
    """[T] the number of nodes in use."""
    root_action: NDArray[np.int32]
    """[T, W] the root's actions in the order in which the model lists them, -1 after the last."""
    root_logit: NDArray[np.float32]
    """[T, W] the logits of these actions, -inf in empty and masked slots."""
    root_slot: NDArray[np.int32]
    """[T, K] the index of each of the root's edges in `root_action`."""
    root_score: NDArray[np.float64]
    """[T, K] the scores that order the root's edges: logit + Gumbel noise, or the noisy prior."""
    parent: NDArray[np.int32]
    """[T, M] the parent node; -1 for the root."""
    action: NDArray[np.int32]
    """[T, M] the action that led to the node."""
    reward: NDArray[np.float64]
    """[T, M] the reward of the step into the node."""
    raw: NDArray[np.float64]
    """[T, M] the network's value of the node; 0 if the episode is over."""
    value: NDArray[np.float64]
    """[T, M] the mean of `raw` and of the returns, from this node on, of the finished simulations through it."""
    visits: NDArray[np.int32]
    """[T, M] the number of simulations that went through the node or ended in it; the root's own evaluation counts as one."""
    finished: NDArray[np.int32]
    """[T, M] the number of these simulations that are part of `value`; 0 while the node waits for the network."""
    branches: NDArray[np.int32]
    """[T, M] the number of actions; 0 if the episode is over."""
    children: NDArray[np.int32]
    """[T, M] the number of actions with a child."""
    mass: NDArray[np.float64]
    """[T, M] the sum of the node's weights."""
    edge: NDArray[np.int32]
    """[T, M, K] the actions: those with children, then the one with the largest weight, then the others in any order."""
    weight: NDArray[np.float32]
    """[T, M, K] exp(logit - largest logit); weight / mass is the prior probability."""
    child: NDArray[np.int32]
    """[T, M, K] the child node of each of the first `children` edges."""
    scratch: NDArray[np.float64]
    """[T, K] work array of the rules, overwritten."""


def new_trees(trees: int, nodes: int, width: int, root_width: int) -> Trees:
    """Allocate trees of up to `nodes` nodes, with `width` (K) edges per node and `root_width` (W) actions at the root."""
    node, edge = (trees, nodes), (trees, nodes, width)
    return Trees(
        size=np.zeros(trees, np.int32),
        root_action=np.empty((trees, root_width), np.int32),
        root_logit=np.empty((trees, root_width), np.float32),
        root_slot=np.empty((trees, width), np.int32),
        root_score=np.empty((trees, width)),
        parent=np.empty(node, np.int32),
        action=np.empty(node, np.int32),
        reward=np.empty(node),
        raw=np.empty(node),
        value=np.empty(node),
        visits=np.empty(node, np.int32),
        finished=np.empty(node, np.int32),
        branches=np.empty(node, np.int32),
        children=np.empty(node, np.int32),
        mass=np.empty(node),
        edge=np.empty(edge, np.int32),
        weight=np.empty(edge, np.float32),
        child=np.empty(edge, np.int32),
        scratch=np.empty((trees, width)),
    )


@hook
def choose(rule: Any, trees: Trees, t: int, node: int) -> int:
    """Return the edge that the next simulation takes from a node: one with a child, or `children`, the first without a child."""
    raise NotImplementedError("only compiled code can call a rule")


@hook
def score_root(rule: Any, trees: Trees, t: int, key: int, weights: Any, scores: Any) -> int:
    """Write the scores that order the root's edges, larger first; return the number of edges that may be tried.

    Args:
        rule: The selection rule.
        trees: The trees.
        t: The tree.
        key: uint64, for noise.
        weights: float32 [W], exp(logit - largest logit) of the root's actions, 0 if masked; may be changed in place.
        scores: float64 [W], written.
    """
    raise NotImplementedError("only compiled code can call a rule")


@hook
def conclude(rule: Any, trees: Trees, t: int, key: int, values: Any, policy: Any) -> int:
    """Write q values and the policy target of the root's actions; return the edge of the chosen action. The root has children.

    Args:
        rule: The selection rule.
        trees: The trees.
        t: The tree.
        key: uint64, for noise.
        values: float64 [W], zeros before; written: the q values, for actions without visits an estimate.
        policy: float64 [W], zeros before; written: the target.
    """
    raise NotImplementedError("only compiled code can call a rule")


@kernel
def expand_root(rule: Any, trees: Trees, t: Any, actions: Any, logits: Any, value: Any, key: Any) -> None:
    """Reset tree `t` to a root alone.

    Args:
        rule: The selection rule.
        trees: Changed in place.
        t: The tree.
        actions: int32 [W], the root's actions, -1 after the last.
        logits: float32 [W], the logits of the actions.
        value: The network's value of the root.
        key: uint64, for noise.
    """
    slots = len(actions)
    weights, scores = np.empty(slots, np.float32), np.empty(slots)
    _list_root(trees, t, actions, logits, weights)
    max_edges = score_root(rule, trees, t, key, weights, scores)
    trees.mass[t, 0] = weights.sum()
    edge_count = 0
    while edge_count < min(max_edges, trees.edge.shape[2]):
        best_slot = -1
        for k in range(slots):
            if weights[k] > 0.0 and (best_slot < 0 or scores[k] > scores[best_slot]):
                best_slot = k
        if best_slot < 0:
            break
        trees.edge[t, 0, edge_count], trees.weight[t, 0, edge_count] = actions[best_slot], weights[best_slot]
        trees.root_slot[t, edge_count], trees.root_score[t, edge_count] = best_slot, scores[best_slot]
        weights[best_slot] = 0.0
        edge_count += 1
    trees.size[t] = 1
    trees.parent[t, 0], trees.action[t, 0], trees.reward[t, 0] = -1, -1, 0.0
    trees.raw[t, 0] = trees.value[t, 0] = value if edge_count > 0 else 0.0
    trees.visits[t, 0] = trees.finished[t, 0] = 1
    trees.branches[t, 0], trees.children[t, 0] = edge_count, 0


@kernel(borrow=True)
def _list_root(trees: Trees, t: Any, actions: Any, logits: Any, weights: Any) -> None:
    """Store the root's actions and logits; write `weights`, float32 [W]: exp(logit - largest logit), 0 if masked."""
    highest, count = np.float32(-np.inf), 0
    for k in range(len(actions)):
        trees.root_action[t, k] = actions[k]
        trees.root_logit[t, k] = logits[k] if actions[k] >= 0 and logits[k] > FAR else -np.inf
        highest = max(highest, trees.root_logit[t, k])
        count += actions[k] >= 0
    if count > 0 and highest == -np.inf:  # every action masked: the mask is ignored, all have equal logits
        highest = np.float32(0.0)
        for k in range(count):
            trees.root_logit[t, k] = 0.0
    for k in range(len(actions)):
        unmasked = trees.root_logit[t, k] > FAR
        weights[k] = max(math.exp(trees.root_logit[t, k] - highest), 1.2e-38) if unmasked else 0.0


@kernel(borrow=True)
def select_leaf(rule: Any, trees: Trees, t: Any) -> Any:
    """Begin a simulation: follow the rule from the root of tree `t`; return the node that is added.

    A simulation that reaches a node whose episode is over is finished; returns ENDED. A simulation that reaches a node that waits
    for the network is undone; returns WAITING.
    """
    trees.visits[t, 0] += 1
    node = 0
    while True:
        k = choose(rule, trees, t, node)
        if k == trees.children[t, node]:
            return _add_child(trees, t, node, k)
        node = trees.child[t, node, k]
        if trees.finished[t, node] == 0:
            while node > 0:
                node = trees.parent[t, node]
                trees.visits[t, node] -= 1
            return WAITING
        trees.visits[t, node] += 1
        if trees.branches[t, node] == 0:
            trees.finished[t, node] += 1
            backup(trees, t, node, 0.0)
            return ENDED


@kernel(borrow=True)
def _add_child(trees: Trees, t: Any, node: Any, k: Any) -> Any:
    """Add and return the child of edge `k`, the first edge of `node` without a child; the new node waits for `expand_leaf`."""
    leaf = trees.size[t]
    trees.size[t] = leaf + 1
    trees.child[t, node, k] = leaf
    trees.children[t, node] = k + 1
    if node > 0:  # the root's edges are sorted by `expand_root`
        promote(trees.edge[t, node], trees.weight[t, node], k + 1, trees.branches[t, node])
    trees.parent[t, leaf], trees.action[t, leaf] = node, trees.edge[t, node, k]
    trees.visits[t, leaf], trees.finished[t, leaf] = 1, 0
    trees.branches[t, leaf] = trees.children[t, leaf] = 0
    return leaf


@kernel(borrow=True)
def expand_leaf(trees: Trees, t: Any, leaf: Any, reward: Any, actions: Any, logits: Any, count: Any, value: Any) -> None:
    """Expand a waiting leaf with the model's answer, and update the nodes above it.

    Of the actions, the K unmasked ones with the largest logits become edges.

    Args:
        trees: Changed in place.
        t: The tree.
        leaf: The node.
        reward: The reward of the step into the leaf.
        actions: int32 [W], of which the first `count` are valid.
        logits: float32 [W], the logits of the actions.
        count: The number of actions; if 0, the episode is over and `value` counts as 0.
        value: The network's value of the leaf.
    """
    trees.reward[t, leaf] = reward
    edges, weights = trees.edge[t, leaf], trees.weight[t, leaf]
    edge_count = keep_unmasked(actions, logits, count, edges, weights)
    if edge_count > 0:
        trees.mass[t, leaf] = prior_weights(weights, edge_count)
        promote(edges, weights, 0, edge_count)
    leaf_value = value if edge_count > 0 else 0.0
    trees.branches[t, leaf] = edge_count
    trees.raw[t, leaf] = trees.value[t, leaf] = leaf_value
    trees.finished[t, leaf] = 1
    backup(trees, t, leaf, leaf_value)


@kernel(borrow=True)
def backup(trees: Trees, t: Any, leaf: Any, value: Any) -> None:
    """Add the return of a simulation to the means of the nodes above its `leaf`; `value` is the return from the leaf on."""
    node, returned = leaf, value
    while node > 0:
        returned += trees.reward[t, node]
        node = trees.parent[t, node]
        finished = trees.finished[t, node]
        trees.value[t, node] = (trees.value[t, node] * finished + returned) / (finished + 1)
        trees.finished[t, node] = finished + 1
