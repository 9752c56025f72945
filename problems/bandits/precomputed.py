"""Tables that the environment computes once per instance."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.constraints import Rooms
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.transitions import thresholds

__all__ = ["Precomputed", "precompute"]

_MAX_DEPTH = 64  # steps of the lookahead; after this many, the effect of one action on an arm has almost vanished


class Precomputed(NamedTuple):
    """Tables of one instance with J arms, A levels, S states and N entries of an action.

    A pick is an entry that the environment sets to 1.
    """

    thresholds: NDArray[np.float64]
    """[J, A, S, S] cumulative transition probabilities, see `transitions.thresholds`."""
    lookahead: NDArray[np.float64]
    """[H, 2, J, A, S] lookahead[h - 1, k, j, a, s] is the expected discounted reward of arm j over h steps from state s. The arm
    gets level a in the first step; in later steps, level 0 if k = 0, its best level if k = 1. H is the horizon, at most 64."""
    rooms: Rooms
    """The rooms of the instance's constraint."""
    reach: NDArray[np.int64]
    """[N + 1] index of each pick's first row in `touched`."""
    touched: NDArray[np.int64]
    """[any, 2] rows (arm, what the pick adds to the arm's level), for the arms that each pick touches."""


@lru_cache(maxsize=256)
def precompute(instance: BanditInstance) -> Precomputed:
    """Return the tables of an instance, cached. Raises UsageError if its feasible actions are too many to list."""
    pairs = instance.constraint.touched()
    reach = np.cumsum([0, *map(len, pairs)])
    touched = np.array([pair for each in pairs for pair in each], np.int64).reshape(-1, 2)
    return Precomputed(thresholds(instance), _lookahead(instance), instance.constraint.rooms(), reach, touched)


def _lookahead(instance: BanditInstance) -> NDArray[np.float64]:
    """Return the table `Precomputed.lookahead`, computed by backward induction for each arm alone."""
    tables = np.empty((min(instance.horizon, _MAX_DEPTH), 2, *instance.rewards.shape))
    after = np.zeros((2, *instance.rewards[:, 0].shape))
    for table in tables:
        for k in range(2):
            table[k] = instance.rewards + instance.discount * np.einsum("jasn,jn->jas", instance.transitions, after[k])
        after = np.stack([table[0][:, 0], np.where(instance.exists, table[1], -np.inf).max(axis=1)])
        after[1] = np.where(instance.exists[:, 0], after[1], 0.0)
    return tables
