"""Schedules by the agent: rollouts of the simulator with the network in the loop, all in numba."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.simulator import JobShopSimulator
from corl.search import hooks
from corl.solvers.jobshop.cp_agent.forward import Weights, choose, new_scratch
from corl.solvers.jobshop.cp_agent.observation import DECIDE, DONE, begin_view, fixed, new_view, survey

__all__ = ["Agent", "act", "hurry", "roll"]

_CHUNK = 100  # operations between two looks at the clock: 10 ms for 100 x 100


class Agent:
    """The agent on one instance: builds schedules, one at a time."""

    def __init__(self, instance: JobShopInstance, weights: Weights) -> None:
        self._simulator, self._weights = JobShopSimulator([instance], 1), weights
        self._view = new_view([instance])
        self._scratch = new_scratch(weights, self._view)

    def build(self, temperature: float, random: NDArray[np.uint64], stop: Callable[[], bool] = lambda: False) -> int:
        """Build a schedule by the most likely actions (temperature 0), or by drawn ones; returns its makespan.

        `stop` is asked every 100 operations; once it says so, the schedule stays as it is and -1 is returned.
        """
        self._simulator.reset([0], [0])
        state = self._simulator.state
        begin_view(state, 0, self._view)
        while state.left[0] > 0:
            if stop():
                return -1
            until = max(0, int(state.left[0]) - _CHUNK)
            roll(state, 0, self._view, self._weights, self._scratch, temperature, random, until)
        return int(state.estimate[0])

    def hurry(self) -> int:
        """Complete a schedule that was stopped, always with the job that has the most work left; returns its makespan."""
        hurry(self._simulator.state, 0, self._view)
        return int(self._simulator.state.estimate[0])

    def schedule(self) -> Schedule:
        """The schedule built last."""
        return self._simulator.solution(0)


@kernel
def act(state, row, view, action):
    """Take an action in place."""
    if action < state.jobs[state.instance[row]]:
        fixed(state, row, view, action)
    hooks.step(state, row, row, action)


@kernel
def roll(state, row, view, weights, scratch, temperature, random, until):
    """Go on in `row` by the agent until at most `until` operations are left."""
    while state.left[row] > until:
        action = survey(state, row, view)
        if action == DONE:
            break
        if action == DECIDE:
            action = choose(state, row, view, weights, scratch, temperature, random)
        act(state, row, view, action)


@kernel
def hurry(state, row, view):
    """Go on to the end in `row`, never waiting, with the job that can end last."""
    while True:
        action = survey(state, row, view)
        if action == DONE:
            return
        if action == DECIDE:
            latest = np.int64(-1)
            for c in range(view.counts[0]):
                job = view.jobs[c]
                last = state.closing[state.job_at[state.instance[row]] + job] - 1
                end = state.start[row, last] + state.duration[state.operation_at[state.instance[row]] + last]
                if end > latest:
                    action, latest = job, end
        act(state, row, view, action)
