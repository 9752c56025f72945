"""`play`: the loop that plays episodes in an environment with any choice of actions."""

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
    """[R] the index of each state's row among the rows given to `play`."""
    number: int
    """The number of actions that each has taken in this call of `play`."""
    view: View
    """The view of these states."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """[R] rows of the environment's pool."""
        return self.view.rows

    @property
    def actions(self) -> NDArray[np.int32]:
        """[R, K] as the environment lists them; each row has at least one."""
        return self.view.actions

    def taken(self, slots: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the actions [R] in these slots [R]."""
        return np.take_along_axis(self.actions, slots[:, None], axis=1)[:, 0]


class Played(NamedTuple):
    """E episodes at their ends."""

    rows: NDArray[np.int64]
    """[E] the rows of their last states."""
    totals: NDArray[np.float64]
    """[E] the given totals, with the rewards added in order."""
    actions: NDArray[np.int32]
    """[E, T], -1 after the end."""
    rewards: NDArray[np.float64]
    """[E, T], 0 after the end."""


def play(
    environment: Environment,
    rows: NDArray[np.int64],
    totals: NDArray[np.float64],
    choose: Callable[[DecisionStep], NDArray[np.integer]],
    into: NDArray[np.int64] | None = None,
    most: NDArray[np.int64] | None = None,
) -> Played:
    """Play episodes to their ends.

    Finished episodes leave the batch.

    Args:
        environment: The pool.
        rows: int64 [E], all different, the rows of the initial states.
        totals: float64 [E], the totals before, such as the base values.
        choose: Returns the actions [R] to take.
        into: int64 [E], rows to play on, so that `rows` are not changed; None: in place.
        most: int64 [E], the greatest number of actions of each episode; None: no limit.
    """
    at, totals = rows.copy(), totals.copy()
    live = np.arange(len(rows))
    taken, given = [np.zeros((len(rows), 0), np.int32)], [np.zeros((len(rows), 0))]
    while True:
        if most is not None:
            live = live[most[live] >= len(taken)]
        offered = environment.actions(at[live])
        unfinished = offered[:, 0] >= 0
        live, offered = live[unfinished], offered[unfinished]
        if not live.size:
            return Played(at, totals, np.concatenate(taken, axis=1), np.concatenate(given, axis=1))
        chosen = choose(DecisionStep(live, len(taken) - 1, environment.view(at[live], offered)))
        targets = at[live] if into is None else into[live]
        rewards = environment.step(at[live], targets, chosen)
        at[live] = targets
        totals[live] += rewards
        taken.append(np.full((len(rows), 1), -1, np.int32))
        given.append(np.zeros((len(rows), 1)))
        taken[-1][live, 0], given[-1][live, 0] = chosen, rewards


if not TYPE_CHECKING:
    __getattr__ = renamed(__name__, {"Turn": "DecisionStep"})
