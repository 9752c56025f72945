"""CountedEvaluator: the evaluation of states by a policy for decoders, with a count of evaluations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.environment import Environment, View
from corl.errors import UsageError
from corl.policy import Player, Policy

__all__ = ["CountedEvaluator", "Stopped", "log_softmax"]

_MAX_ROWS = 4096  # rows in one network call, by default


class Stopped(Exception):
    """Raised when the budget is spent; the solutions found so far are kept."""


class CountedEvaluator:
    """A policy on the pool of an environment, with the interface of corl.policy.Evaluator.

    `rows` counts the states evaluated by the network, `batches` the network calls. States with a single legal action are not
    evaluated. Decoders should be compared at equal `rows`.
    """

    def __init__(
        self,
        environment: Environment,
        policy: Policy,
        *,
        most: int = _MAX_ROWS,
        ask: Callable[[int], bool] | None = None,
        left: Callable[[], int] = lambda: 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Create an evaluator of `policy` on `environment`.

        Args:
            environment: The environment, also called the pool: its rows hold the states.
            policy: The policy that evaluates states.
            most: The greatest number of rows in one network call.
            ask: Function that is called with the number of rows before each network call; if it returns False, the decoding ends
                (`Stopped`).
            left: Function that returns how many more rows `ask` would grant, for policies that play whole episodes by themselves.
                The rows that such a policy has played are reported to `ask` afterwards.
            stop: Function that is called about every 10 ms while such a policy plays; if it returns True, the decoding ends.
        """
        if most < 1:
            raise UsageError(f"most is {most}; accepted: an integer from 1")
        self.environment, self.policy, self.most, self.ask = environment, policy, most, ask
        self._left, self._stop = left, stop
        self.evaluator = policy.on(environment)
        self.rows = self.batches = 0

    @property
    def player(self) -> Player | None:
        """The evaluator, if it plays whole episodes by itself; otherwise None."""
        return self.evaluator if isinstance(self.evaluator, Player) else None

    def play(
        self, rows: NDArray[np.int64], temperature: ArrayLike, random: NDArray[np.uint64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Play `rows` to the ends of their episodes by `player`; see Player.play for arguments and results.

        Every action counts as an evaluated row. Raises Stopped.
        """
        player = self.player
        assert player is not None
        rewards, actions = player.play(rows, temperature, random, self._left() // len(rows), self._stop)
        taken = int((actions >= 0).sum())
        if self.ask is not None:
            self.ask(taken)
        self.rows, self.batches = self.rows + taken, self.batches + 1
        if (self.environment.actions(rows)[:, 0] >= 0).any():
            raise Stopped
        return rewards, actions

    def log_probabilities(
        self, rows: NDArray[np.int64], actions: NDArray[np.int32], temperature: ArrayLike = 1.0
    ) -> NDArray[np.float64]:
        """Return the log probabilities of listed actions.

        Args:
            rows: int64 [R], none of whose episodes is over.
            actions: int32 [R, K], as the environment lists them for `rows`.
            temperature: A divisor of the logits, for all rows or [R].

        Returns:
            float64 [R, K], -inf in empty slots.

        Raises:
            Stopped: The budget is spent.
        """
        listed = actions >= 0
        logits = np.where(listed, 0.0, -np.inf)
        choosing = np.flatnonzero(listed.sum(axis=1) > 1)
        if choosing.size:
            computed, _ = self.evaluate(self.environment.view(rows[choosing], actions[choosing]))
            divisor = np.broadcast_to(np.asarray(temperature, np.float64), rows.shape)[choosing, None]
            logits[choosing] = np.where(listed[choosing], computed.astype(np.float64) / divisor, -np.inf)
        return log_softmax(logits)

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return logits float32 [R, K] and values float64 [R] of R states, in calls of at most `most` rows. Raises Stopped."""
        count = len(view.rows)
        logits, values = np.empty((count, self.environment.width), np.float32), np.empty(count)
        for begin in range(0, count, self.most):
            part = slice(begin, min(count, begin + self.most))
            self.spend(part.stop - begin)
            view_part = view if count <= self.most else self.environment.view(view.rows[part], view.actions[part])
            computed, value = self.evaluator.evaluate(view_part)
            if computed.shape != logits[part].shape:
                raise UsageError(f"the policy gave logits of shape {computed.shape}, not {logits[part].shape}")
            logits[part], values[part] = computed, value
        return logits, values

    def spend(self, rows: int) -> None:
        """Count a network call of `rows` rows. Raises Stopped if `ask` refuses it."""
        if self.ask is not None and not self.ask(rows):
            raise Stopped
        self.rows, self.batches = self.rows + rows, self.batches + 1


def log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log softmax over the last axis, of which at least one entry must be finite; entries of -inf remain -inf."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))  # type: ignore[no-any-return]
