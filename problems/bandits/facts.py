"""What the environment computes once an instance."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.constraints import Rooms
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.transitions import thresholds

__all__ = ["Facts", "facts"]

_DEEPEST = 64  # steps of the outlook: what a pick changes is all but forgotten after as many


class Facts(NamedTuple):
    """Of one instance."""

    thresholds: NDArray[np.float64]
    """[J, A, S, S]"""
    outlook: NDArray[np.float64]
    """[H, 2, J, A, S] what an arm earns over 1, ..., H steps from giving it a level in a state, the discounts counted from here:
    if it is left alone afterwards, and if it is then always given its best level. H is the horizon, 64 at most."""
    rooms: Rooms
    reach: NDArray[np.int64]
    """[N + 1] where a pick's rows in `touched` begin."""
    touched: NDArray[np.int64]
    """[any, 2] arms, and what a pick adds to their levels."""


@lru_cache(maxsize=256)
def facts(instance: BanditInstance) -> Facts:
    """The same object for the same instance. Raises UsageError where its feasible actions are too many to list."""
    pairs = instance.constraint.touched()
    reach = np.cumsum([0, *map(len, pairs)])
    touched = np.array([pair for each in pairs for pair in each], np.int64).reshape(-1, 2)
    return Facts(thresholds(instance), _outlook(instance), instance.constraint.rooms(), reach, touched)


def _outlook(instance: BanditInstance) -> NDArray[np.float64]:
    """By backward induction, arm by arm."""
    tables = np.empty((min(instance.horizon, _DEEPEST), 2, *instance.rewards.shape))
    after = np.zeros((2, *instance.rewards[:, 0].shape))
    for table in tables:
        for k in range(2):
            table[k] = instance.rewards + instance.discount * np.einsum("jasn,jn->jas", instance.transitions, after[k])
        after = np.stack([table[0][:, 0], np.where(instance.there, table[1], -np.inf).max(axis=1)])
        after[1] = np.where(instance.there[:, 0], after[1], 0.0)
    return tables
