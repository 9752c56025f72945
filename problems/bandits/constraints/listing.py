"""The list of all feasible actions, if they are few enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.problems.bandits.constraints.constraint import Constraint

__all__ = ["every_action"]

_AT_ONCE = 4_000  # candidates that are tested together


def every_action(constraint: Constraint, most: int = 100_000) -> NDArray[np.int8] | None:
    """Return all feasible actions, int8 [V, action_size], those of few entries first; None if there are more than `most`.

    For constraints under which dropping entries keeps an action feasible (as all here): each set is extended by single entries
    after its last one.
    """
    size = constraint.action_size
    found = [np.zeros((1, size), np.int8)]
    last, count = np.array([-1]), 1
    while len(found[-1]):
        rows, added = np.nonzero(np.arange(size) > last[:, None])
        if len(rows) > 4 * most:
            return None
        kept, above = [np.zeros((0, size), np.int8)], [np.zeros(0, np.int64)]
        for begin in range(0, len(rows), _AT_ONCE):
            seconds_left()
            part = slice(begin, begin + _AT_ONCE)
            following = found[-1][rows[part]]
            following[np.arange(len(following)), added[part]] = 1
            fits = constraint.fits(following)
            kept.append(following[fits])
            above.append(added[part][fits])
            count += len(above[-1])
            if count > most:
                return None
        found.append(np.concatenate(kept))
        last = np.concatenate(above)
    return np.concatenate(found)
