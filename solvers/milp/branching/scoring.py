"""A perceptron in kernels that scores branching candidates by their features, with two hidden layers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.candidates import candidates, features

__all__ = ["CLIP", "Scorer", "branch", "scores"]

CLIP = 5.0
"""Standardised features are clipped to -CLIP..CLIP."""


class Scorer(NamedTuple):
    """The weights of a perceptron with F inputs and G and H hidden units."""

    mean: NDArray[np.float32]
    """[F], the means of the features in training."""
    scale: NDArray[np.float32]
    """[F], 1 / the standard deviations of the features in training."""
    w1: NDArray[np.float32]
    """[F, G]"""
    b1: NDArray[np.float32]
    """[G]"""
    w2: NDArray[np.float32]
    """[G, H]"""
    b2: NDArray[np.float32]
    """[H]"""
    w3: NDArray[np.float32]
    """[H]; there is no bias, which would not change the order of the scores."""


@kernel(fastmath=True)
def scores(scorer: Any, inputs: Any) -> Any:
    """Return the scores, float32 [k], of candidates with the features `inputs`, float [k, F]."""
    result = np.zeros(len(inputs), np.float32)
    first_layer, second_layer = np.empty(len(scorer.b1), np.float32), np.empty(len(scorer.b2), np.float32)
    for k in range(len(inputs)):
        first_layer[:] = scorer.b1
        for i in range(len(scorer.mean)):
            z = (np.float32(inputs[k, i]) - scorer.mean[i]) * scorer.scale[i]
            z = min(max(z, np.float32(-CLIP)), np.float32(CLIP))
            for g in range(len(first_layer)):
                first_layer[g] += z * scorer.w1[i, g]
        second_layer[:] = scorer.b2
        for g in range(len(first_layer)):
            if first_layer[g] > 0.0:
                for h in range(len(second_layer)):
                    second_layer[h] += first_layer[g] * scorer.w2[g, h]
        for h in range(len(second_layer)):
            result[k] += max(second_layer[h], np.float32(0.0)) * scorer.w3[h]
    return result


@kernel
def branch(model: Any, scorer: Any) -> Any:
    """Branch at the current node on the candidate with the highest score.

    Args:
        model: int64, a SCIP* whose LP is solved.
        scorer: The Scorer.

    Returns:
        The slot of the candidate and SCIP's return code, 1 for success; (-1, 0) without candidates.
    """
    variables = candidates(model)
    if len(variables) == 0:
        return -1, 0
    slot = np.argmax(scores(scorer, features(model, variables, 0)))
    return slot, scip.branch_on(model, variables[slot], 0, 0, 0)
