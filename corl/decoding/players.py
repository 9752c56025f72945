"""`RowPlayer`: the base of players (`corl.policy.Player`) whose kernel plays one row."""

from __future__ import annotations

import abc
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["RowPlayer"]

_MAX_ACTIONS = 4096  # the greatest number of actions in one call of the kernel if there is no `stop`


class RowPlayer(abc.ABC):
    """A player that plays rows one after the other."""

    together = 1
    actions_per_check = 100
    """The number of actions between two calls of `stop`; they should take about 10 ms."""

    @abc.abstractmethod
    def advance(self, row: int, temperature: float, random: NDArray[np.uint64], out: NDArray[np.int32]) -> tuple[int, float]:
        """Take the next actions of a row, in place.

        Args:
            row: The row.
            temperature: As for `corl.policy.Player.play`.
            random: uint64 [1], the state of the random generator, advanced in place.
            out: int32 [n], receives the actions.

        Returns:
            Their number, less than n only if the episode is over, and the sum of the rewards.
        """

    def play(
        self,
        rows: NDArray[np.int64],
        temperature: ArrayLike = 0.0,
        random: NDArray[np.uint64] | None = None,
        most: int = 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """See `corl.policy.Player.play`."""
        temperatures = np.broadcast_to(np.asarray(temperature, np.float64), rows.shape)
        random = np.zeros((len(rows), 1), np.uint64) if random is None else random
        chunk = _MAX_ACTIONS if stop is None else self.actions_per_check
        rewards, actions_by_row = np.zeros(len(rows)), list[NDArray[np.int32]]()
        for i, row in enumerate(rows.tolist()):
            chunks = [np.empty(0, np.int32)]
            actions_left = most
            while actions_left > 0 and not (stop is not None and stop()):
                out = np.empty(min(actions_left, chunk), np.int32)
                count, reward = self.advance(row, float(temperatures[i]), random[i], out)
                chunks.append(out[:count])
                rewards[i] += reward
                actions_left -= count
                if count < len(out):
                    break
            actions_by_row.append(np.concatenate(chunks))
        actions = np.full((len(rows), max(map(len, actions_by_row), default=0)), -1, np.int32)
        for taken_actions, out in zip(actions_by_row, actions):
            out[: len(taken_actions)] = taken_actions
        return rewards, actions
