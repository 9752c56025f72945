"""The list of all feasible actions, if they are few enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.problems.bandits.constraints.constraint import Constraint

__all__ = ["every_action"]

_AT_ONCE = 4_000  # candidates that are tested between two checks of the deadline


def every_action(constraint: Constraint, most: int = 100_000) -> NDArray[np.int8] | None:
    """Return all feasible actions, int8 [V, action_size], by increasing number of ones; None if there are more than `most`.

    Every subset of a feasible set of entries must be feasible, as for all constraints here. The sets of k + 1 entries are then
    found by extending those of k entries by an entry with a higher number.
    """
    size = constraint.action_size
    found = [np.zeros((1, size), np.int8)]
    last_entry, count = np.array([-1]), 1
    while len(found[-1]):
        rows, added = np.nonzero(np.arange(size) > last_entry[:, None])
        if len(rows) > 4 * most:
            return None
        feasible, feasible_last = [np.zeros((0, size), np.int8)], [np.zeros(0, np.int64)]
        for begin in range(0, len(rows), _AT_ONCE):
            seconds_left()
            part = slice(begin, begin + _AT_ONCE)
            candidates = found[-1][rows[part]]
            candidates[np.arange(len(candidates)), added[part]] = 1
            fits = constraint.fits(candidates)
            feasible.append(candidates[fits])
            feasible_last.append(added[part][fits])
            count += len(feasible_last[-1])
            if count > most:
                return None
        found.append(np.concatenate(feasible))
        last_entry = np.concatenate(feasible_last)
    return np.concatenate(found)
