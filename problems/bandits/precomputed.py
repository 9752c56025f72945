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

_DEEPEST = 64  # steps of the lookahead: after this many, the effect of a pick has almost vanished


class Precomputed(NamedTuple):
    """Tables of one instance with J arms, A levels, S states and action size N."""

    thresholds: NDArray[np.float64]
    """[J, A, S, S] see transitions.py."""
    lookahead: NDArray[np.float64]
    """[H, 2, J, A, S] the reward of an arm over 1, ..., H steps that begin with a level in a state, discounted from there: if it
    gets level 0 afterwards (0), and if it then always gets its best level (1). H is the horizon, at most 64."""
    rooms: Rooms
    reach: NDArray[np.int64]
    """[N + 1] index of a pick's first row in `touched`."""
    touched: NDArray[np.int64]
    """[any, 2] the arms that a pick touches, and what it adds to their levels."""


@lru_cache(maxsize=256)
def precompute(instance: BanditInstance) -> Precomputed:
    """Return the tables of an instance, cached. Raises UsageError if its feasible actions are too many to list."""
    pairs = instance.constraint.touched()
    reach = np.cumsum([0, *map(len, pairs)])
    touched = np.array([pair for each in pairs for pair in each], np.int64).reshape(-1, 2)
    return Precomputed(thresholds(instance), _lookahead(instance), instance.constraint.rooms(), reach, touched)


def _lookahead(instance: BanditInstance) -> NDArray[np.float64]:
    """Return the table `Precomputed.lookahead`, by backward induction, arm by arm."""
    tables = np.empty((min(instance.horizon, _DEEPEST), 2, *instance.rewards.shape))
    after = np.zeros((2, *instance.rewards[:, 0].shape))
    for table in tables:
        for k in range(2):
            table[k] = instance.rewards + instance.discount * np.einsum("jasn,jn->jas", instance.transitions, after[k])
        after = np.stack([table[0][:, 0], np.where(instance.exists, table[1], -np.inf).max(axis=1)])
        after[1] = np.where(instance.exists[:, 0], after[1], 0.0)
    return tables
