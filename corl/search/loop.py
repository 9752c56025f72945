"""The loop of a tree search, for any selection rule and any model; each network call serves all trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.environment import View
from corl.errors import UsageError
from corl.jit import kernel
from corl.search.models import Expansion, Model
from corl.search.tree import ENDED, WAITING, Trees, conclude, expand_leaf, expand_root, select_leaf

__all__ = ["SearchResult", "empty_result", "read_tree", "run_search", "tree_keys"]


class SearchResult(NamedTuple):
    """The results of searches from B roots. W is the length of the model's action lists (of an environment, its `width`)."""

    action: NDArray[np.int32]
    """[B] the action to take; -1 if the root's episode is over."""
    actions: NDArray[np.int32]
    """[B, W] the root's actions as the model lists them, -1 after the last; the slot of an action is its index there."""
    policy: NDArray[np.float64]
    """[B, W] the target to train a policy on; sums to 1, and is 0 in empty and masked slots."""
    value: NDArray[np.float64]
    """[B] the value of the root after the search: the mean of its returns and of the network's own value."""
    visits: NDArray[np.int32]
    """[B, W] the number of simulations through each action."""
    values: NDArray[np.float64]
    """[B, W] the reward of each action plus the value after it; an estimate without visits; 0 in empty and masked slots."""
    evaluations: NDArray[np.int64]
    """[B] the number of network evaluations of each tree, including the root."""


def tree_keys(seed: int, count: int) -> NDArray[np.uint64]:
    """Return keys for `count` trees, uint64 [count], from a seed; a larger `count` only appends keys."""
    return np.random.SeedSequence(seed).generate_state(count, np.uint64).astype(np.uint64)


def run_search(
    rule: Any, model: Model, roots: Any, keys: int | ArrayLike, simulations: int, width: int, leaves: int
) -> SearchResult:
    """Search by a selection rule (corl.search.tree) and return the results; for the other arguments see Gumbel and Puct."""
    count = _count(roots)
    keys_by_tree = tree_keys(keys, count) if isinstance(keys, int) else np.asarray(keys, np.uint64)
    if keys_by_tree.shape != (count,):
        raise UsageError(f"keys are a seed or {count} integers, one for each root")
    edges_per_node = min(width or model.width, model.width)
    nodes = simulations + 1
    trees = model.trees(count, nodes, edges_per_node)
    root_answer = model.root(roots, nodes, keys_by_tree)
    expand_roots(rule, trees, root_answer, keys_by_tree)
    calls = (~root_answer.done).astype(np.int64)
    leaf_edges = np.empty((3, count * leaves), np.int64)
    while pending := select_leaves(rule, trees, simulations, leaves, leaf_edges):
        parents, actions, children = leaf_edges[:, :pending]
        answer = model.expand(parents, actions.astype(np.int32), children)
        expand_leaves(trees, children, answer, calls)
    result = empty_result(root_answer.actions, calls)
    read_trees(rule, trees, keys_by_tree, result)
    return result


def _count(roots: Any) -> int:
    """Return the number of roots B; they are rows [B], a view of B rows, or (observation, actions [B, K])."""
    if isinstance(roots, View):
        return len(roots.rows)
    return len(roots[1]) if isinstance(roots, tuple) else len(np.atleast_1d(np.asarray(roots)))


def empty_result(actions: NDArray[np.int32], calls: NDArray[np.int64]) -> SearchResult:
    """Return the result that `read_tree` fills: for listed `actions` [B, W] and network `calls` [B]."""
    shape = actions.shape
    zeros = np.zeros(shape), np.zeros(shape[0]), np.zeros(shape, np.int32), np.zeros(shape)
    return SearchResult(np.full(shape[0], -1, np.int32), actions, *zeros, calls)


@kernel
def expand_roots(rule: Any, trees: Trees, found: Expansion, keys: Any) -> None:
    """Create the roots from the model's answers; a root whose episode is over gets no actions."""
    for t in range(len(keys)):
        if found.done[t]:
            found.actions[t] = -1
        expand_root(rule, trees, t, found.actions[t], found.logits[t], found.value[t], keys[t])


@kernel
def select_leaves(rule: Any, trees: Trees, simulations: Any, leaves: Any, leaf_edges: Any) -> Any:
    """Begin simulations until each tree has `leaves` waiting leaves or cannot continue; return the number of leaves.

    Simulations that end in a node whose episode is over need no network and are completed.

    Args:
        rule: The selection rule.
        trees: Changed in place.
        simulations: The number of simulations of each tree.
        leaves: The greatest number of waiting leaves of a tree.
        leaf_edges: int64 [3, trees * leaves], written: for each leaf the slot of its parent, the action, and the slot of the leaf
            (tree * nodes + node).
    """
    pending, nodes = 0, trees.parent.shape[1]
    for t in range(len(trees.size)):
        added = 0
        while added < leaves and trees.visits[t, 0] <= simulations and trees.branches[t, 0] > 0:
            leaf = select_leaf(rule, trees, t)
            if leaf == WAITING:
                break
            if leaf != ENDED:
                leaf_edges[0, pending] = t * nodes + trees.parent[t, leaf]
                leaf_edges[1, pending], leaf_edges[2, pending] = trees.action[t, leaf], t * nodes + leaf
                pending += 1
                added += 1
    return pending


@kernel
def expand_leaves(trees: Trees, children: Any, answer: Expansion, calls: Any) -> None:
    """Expand the waiting leaves with the model's answers; add the network evaluations of each tree to `calls`, in place."""
    nodes = trees.parent.shape[1]
    for i in range(len(children)):
        t, leaf = children[i] // nodes, children[i] % nodes
        count = 0
        if not answer.done[i]:
            calls[t] += 1
            while count < answer.actions.shape[1] and answer.actions[i, count] >= 0:
                count += 1
        expand_leaf(trees, t, leaf, answer.reward[i], answer.actions[i], answer.logits[i], count, answer.value[i])


@kernel
def read_trees(rule: Any, trees: Trees, keys: Any, result: SearchResult) -> None:
    """Write the result of tree t into row t of `result`, for all trees."""
    for t in range(len(keys)):
        read_tree(rule, trees, t, keys[t], t, result)


@kernel
def read_tree(rule: Any, trees: Trees, t: Any, key: Any, row: Any, result: SearchResult) -> None:
    """Write the result of tree `t` into a row of `result`."""
    result.value[row] = trees.value[t, 0]
    if trees.branches[t, 0] == 0:
        return
    edge = conclude(rule, trees, t, key, result.values[row], result.policy[row])
    result.action[row] = trees.edge[t, 0, edge]
    for k in range(trees.children[t, 0]):
        result.visits[row, trees.root_slot[t, k]] = trees.visits[t, trees.child[t, 0, k]]
