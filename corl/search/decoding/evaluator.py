"""Evaluator: shows rows of a pool to a policy, and counts what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError

__all__ = ["Evaluator", "Evaluates", "Stopped", "log_softmax"]

_MOST = 4096  # rows in one network call, unless told otherwise


class Evaluates(Protocol):
    """What decoders need of a policy."""

    def evaluate(self, observation: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Logits [R, K] of the actions listed, and values [R], of the rows in an observation."""
        ...


class Stopped(Exception):
    """The budget was refused; what had been found stays found."""


class Evaluator:
    """A policy over the pool of an environment.

    rows: states shown to the network so far. batches: network calls. Rows with a single legal action are stepped without
    asking the network. Two decoders are compared at equal `rows`.
    """

    def __init__(
        self, environment: Environment, policy: Evaluates, *, most: int = _MOST, ask: Callable[[int], bool] | None = None
    ) -> None:
        """most: rows in one network call. ask: told of each call's rows before it; False ends the decoding (`Stopped`)."""
        if most < 1:
            raise UsageError(f"most is {most}; accepted: an integer from 1")
        self.environment, self.policy, self.most, self.ask = environment, policy, most, ask
        self.rows = self.batches = 0

    def log_probabilities(
        self, rows: NDArray[np.int64], actions: NDArray[np.int32], temperature: float = 1.0
    ) -> NDArray[np.float64]:
        """Of the `actions` [R, K] that the environment lists for `rows` [R], none of whose episodes is over: float64 [R, K].

        -inf where there is no action. Raises Stopped.
        """
        there = actions >= 0
        logits = np.where(there, 0.0, -np.inf)
        asked = np.flatnonzero(there.sum(axis=1) > 1)
        for begin in range(0, len(asked), self.most):
            part = asked[begin : begin + self.most]
            logits[part] = np.where(there[part], self._logits(rows[part]) / temperature, -np.inf)
        return log_softmax(logits)

    def _logits(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        if self.ask is not None and not self.ask(len(rows)):
            raise Stopped
        logits, _ = self.policy.evaluate(self.environment.observe(rows))
        if logits.shape != (len(rows), self.environment.width):
            raise UsageError(f"the policy gave logits of shape {logits.shape}, not {(len(rows), self.environment.width)}")
        self.rows, self.batches = self.rows + len(rows), self.batches + 1
        return np.asarray(logits, np.float64)


def log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """log softmax over the last axis, in which at least one entry is finite; -inf stays."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))  # type: ignore[no-any-return]
