"""Predicted gains as pseudocosts, trusted as far as they agree with what SCIP has observed of this program.

SCIP's own averages shrink a prior to what it observes; how many observations a prior counts as is decided by agreement: over the
candidates that SCIP has observed itself (strong branching at the root, diving), logs of pseudocosts are regressed on predicted
logs within each node. The share of variance that is explained is the trust; where predictions explain nothing, nothing is placed,
and SCIP's rule stays as it is.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from corl.jit import kernel
from corl.solvers.milp.branching.scoring import scores
from corl.solvers.milp.reliability.features import Input, inputs
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.candidates import candidates, features

__all__ = ["Known", "Prior", "place", "trust"]

_FLOOR = 1e-3  # least pseudocost in the regression / the node's mean
_CLIP = 6.0  # of predicted logs


class Prior(IntEnum):
    """Where predictions come from."""

    MEAN = 0  # the same for all
    NETWORK = 1
    DUAL = 2  # what cost and tight rows' duals add to a step


class Known(IntEnum):
    """Entries of `known`, sums over nodes that were looked at."""

    SCALE = 0  # pseudocosts / predictions, of the last node where there were any; 0 before
    PAIRS = 1  # degrees of freedom
    PREDICTED = 2  # sum of squares of predicted logs about their node's mean
    OBSERVED = 3  # of observed logs
    BOTH = 4  # of products


@kernel
def _missing(model, variables, placed):
    """Whether one of the variables has had no prior in this run."""
    missing = False
    for variable in variables:
        missing = missing or not placed[scip.var_index(variable)]
    return missing


@kernel
def _predict(model, scorer, prior, variables):
    """Logs of gains [2 k], down and up of each variable."""
    logs = np.zeros(2 * len(variables), np.float32)
    if prior != Prior.MEAN:
        lines = inputs(model, variables, features(model, variables, 0))
        if prior == Prior.NETWORK:
            logs[:] = scores(scorer, lines)
        else:
            logs[:] = lines[:, Input.HURT]
        logs -= logs.mean()
    for i in range(len(logs)):
        logs[i] = min(max(logs[i], np.float32(-_CLIP)), np.float32(_CLIP))
    return logs


@kernel
def _compare(model, variables, logs, placed, known):
    """Add the present node's pairs of predicted and observed logs, of variables without a prior, to the sums."""
    mean, pairs = 0.0, 0
    xs, ys = np.empty(len(logs)), np.empty(len(logs))
    for k in range(len(variables)):
        for way in range(2):
            if not placed[scip.var_index(variables[k])] and scip.var_pseudocost_count(model, variables[k], way) > 0.5:
                xs[pairs], ys[pairs] = logs[2 * k + way], scip.var_pseudocost(model, variables[k], 2.0 * way - 1.0)
                mean, pairs = mean + ys[pairs], pairs + 1
    if pairs < 2 or mean <= 0.0:
        return
    x = xs[:pairs] - xs[:pairs].mean()
    y = np.log(np.maximum(ys[:pairs], _FLOOR * mean / pairs))
    y -= y.mean()
    known[Known.PAIRS] += pairs - 1
    known[Known.PREDICTED] += (x * x).sum()
    known[Known.OBSERVED] += (y * y).sum()
    known[Known.BOTH] += (x * y).sum()


@kernel
def trust(known: Any, least: float) -> Any:
    """Explained share of variance, less what as many pairs explain by chance, and the slope, at most 1; 0, 0 for no agreement."""
    if known[Known.PAIRS] < least or known[Known.BOTH] <= 0.0:
        return 0.0, 0.0
    share = known[Known.BOTH] ** 2 / (known[Known.PREDICTED] * known[Known.OBSERVED])
    share = 1.0 - (1.0 - share) * known[Known.PAIRS] / (known[Known.PAIRS] - 1.0)
    return max(share, 0.0), min(known[Known.BOTH] / known[Known.PREDICTED], 1.0)


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
def place(model: Any, scorer: Any, weight: float, least: float, prior: int, placed: Any, known: Any) -> Any:
    """Give the present node's candidates their priors: so many observations of the predicted gain of each direction.

    SCIP's pseudocost of a direction with n observations is then (n x their mean + w x prediction) / (n + w). With `least` > 1, w
    is `weight` x trust, once there are `least` pairs to compare; else it is `weight`. Predictions are relative; they are scaled
    by the pseudocosts that SCIP has of these candidates, and while it has none, none is placed. placed: [variables] by index,
    whether one has its prior; known: [len(Known)]. Returns how many were placed.
    """
    variables, count = candidates(model), 0
    if len(variables) == 0 or not _missing(model, variables, placed):
        return 0
    logs = _predict(model, scorer, prior, variables)
    share, slope = 1.0, 1.0
    if least > 1.0:
        _compare(model, variables, logs, placed, known)
        share, slope = trust(known, least)
    gains = np.exp(np.float32(slope) * logs)
    scale = _scale(model, variables, gains, 0.5)
    if scale > 0.0:
        known[Known.SCALE] = scale
    if known[Known.SCALE] <= 0.0 or share <= 0.0:
        return 0
    for k in range(len(variables)):
        index = scip.var_index(variables[k])
        if not placed[index]:
            placed[index], count = True, count + 1
            for way in range(2):
                step = 2.0 * way - 1.0
                scip.update_pseudocost(model, variables[k], step, known[Known.SCALE] * gains[2 * k + way], weight * share)
    return count
