"""Policies whose actions are dear are played once by the solver, which can stop; they remember what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.simulation import simulate

if TYPE_CHECKING:
    from corl.problems.bandits.policies import BanditPolicy
    from corl.run import Run

__all__ = ["rehearse"]


class _Stopped(Exception):
    pass


def rehearse(policy: BanditPolicy, run: Run, rows: int = 1) -> bool:
    """Play the instance's episodes, `rows` situations at once, so that `run.report(policy)` takes no time.

    False where the run must end before that: then the policy must not be reported.
    """

    def watched(states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        found = []
        for first in range(0, len(states), rows):
            if run.interrupted or run.remaining <= 0.0:  # not run.should_stop: iterations may be done
                raise _Stopped
            found.append(policy.actions(states[first : first + rows], time, keys[first : first + rows]))
        return np.concatenate(found)

    try:
        simulate(policy.instance, watched)
    except _Stopped:
        return False
    return True
