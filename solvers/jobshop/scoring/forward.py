"""ScoringNetwork's forward pass as kernels: observations of rows of a pool, logits, and whole episodes."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.decoding.players import RowPlayer
from corl.environment import Environment, View
from corl.jit import kernel
from corl.networks.compiled import dense, draw

__all__ = ["Scratch", "ScoringEvaluator", "ScoringWeights", "describe_listed"]


class ScoringWeights(NamedTuple):
    """The parameters of a network with F features of an action, G of the whole and W hidden units."""

    line: NDArray[np.float32]
    """[F] the linear part of an action's logit."""
    hidden: NDArray[np.float32]
    """[F + G + 1, W] the hidden layer; its last row is the bias."""
    out: NDArray[np.float32]
    """[W] the output layer."""


class Scratch(NamedTuple):
    """Work arrays for one row with up to K listed actions on M machines."""

    listed: NDArray[np.int32]
    """[K] the listed actions."""
    work: NDArray[np.int64]
    """[M] a work array of the observation."""
    observed: NDArray[np.int64]
    """[K, columns of the environment's observation of an action] the observation of the listed actions."""
    observed_whole: NDArray[np.int64]
    """[entries of the environment's observation of the whole] the observation of the shop as a whole."""
    x: NDArray[np.float32]
    """[K, F + G] the features of each listed action, then those of the whole."""
    whole: NDArray[np.float32]
    """[G] the features of the whole."""
    hidden: NDArray[np.float32]
    """[W] the values of the hidden layer."""


@hooks.hook
def describe_listed(state: Any, row: int, count: int, scratch: Any) -> None:
    """Write the features of the actions scratch.listed[:count] of a row to scratch.x[:, :F], and of the whole to scratch.whole.

    Attached for an environment's class of state (corl.hooks); it may overwrite all of `scratch` but `listed`.
    """
    raise NotImplementedError("only compiled code can call a hook")


class ScoringEvaluator(RowPlayer):
    """The network as a `corl.policy.Player` of an environment's pool; it estimates no values and returns 0."""

    actions_per_check = 500

    def __init__(self, environment: Environment, weights: ScoringWeights, columns: int, entries: int) -> None:
        """Prepare to play.

        Args:
            environment: An environment for whose class of state `describe_listed` is attached.
            weights: The parameters.
            columns: The number of columns of the environment's observation of an action.
            entries: The number of entries of its observation of the whole.
        """
        self._environment, self._weights = environment, weights
        width, features = environment.width, len(weights.hidden) - 1
        self._scratch = Scratch(
            np.empty(width, np.int32),
            np.empty(environment.state.free.shape[1], np.int64),
            np.zeros((width, columns), np.int64),
            np.zeros(entries, np.int64),
            np.zeros((width, features), np.float32),
            np.zeros(features - len(weights.line), np.float32),
            np.zeros(len(weights.out), np.float32),
        )

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator."""
        rows = view.rows
        logits = np.full((len(rows), self._environment.width), -np.inf, np.float32)
        _logits_of_rows(self._environment.state, rows, self._weights, self._scratch, logits)
        return logits, np.zeros(len(rows))

    def advance(self, row: int, temperature: float, random: NDArray[np.uint64], out: NDArray[np.int32]) -> tuple[int, float]:
        """See RowPlayer."""
        taken: tuple[int, float] = _play(self._environment.state, row, self._weights, self._scratch, temperature, random, out)
        return taken


@kernel
def _play(state, row, weights, scratch, temperature, random, out):
    """Take up to len(out) actions in `row`, in place, and write them to `out` (int32).

    The temperature is that of sampling; 0 means greedy. Returns (number of actions, sum of their rewards).
    """
    logits = np.empty(len(scratch.listed), np.float32)
    taken, total = 0, 0.0
    while taken < len(out):
        count = hooks.actions(state, row, scratch.listed)
        if count == 0:
            break
        chosen = 0
        if count > 1:
            _logits(state, row, count, weights, scratch, logits)
            chosen = draw(logits, 0, count, temperature, random)
        out[taken] = scratch.listed[chosen]
        total += hooks.step(state, row, row, out[taken])
        taken += 1
    return taken, total


@kernel
def _logits_of_rows(state, rows, weights, scratch, out):
    """Write the logits of the actions that the environment lists in `rows` (int64 [R]) to out (float32 [R, K])."""
    for i in range(len(rows)):
        count = hooks.actions(state, rows[i], scratch.listed)
        if count > 0:
            _logits(state, rows[i], count, weights, scratch, out[i])


@kernel
def _logits(state, row, count, weights, scratch, out):
    """Write the logits of the actions scratch.listed[:count] to out (float32 [K])."""
    x, hidden = scratch.x, scratch.hidden
    describe_listed(state, row, count, scratch)
    for k in range(count):
        x[k, len(weights.line) :] = scratch.whole
        dense(x[k], weights.hidden, hidden)
        score = np.float32(0.0)
        for f in range(len(weights.line)):
            score += x[k, f] * weights.line[f]
        for w in range(len(hidden)):
            score += np.tanh(hidden[w]) * weights.out[w]
        out[k] = score
