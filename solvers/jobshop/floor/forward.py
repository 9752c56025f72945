"""FloorNetwork's forward pass as kernels: observations of rows of a pool, logits, and whole episodes."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl import hooks
from corl.decoding.players import play_rows
from corl.environment import Environment, View
from corl.errors import UsageError
from corl.jit import kernel
from corl.networks.compiled import dense, draw
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.environments.floor.features import ACTION_FEATURES, FLOOR_FEATURES, describe
from corl.problems.jobshop.environments.floor.observation import OF_ACTIONS, OF_FLOOR, observe_row

__all__ = ["FloorEvaluator", "FloorWeights"]

_ACTIONS_PER_CHECK = 500  # actions between two calls of `stop`, about 10 ms


class FloorWeights(NamedTuple):
    """The parameters of a network with W hidden units."""

    line: NDArray[np.float32]
    """[ACTION_FEATURES] the linear part of an action's logit."""
    hidden: NDArray[np.float32]
    """[ACTION_FEATURES + FLOOR_FEATURES + 1, W] the hidden layer; its last row is the bias."""
    out: NDArray[np.float32]
    """[W] the output layer."""


class _Scratch(NamedTuple):
    """Work arrays for one row with up to K listed actions on M machines."""

    listed: NDArray[np.int32]
    """[K] the listed actions."""
    work: NDArray[np.int64]
    """[M] a work array of `observe_row`."""
    jobs: NDArray[np.int64]
    """[K, 17] the columns OF_ACTIONS of the listed actions."""
    floor: NDArray[np.int64]
    """[8] the entries OF_FLOOR."""
    x: NDArray[np.float32]
    """[K, ACTION_FEATURES + FLOOR_FEATURES] the features of each listed action, then those of the floor."""
    whole: NDArray[np.float32]
    """[FLOOR_FEATURES] the features of the floor."""
    hidden: NDArray[np.float32]
    """[W] the values of the hidden layer."""


class FloorEvaluator:
    """The network as a `corl.policy.Player` of a pool of the environment "floor"; it estimates no values and returns 0."""

    together = 1

    def __init__(self, environment: Environment, weights: FloorWeights) -> None:
        if not isinstance(environment, FloorEnvironment):
            raise UsageError("a network jobshop-floor plays in the environment floor; accepted: that one")
        self._environment, self._weights = environment, weights
        self._scratch = _Scratch(
            np.empty(environment.width, np.int32),
            np.empty(environment.state.free.shape[1], np.int64),
            np.zeros((environment.width, len(OF_ACTIONS)), np.int64),
            np.zeros(len(OF_FLOOR), np.int64),
            np.zeros((environment.width, ACTION_FEATURES + FLOOR_FEATURES), np.float32),
            np.zeros(FLOOR_FEATURES, np.float32),
            np.zeros(len(weights.out), np.float32),
        )

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator."""
        rows = view.rows
        logits = np.full((len(rows), self._environment.width), -np.inf, np.float32)
        _logits_of_rows(self._environment.state, rows, self._weights, self._scratch, logits)
        return logits, np.zeros(len(rows))

    def play(
        self,
        rows: NDArray[np.int64],
        temperature: ArrayLike = 0.0,
        random: NDArray[np.uint64] | None = None,
        most: int = 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """See corl.policy.Player."""

        def advance(row: int, heat: float, generator: NDArray[np.uint64], out: NDArray[np.int32]) -> tuple[int, float]:
            taken_and_reward: tuple[int, float] = _play(
                self._environment.state, row, self._weights, self._scratch, heat, generator, out
            )
            return taken_and_reward

        return play_rows(advance, rows, temperature, random, most, stop, _ACTIONS_PER_CHECK)


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
    observe_row(state, row, scratch.listed, count, scratch.work, scratch.jobs, scratch.floor)
    describe(scratch.jobs, count, scratch.floor, x, scratch.whole)
    for k in range(count):
        x[k, ACTION_FEATURES:] = scratch.whole
        dense(x[k], weights.hidden, hidden)
        score = np.float32(0.0)
        for f in range(ACTION_FEATURES):
            score += x[k, f] * weights.line[f]
        for w in range(len(hidden)):
            score += np.tanh(hidden[w]) * weights.out[w]
        out[k] = score
