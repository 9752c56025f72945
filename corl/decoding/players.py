"""`play_rows`: an implementation of `corl.policy.Player.play` by a kernel that plays one row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["play_rows"]

_MAX_ACTIONS = 4096  # the greatest number of actions in one call of the kernel if there is no `stop`


def play_rows(
    advance: Callable[[int, float, NDArray[np.uint64], NDArray[np.int32]], tuple[int, float]],
    rows: NDArray[np.int64],
    temperature: ArrayLike,
    random: NDArray[np.uint64] | None,
    most: int,
    stop: Callable[[], bool] | None,
    chunk: int,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Play `rows` [R] one after the other; the other arguments and the results are those of `Player.play`.

    Args:
        advance: The kernel. Its arguments are a row, the temperature, the state of the random generator, uint64 [1], and an array
            int32 [n], into which it writes the actions that it takes. It returns their number (less than n only if the episode is
            over) and the sum of the rewards.
        chunk: The length n of that array if `stop` is given: so many actions that they take about 10 ms.
    """
    temperatures = np.broadcast_to(np.asarray(temperature, np.float64), rows.shape)
    random = np.zeros((len(rows), 1), np.uint64) if random is None else random
    rewards, actions_by_row = np.zeros(len(rows)), list[NDArray[np.int32]]()
    for i, row in enumerate(rows.tolist()):
        chunks = [np.empty(0, np.int32)]
        actions_left = most
        while actions_left > 0 and not (stop is not None and stop()):
            out = np.empty(min(actions_left, _MAX_ACTIONS if stop is None else chunk), np.int32)
            count, reward = advance(row, temperatures[i], random[i], out)
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
