"""Imitation: states on the way to good solutions, and what was done there, for the cross-entropy.

As BQ-NCO learns (Drakulic et al., NeurIPS 2023): the state after any number of a solution's decisions is an instance of its
own, whose solution is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.networks.tokens import Tokens
from corl.problem import Problem

__all__ = ["lessons", "loss"]


def lessons(
    problem: Problem,
    instances: Sequence[Any],
    solutions: Sequence[Any],
    see: Callable[[Mapping[str, NDArray[Any]]], Tokens],
    states: int,
    random: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """States of each solution, up to `states` of them at random places, from a random start.

    x [N, T, F], mask [N, T], pairs [N, T, T, P] where there are any, as in Tokens, and slot int64 [N], the action taken.

    States with a single action, and those whose action the environment does not list, teach nothing and are left out. Where
    that leaves none (all trees of a batch may have one node), the dict is empty.
    """
    rows = np.arange(len(instances))
    environment = problem.environment(instances, len(rows))
    keys = np.array([random.integers(problem.starts(instance)) for instance in instances], np.uint64)
    environment.reset(rows, rows, keys)
    plans = [np.asarray(problem.decisions(given, found, int(key))) for given, found, key in zip(instances, solutions, keys)]
    lengths = np.array([len(plan) for plan in plans])
    chosen = np.zeros((len(plans), int(lengths.max(initial=0))), bool)
    for row, length in enumerate(lengths):
        chosen[row, random.permutation(length)[:states]] = True
    parts = []
    for t in range(chosen.shape[1]):
        at = rows[lengths > t]
        taken = np.array([plans[row][t] for row in at], np.int64)
        if (looked := chosen[at, t]).any() and (part := _look(environment, at[looked], taken[looked], see)):
            parts.append(part)
        environment.step(at, at, taken)
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}


def _look(
    environment: Environment, at: NDArray[np.int64], taken: NDArray[np.int64], see: Callable[[Mapping[str, NDArray[Any]]], Tokens]
) -> dict[str, NDArray[Any]]:
    """What is seen in the states of `at` that teach something."""
    actions = environment.actions(at)
    hit = actions == taken[:, None]
    told = hit.any(axis=1) & ((actions >= 0).sum(axis=1) > 1)
    if not told.any():
        return {}
    tokens = see(environment.observe(at[told]))
    found = {"x": tokens.x, "mask": tokens.mask, "slot": hit[told].argmax(axis=1)}
    return found if tokens.pairs is None else found | {"pairs": tokens.pairs}


def loss(network: Any, batch: Mapping[str, NDArray[Any]]) -> Any:
    """The mean cross-entropy of a Policy with the actions taken, a tensor."""
    import torch
    from torch.nn import functional

    device = next(network.parameters()).device
    x, mask, slot = (torch.from_numpy(batch[name]).to(device) for name in ("x", "mask", "slot"))
    pairs = torch.from_numpy(batch["pairs"]).to(device) if "pairs" in batch else None
    return functional.cross_entropy(network(x, mask, pairs)[0].float(), slot)
