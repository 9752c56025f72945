"""`play`: the loop that plays episodes in an environment; a function chooses the actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.deprecation import renamed
from corl.environment import Environment, View

__all__ = ["DecisionStep", "Played", "play"]


class DecisionStep(NamedTuple):
    """R states in which an action is to be chosen."""

    episode: NDArray[np.int64]
    """[R] the index of each state's episode in the `rows` given to `play`."""
    number: int
    """The number of actions that each of these episodes has taken in this call of `play`."""
    view: View
    """The view of these states."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """[R] rows of the environment's pool."""
        return self.view.rows

    @property
    def actions(self) -> NDArray[np.int32]:
        """[R, K] the actions that the environment lists, at least one in each row; -1 after the last."""
        return self.view.actions

    def taken(self, slots: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the actions in these slots, one per state: int32 [R]."""
        return np.take_along_axis(self.actions, slots[:, None], axis=1)[:, 0]


class Played(NamedTuple):
    """E episodes at their ends."""

    rows: NDArray[np.int64]
    """[E] the rows of the pool that hold the last states."""
    totals: NDArray[np.float64]
    """[E] the `totals` given to `play` plus all rewards, added in order."""
    actions: NDArray[np.int32]
    """[E, T] the actions taken, -1 after the end of the episode."""
    rewards: NDArray[np.float64]
    """[E, T] the rewards, 0 after the end of the episode."""


def play(
    environment: Environment,
    rows: NDArray[np.int64],
    totals: NDArray[np.float64],
    choose: Callable[[DecisionStep], NDArray[np.integer]],
    into: NDArray[np.int64] | None = None,
    most: NDArray[np.int64] | None = None,
) -> Played:
    """Play E episodes to their ends, side by side; only unfinished ones are passed to `choose`.

    Args:
        environment: The environment, whose rows hold the states (the pool).
        rows: int64 [E], all different: the rows of the initial states.
        totals: float64 [E], initial totals, to which rewards are added, such as the base values.
        choose: Returns the actions to take in the R states of a step, [R].
        into: int64 [E], rows that receive the later states, so that `rows` are not changed; None: `rows` are overwritten.
        most: int64 [E], the greatest number of actions of each episode; None: no limit.
    """
    current_rows, totals = rows.copy(), totals.copy()
    live = np.arange(len(rows))
    actions_by_step, rewards_by_step = [np.zeros((len(rows), 0), np.int32)], [np.zeros((len(rows), 0))]
    while True:
        if most is not None:
            live = live[most[live] >= len(actions_by_step)]
        listed = environment.actions(current_rows[live])
        unfinished = listed[:, 0] >= 0
        live, listed = live[unfinished], listed[unfinished]
        if not live.size:
            return Played(current_rows, totals, np.concatenate(actions_by_step, axis=1), np.concatenate(rewards_by_step, axis=1))
        chosen = choose(DecisionStep(live, len(actions_by_step) - 1, environment.view(current_rows[live], listed)))
        targets = current_rows[live] if into is None else into[live]
        rewards = environment.step(current_rows[live], targets, chosen)
        current_rows[live] = targets
        totals[live] += rewards
        actions_by_step.append(np.full((len(rows), 1), -1, np.int32))
        rewards_by_step.append(np.zeros((len(rows), 1)))
        actions_by_step[-1][live, 0], rewards_by_step[-1][live, 0] = chosen, rewards


if not TYPE_CHECKING:
    __getattr__ = renamed(__name__, {"Turn": "DecisionStep"})
