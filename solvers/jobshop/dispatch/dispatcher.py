"""Schedules by dispatching rules, built in one of three ways.

Non-delay schedules without choices of machines are built by an event simulation (queues.py), schedules of instances with side
constraints by the Placer (placing/), and all others in the environment "dispatching".
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.jit import kernel
from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import uniform
from corl.solvers.jobshop.dispatch.queues import Queues
from corl.solvers.jobshop.dispatch.rules import LOOK_AHEAD, priority
from corl.solvers.jobshop.placing.placer import Placer

__all__ = ["Dispatcher", "dispatch"]


class Dispatcher:
    """Builds schedules of one instance by dispatching rules: `run` builds a schedule, `schedule` returns it."""

    def __init__(
        self,
        instance: JobShopInstance,
        schedules: Literal["non-delay", "active"] = "non-delay",
        look_ahead: float = LOOK_AHEAD,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare the arrays of the instance.

        Args:
            instance: The instance.
            schedules: The kind of schedule to build.
            look_ahead: The look-ahead factor of the rules atc and covert; ignored if the instance has side constraints.
            stopped: Once it returns True, `run` gives up; ignored if the instance has no side constraints.
        """
        self._queues: Queues | None = None
        self._placer: Placer | None = None
        if instance.rules is not None:
            self._placer, self._active, self._stopped = Placer(instance), schedules == "active", stopped
            return
        if schedules == "non-delay" and not instance.flexible:
            self._queues = Queues(instance, look_ahead)
            return
        self._environment, self._look_ahead = JobShopEnvironment([instance], 1, schedules), look_ahead
        self._listed = np.zeros(self._environment.width, np.int32)

    def run(self, rule: int, noise: float, random: NDArray[np.uint64]) -> float:
        """Build a schedule by a dispatching rule.

        Args:
            rule: Index into RULES.
            noise: Priorities are multiplied by random factors, uniform in 1..1 + noise.
            random: uint64 [1], the state of the random number generator.

        Returns:
            The objective value. It is inf if `stopped` returned True, or if an operation cannot be placed because of fixed
            operations or machines that are down for good.
        """
        if self._placer is not None:
            return self._placer.dispatch(rule, noise, self._active, random, self._stopped)
        if self._queues is not None:
            return self._queues.run(rule, noise, random)
        self._environment.reset([0], [0])
        return float(dispatch(self._environment.state, 0, rule, noise, self._look_ahead, random, self._listed))

    def schedule(self) -> Schedule:
        """Return the schedule that was built last."""
        if self._placer is not None:
            return self._placer.schedule()
        return self._environment.solution(0) if self._queues is None else self._queues.schedule()


@kernel
def dispatch(state, row, rule, noise, look_ahead, random, listed):
    """Build a schedule in `row` of the pool, in place; each step takes the listed action of the highest priority.

    Args:
        state: The pool of JobShopEnvironment.
        row: The row, an empty schedule.
        rule: Index into RULES.
        noise: Priorities are multiplied by random factors, uniform in 1..1 + noise.
        look_ahead: The look-ahead factor of the rules atc and covert.
        random: uint64 [1], the state of the random number generator.
        listed: int32 [width], a work array for the listed actions.

    Returns:
        The objective value.
    """
    while True:
        count = hooks.actions(state, row, listed)
        if count == 0:
            break
        best, chosen = -1.0, -1
        now, mean = _now_and_mean(state, row, listed, count)
        for k in range(count):
            value = _priority(state, row, rule, listed[k], now, mean, look_ahead)
            if noise > 0.0:
                value *= 1.0 + noise * uniform(random)
            if value > best:
                best, chosen = value, listed[k]
        hooks.step(state, row, row, chosen)
    return state.estimate[row]


@kernel
def _now_and_mean(state, row, listed, count):
    """Return the earliest start and the mean duration of the choices listed[:count]."""
    base, now, total = state.choices_offset[state.instance[row]], 2**62, 0
    for k in range(count):
        c = base + listed[k]
        job = state.job[state.operations_offset[state.instance[row]] + state.operation[c]]
        now = min(now, max(state.ready[row, job], state.free[row, state.machine[c]]))
        total += state.duration[c]
    return now, total / count


@kernel
def _priority(state, row, rule, choice, now, mean, look_ahead):
    """Return the priority of a choice, a positive number (`rules.priority`)."""
    instance = state.instance[row]
    c = state.choices_offset[instance] + choice
    operation = state.operations_offset[instance] + state.operation[c]
    job = state.job[operation]
    at = state.jobs_offset[instance] + job
    work_left, count = state.time_to_job_end[operation], state.end_operation[at] - state.operation[c]
    job_end = state.release[at] + state.time_to_job_end[state.operations_offset[instance] + state.first_operation[at]]
    duration, ready, due, weight = state.duration[c], state.ready[row, job], state.due[at], state.weight[at]
    return priority(rule, duration, work_left, count, ready, job_end, due, weight, now, mean, look_ahead)
