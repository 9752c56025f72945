"""All feasible actions, where there are few enough to look at each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.constraints.constraint import Constraint

__all__ = ["every_action"]

_AT_ONCE = 100_000  # candidates that are tested together


def every_action(constraint: Constraint, most: int = 100_000) -> NDArray[np.int8] | None:
    """All feasible actions, int8 [V, action_size], those of few entries first; None where there are more than `most`.

    For constraints under which leaving anything out of a feasible action is feasible (all there are): sets grow by one entry
    above their last.
    """
    size = constraint.action_size
    found = [np.zeros((1, size), np.int8)]
    last, count = np.array([-1]), 1
    while len(found[-1]):
        rows, added = np.nonzero(np.arange(size) > last[:, None])
        if len(rows) > 4 * most:
            return None
        following = found[-1][rows]
        following[np.arange(len(rows)), added] = 1
        kept = [constraint.fits(following[k : k + _AT_ONCE]) for k in range(0, len(rows), _AT_ONCE)]
        fits = np.concatenate([np.zeros(0, np.bool_), *kept])
        found.append(following[fits])
        last, count = added[fits], count + int(fits.sum())
        if count > most:
            return None
    return np.concatenate(found)
