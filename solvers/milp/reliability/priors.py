"""Predicted gains as pseudocosts: SCIP's own averages then shrink them to what it observes."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.solvers.milp.branching.scoring import scores
from corl.solvers.milp.reliability.features import inputs
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.candidates import candidates, features

__all__ = ["place"]


@kernel
def _missing(model, variables, placed):
    """Whether one of the variables has had no prior in this run."""
    missing = False
    for variable in variables:
        missing = missing or not placed[scip.var_index(variable)]
    return missing


@kernel
def _scale(model, variables, gains, least):
    """Observed pseudocosts / predicted gains, in sum over the directions with `least` observations; 0 without one."""
    seen, predicted = 0.0, 0.0
    for k in range(len(variables)):
        for way in range(2):
            if scip.var_pseudocost_count(model, variables[k], way) >= least:
                seen += scip.var_pseudocost(model, variables[k], 2.0 * way - 1.0)
                predicted += gains[2 * k + way]
    return seen / predicted if predicted > 0.0 else 0.0


@kernel
def place(model: Any, scorer: Any, weight: float, learned: bool, placed: Any, known: Any) -> Any:
    """Give the present node's candidates their priors: `weight` observations of the predicted gain of each direction.

    SCIP's pseudocost of a direction with n observations is then (n x their mean + weight x prediction) / (n + weight).
    Predictions are relative; they are scaled by the pseudocosts that SCIP has of these candidates, and while it has none, none is
    placed. Without `learned` every prediction is the same: the ablation. placed: [variables] by index, whether one has its prior;
    known: [1], the last scale, 0 before the first. Returns how many were placed.
    """
    variables, count = candidates(model), 0
    if len(variables) == 0 or not _missing(model, variables, placed):
        return 0
    gains = np.ones(2 * len(variables), np.float32)
    if learned:
        gains[:] = np.exp(scores(scorer, inputs(model, variables, features(model, variables, 0))))
    scale = _scale(model, variables, gains, 0.5)
    if scale > 0.0:
        known[0] = scale
    if known[0] <= 0.0:
        return 0
    for k in range(len(variables)):
        index = scip.var_index(variables[k])
        if not placed[index]:
            placed[index], count = True, count + 1
            for way in range(2):
                scip.update_pseudocost(model, variables[k], 2.0 * way - 1.0, known[0] * gains[2 * k + way], weight)
    return count
