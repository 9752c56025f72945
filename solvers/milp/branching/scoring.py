"""A branching policy's perceptron for kernels: features -> two hidden layers -> a score; the highest is branched on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.candidates import candidates, features

__all__ = ["CLIP", "Scorer", "branch", "scores"]

CLIP = 5.0
"""Standardised features are within -CLIP..CLIP."""


class Scorer(NamedTuple):
    """The weights; F features, G and H hidden units."""

    mean: NDArray[np.float32]
    """[F], of the features over the training nodes"""
    scale: NDArray[np.float32]
    """[F], 1 / standard deviation"""
    w1: NDArray[np.float32]
    """[F, G]"""
    b1: NDArray[np.float32]
    """[G]"""
    w2: NDArray[np.float32]
    """[G, H]"""
    b2: NDArray[np.float32]
    """[H]"""
    w3: NDArray[np.float32]
    """[H]; a bias would change nothing"""


@kernel(fastmath=True)
def scores(scorer: Any, seen: Any) -> Any:
    """float32 [k] of the candidates with the features `seen` [k, F]."""
    found = np.zeros(len(seen), np.float32)
    one, two = np.empty(len(scorer.b1), np.float32), np.empty(len(scorer.b2), np.float32)
    for k in range(len(seen)):
        one[:] = scorer.b1
        for i in range(len(scorer.mean)):
            z = (np.float32(seen[k, i]) - scorer.mean[i]) * scorer.scale[i]
            z = min(max(z, np.float32(-CLIP)), np.float32(CLIP))
            for g in range(len(one)):
                one[g] += z * scorer.w1[i, g]
        two[:] = scorer.b2
        for g in range(len(one)):
            if one[g] > 0.0:
                for h in range(len(two)):
                    two[h] += one[g] * scorer.w2[g, h]
        for h in range(len(two)):
            found[k] += max(two[h], np.float32(0.0)) * scorer.w3[h]
    return found


@kernel
def branch(model: Any, scorer: Any) -> Any:
    """Branch at the present node on the candidate with the highest score.

    Returns (slot, SCIP's code: 1 is done), (-1, 0) without candidates.
    """
    variables = candidates(model)
    if len(variables) == 0:
        return -1, 0
    slot = np.argmax(scores(scorer, features(model, variables, 0)))
    return slot, scip.branch_on(model, variables[slot], 0, 0, 0)
