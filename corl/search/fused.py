"""Tree search over a CompiledModel: from root to result in one kernel, without Python, one tree after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.jit import kernel
from corl.search import hooks
from corl.search.models import CompiledModel, step_afresh
from corl.search.simulation import SearchResult, empty_result, read_tree
from corl.search.tree import ENDED, Trees, attach, attach_root, descend

__all__ = ["search_compiled"]


def search_compiled(
    rule: Any, model: CompiledModel, roots: ArrayLike, keys: NDArray[np.uint64], simulations: int, width: int
) -> SearchResult:
    """Search from all `roots` [B]; the same result as `run_search` step by step, to the bit.

    All trees use the same memory and the same rows of the environment in turn, which stay in the processor's cache.
    """
    at = model.pool.checked(roots, simulations)
    trees = model.trees(1, simulations + 1, width)
    result = empty_result(np.full((len(at), model.width), -1, np.int32), np.zeros(len(at), np.int64))
    _search(rule, model.network, model.pool.environment.state, trees, at, model.pool.first, keys, simulations, result)
    return result


@kernel
def _search(
    rule: Any, network: Any, state: Any, trees: Trees, roots: Any, first: Any, keys: Any, simulations: Any, result: Any
) -> None:
    """A tree for each root; node i > 0 is row first + i - 1."""
    slots = result.actions.shape[1]
    actions, logits = np.empty(slots, np.int32), np.empty(slots, np.float32)
    for b in range(len(roots)):
        leaf, row, reward = 0, roots[b], 0.0
        while True:  # each hook is called in one place: numba may fail to unify two mentions of one in a function
            count, value = hooks.actions(state, row, actions), 0.0
            if count > 0:
                value = hooks.evaluate(network, state, row, actions, count, logits)
                result.evaluations[b] += 1
            if leaf > 0:
                attach(trees, 0, leaf, reward, actions, logits, count, value)
            else:
                actions[count:] = -1
                result.actions[b] = actions
                attach_root(rule, trees, 0, actions, logits, value, keys[b])
            leaf = _next_leaf(rule, trees, simulations)
            if leaf < 0:
                break
            row, parent = first + leaf - 1, trees.parent[0, leaf]
            above = roots[b] if parent == 0 else first + parent - 1
            reward = step_afresh(state, above, row, trees.action[0, leaf], keys[b], leaf)
        read_tree(rule, trees, 0, keys[b], b, result)


@kernel(borrow=True)
def _next_leaf(rule: Any, trees: Trees, simulations: Any) -> Any:
    """The leaf that the next simulation adds; ENDED when all are made."""
    while trees.visits[0, 0] <= simulations and trees.branches[0, 0] > 0:
        leaf = descend(rule, trees, 0)
        if leaf >= 0:
            return leaf
    return ENDED
