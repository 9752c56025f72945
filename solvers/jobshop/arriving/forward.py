"""QueueNetwork in numba: what it sees of a row of the pool, and its logits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.environment import Environment, View
from corl.errors import UsageError
from corl.jit import kernel
from corl.networks.compiled import dense
from corl.problems.jobshop.arriving.environment import OF_JOBS, OF_SHOP, ArrivingEnvironment, look
from corl.problems.jobshop.arriving.features import JOB, SHOP, describe

__all__ = ["QueueEvaluator", "QueueWeights"]


class QueueWeights(NamedTuple):
    """The network's parameters; W hidden units."""

    line: NDArray[np.float32]
    """[JOB]"""
    hidden: NDArray[np.float32]
    """[JOB + SHOP + 1, W], the biases last"""
    out: NDArray[np.float32]
    """[W]"""


class _Scratch(NamedTuple):
    listed: NDArray[np.int32]
    """[K]"""
    work: NDArray[np.int64]
    """[M]"""
    jobs: NDArray[np.int64]
    """[K, 10]"""
    shop: NDArray[np.int64]
    """[5]"""
    x: NDArray[np.float32]
    """[K, JOB + SHOP]"""
    whole: NDArray[np.float32]
    """[SHOP]"""
    hidden: NDArray[np.float32]
    """[W]"""


class QueueEvaluator:
    """As corl.policy.Player has it; the values are 0."""

    def __init__(self, environment: Environment, weights: QueueWeights) -> None:
        if not isinstance(environment, ArrivingEnvironment):
            raise UsageError("a network jobshop-queue plays in the environment arriving; accepted: that one")
        self._environment, self._weights = environment, weights
        self._scratch = _Scratch(
            np.empty(environment.width, np.int32),
            np.empty(environment.state.free.shape[1], np.int64),
            np.zeros((environment.width, len(OF_JOBS)), np.int64),
            np.zeros(len(OF_SHOP), np.int64),
            np.zeros((environment.width, JOB + SHOP), np.float32),
            np.zeros(SHOP, np.float32),
            np.zeros(len(weights.out), np.float32),
        )

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator."""
        rows = view.rows
        logits = np.full((len(rows), self._environment.width), -np.inf, np.float32)
        _logits_of_rows(self._environment.state, rows, self._weights, self._scratch, logits)
        return logits, np.zeros(len(rows))

    def play(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """See corl.policy.Player."""
        totals = np.zeros(len(rows))
        _play(self._environment.state, rows, self._weights, self._scratch, totals)
        return totals


@kernel
def _play(state, rows, weights, scratch, totals):
    """The sums of the rewards into totals [R]."""
    logits = np.empty(len(scratch.listed), np.float32)
    for i in range(len(rows)):
        count = hooks.actions(state, rows[i], scratch.listed)
        while count > 0:
            chosen = 0
            if count > 1:
                _logits(state, rows[i], count, weights, scratch, logits)
                for k in range(1, count):
                    if logits[k] > logits[chosen]:
                        chosen = k
            totals[i] += hooks.step(state, rows[i], rows[i], scratch.listed[chosen])
            count = hooks.actions(state, rows[i], scratch.listed)


@kernel
def _logits_of_rows(state, rows, weights, scratch, out):
    """Of the actions that the environment lists, into out [R, K]."""
    for i in range(len(rows)):
        count = hooks.actions(state, rows[i], scratch.listed)
        if count > 0:
            _logits(state, rows[i], count, weights, scratch, out[i])


@kernel
def _logits(state, row, count, weights, scratch, out):
    """Of the actions scratch.listed[:count] into out [K]."""
    x, hidden = scratch.x, scratch.hidden
    look(state, row, scratch.listed[:count], scratch.work, scratch.jobs, scratch.shop)
    describe(scratch.jobs, count, scratch.shop, x, scratch.whole)
    for k in range(count):
        x[k, JOB:] = scratch.whole
        dense(x[k], weights.hidden, hidden)
        score = np.float32(0.0)
        for f in range(JOB):
            score += x[k, f] * weights.line[f]
        for w in range(len(hidden)):
            score += np.tanh(hidden[w]) * weights.out[w]
        out[k] = score
