"""Schedules by the agent: rollouts of the interval environment with the network in the loop, all in numba.

After Tassel, Gebser and Schekotihin (ICAPS 2023, section 4).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.decoding.rollouts import play_listed
from corl.jit import kernel
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.intervals.environment import IntervalEnvironment
from corl.problems.jobshop.intervals.transitions import IntervalState
from corl.solvers.jobshop.cp_agent.forward import Scratch, Weights, choose, new_scratch
from corl.solvers.jobshop.cp_agent.observation import View, new_view

__all__ = ["Agent", "roll_out"]

_CHUNK = 10_000  # jobs that are looked at between two looks at the clock, all for each operation: about 10 ms


class Agent:
    """The agent on one instance: builds schedules, one at a time."""

    def __init__(self, instance: JobShopInstance, weights: Weights) -> None:
        self._environment, self._weights = IntervalEnvironment([instance], 1), weights
        self._chunk = max(1, min(100, _CHUNK // instance.jobs))
        self._view = new_view([instance])
        self._scratch, self._first = new_scratch(weights, self._view), np.empty(1, np.int32)

    def build(self, temperature: float, random: NDArray[np.uint64], stop: Callable[[], bool] = lambda: False) -> int:
        """Build a schedule by the most likely actions (temperature 0), or by drawn ones; returns its makespan.

        `stop` is asked every 10 ms or so; once it says so, the schedule stays as it is and -1 is returned.
        """
        self._environment.reset([0], [0])
        state = self._environment.state
        while state.left[0] > 0:
            if stop():
                return -1
            until = max(0, int(state.left[0]) - self._chunk)
            roll_out(state, 0, self._view, self._weights, self._scratch, temperature, random, until)
        return int(state.estimate[0])

    def complete(self, stop: Callable[[], bool] = lambda: False) -> int:
        """Complete a schedule that was stopped, always with the job that can end last; returns its makespan.

        `stop` is as in `build`.
        """
        state = self._environment.state
        while not play_listed(state, 0, self._first, self._chunk):
            if stop():
                return -1
        return int(state.estimate[0])

    def schedule(self) -> Schedule:
        """The schedule built last."""
        return self._environment.solution(0)


@kernel
def roll_out(
    state: IntervalState,
    row: int,
    view: View,
    weights: Weights,
    scratch: Scratch,
    temperature: float,
    random: NDArray[np.uint64],
    until: int,
) -> None:
    """Go on in `row` by the agent until at most `until` operations are left."""
    while state.left[row] > until:
        hooks.step(state, row, row, choose(state, row, view, weights, scratch, temperature, random))
