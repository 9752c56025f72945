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
    actions, logits = np.empty(result.actions.shape[1], np.int32), np.empty(result.actions.shape[1], np.float32)
    for b in range(len(roots)):
        count = hooks.actions(state, roots[b], result.actions[b])
        logits[:] = -np.inf
        value = 0.0
        if count > 0:
            value = hooks.evaluate(network, state, roots[b], result.actions[b], count, logits)
            result.evaluations[b] += 1
        result.actions[b, count:] = -1
        attach_root(rule, trees, 0, result.actions[b], logits, value, keys[b])
        while trees.visits[0, 0] <= simulations and trees.branches[0, 0] > 0:
            leaf = descend(rule, trees, 0)
            if leaf == ENDED:
                continue
            parent, row = trees.parent[0, leaf], first + leaf - 1
            above = roots[b] if parent == 0 else first + parent - 1
            reward = step_afresh(state, above, row, trees.action[0, leaf], keys[b], leaf)
            count = hooks.actions(state, row, actions)
            value = 0.0
            if count > 0:
                value = hooks.evaluate(network, state, row, actions, count, logits)
                result.evaluations[b] += 1
            attach(trees, 0, leaf, reward, actions, logits, count, value)
        read_tree(rule, trees, 0, keys[b], b, result)
