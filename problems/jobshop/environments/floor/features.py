"""Features of the actions on the floor; times are divided by the mean duration of the waiting operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.environments.floor.observation import DOWN as _DOWN_MACHINES
from corl.problems.jobshop.environments.floor.observation import (
    DUE,
    DURATION,
    ELSEWHERE,
    FOLLOWING,
    IDLE,
    LEFT,
    LOAD,
    MACHINES,
    NEXT_EVENT,
    NOW,
    NOWHERE,
    OF_ACTIONS,
    OF_FLOOR,
    PRESENT,
    QUEUE,
    READY,
    RELEASE,
    REST,
    RIVALS,
    SAME,
    SETUP,
    TARDY,
    WAIT,
    WEIGHT,
)
from corl.tokens import Tokens

__all__ = ["ACTION_FEATURES", "FLOOR_FEATURES", "LINEAR", "describe", "floor", "mean_duration"]

ACTION_FEATURES, FLOOR_FEATURES = 26, 9
"""The numbers of features of an action and of the floor."""
(
    _RATE, _ATC, _COVERT, _SETUP, _REGRET, _WAIT, _SLACK, _LATE, _COST_OVER_TIME, _DURATION, _REST_AFTER, _OPERATIONS_LEFT, _LAST,
    _NEXT_DURATION, _NEXT_QUEUE, _AWAITED, _WAITED, _AGE, _WEIGHT, _TARDY, _NO_SETUP, _SAME, _RIVALS, _ADVANTAGE, _ALONE,
    _SETUP_SHARE,
) = range(ACTION_FEATURES)  # fmt: skip
LINEAR = {"rate": _RATE, "atc": _ATC, "covert": _COVERT, "setup": _SETUP, "regret": _REGRET, "wait": _WAIT}
"""The features whose weighted sum is the logarithm of a dispatching rule's priority; see `describe`."""
_FLOOR, _WAITING, _PRESENT, _LOAD, _LATE_SHARE, _MEAN_QUEUE, _IDLE, _DOWN, _NEXT_EVENT = range(FLOOR_FEATURES)
_MAX_EXPONENT = 100.0  # limit of the exponent of the apparent tardiness cost; exp(-100) is practically 0
_LOOK_AHEAD = 4.0  # of cost over time: the best factor on days to choose on (tests/studies/jobshop_floor.py)
_LEAST_LOG = -12.0  # the logarithm of cost over time is not below this; the slack breaks ties beyond


def floor(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed actions, and one for the floor as a whole.

    A token has ACTION_FEATURES features of an action, then FLOOR_FEATURES of the floor; those that do not apply are 0. The scale
    of the values approximates how much the objective may still grow. Raises UsageError for observations of another environment.
    """
    if "elsewhere" not in observation:
        raise UsageError("the features floor are of the environment floor; accepted: its observations")
    jobs = np.stack([observation[name] for name in OF_ACTIONS], axis=2)
    whole = np.stack([observation[name] for name in OF_FLOOR], axis=1)
    rows, slots = observation["mask"].shape
    x, scale = np.zeros((rows, slots + 1, ACTION_FEATURES + FLOOR_FEATURES), np.float32), np.ones(rows)
    _describe_rows(jobs, whole, observation["mask"], x, scale)
    return Tokens(x, np.concatenate([observation["mask"], np.ones((rows, 1), bool)], axis=1), None, scale)


@kernel
def _describe_rows(jobs: Any, floor: Any, mask: Any, x: Any, scale: Any) -> None:
    """Apply `describe` to each row: write the features to x, float32 [R, K + 1, 35], and the scales to scale, float64 [R]."""
    slots = mask.shape[1]
    for i in range(len(mask)):
        count = 0
        while count < slots and mask[i, count]:
            count += 1
        if count > 0:
            scale[i] = describe(jobs[i], count, floor[i], x[i, :slots], x[i, slots, ACTION_FEATURES:])


@kernel
def mean_duration(jobs: Any, count: Any) -> Any:
    """Return (mean duration, mean remaining time per operation, mean weight) over the listed actions but waiting."""
    mean, unit, heavy, starts = 0.0, 0.0, 0.0, 0
    for k in range(count):
        if not jobs[k, WAIT]:
            mean += jobs[k, DURATION]
            unit += jobs[k, REST] / max(1, jobs[k, LEFT])
            heavy += jobs[k, WEIGHT]
            starts += 1
    starts = max(1, starts)
    return 1.0 + mean / starts, max(unit / starts, 1e-3), heavy / starts


@kernel
def describe(jobs: Any, count: Any, floor: Any, out: Any, whole: Any) -> Any:
    """Write the features of the listed actions and of the floor.

    Args:
        jobs: int64 [at least count, 17], the columns OF_ACTIONS.
        count: The number of actions, at least 1.
        floor: int64 [8], the entries OF_FLOOR.
        out: float32 [at least count, at least ACTION_FEATURES], the features of the actions are written here. The first six are
            the terms of dispatching rules: the logarithm of weight / duration; minus slack / mean duration; the logarithm of
            1 - slack / (4 x remaining time); minus set-up / mean duration; minus the regret (how much earlier another machine
            would finish the operation) / mean duration; 1 for the action of waiting.
        whole: float32 [FLOOR_FEATURES], the features of the floor are written here.

    Returns:
        The scale of the values: roughly how much the objective may still grow, in the instance's units.
    """
    mean, unit, heavy = mean_duration(jobs, count)
    tardy, late, queues, starts = floor[TARDY], 0.0, 0.0, 0
    for k in range(count):
        observed = out[k]
        observed[:ACTION_FEATURES] = 0.0
        if jobs[k, WAIT]:
            observed[_WAIT] = 1.0
            continue
        slack = jobs[k, DUE] - jobs[k, REST] - floor[NOW] if tardy else 0
        _describe_rule(jobs[k], slack, mean, unit, observed)
        _describe_action(jobs[k], slack, floor, unit, observed)
        late += slack <= 0
        queues += jobs[k, QUEUE]
        starts += 1
    starts = max(1, starts)
    whole[_FLOOR] = 1.0
    whole[_WAITING] = 0.5 * np.log(1.0 + starts)
    whole[_PRESENT] = 0.5 * np.log(1.0 + floor[PRESENT])
    whole[_LOAD] = 0.25 * np.arcsinh(floor[LOAD] / unit)
    whole[_LATE_SHARE] = late / starts
    whole[_MEAN_QUEUE] = np.arcsinh(queues / starts / unit)
    whole[_IDLE] = floor[IDLE] / max(1, floor[MACHINES])
    whole[_DOWN] = floor[_DOWN_MACHINES] / max(1, floor[MACHINES])
    whole[_NEXT_EVENT] = np.arcsinh(floor[NEXT_EVENT] / unit)
    return unit * (1.0 + floor[PRESENT]) * (max(heavy, 1.0) if tardy else 1.0)


@kernel(inline=True)
def _describe_rule(job: Any, slack: Any, mean: Any, unit: Any, observed: Any) -> None:
    """Write the features that are terms of dispatching rules, and some of the same quantities on another scale."""
    wait, here = max(0, slack), job[SETUP] + job[DURATION]
    share = 1.0 - wait / (1.0 + _LOOK_AHEAD * job[REST])
    regret = max(0, here - job[ELSEWHERE])
    observed[_RATE] = np.log(max(1, job[WEIGHT]) * unit / (1.0 + job[DURATION]))
    observed[_ATC] = -min(wait / mean, _MAX_EXPONENT)
    if share > 1e-3:
        observed[_COVERT] = np.log(share)
    else:
        observed[_COVERT] = max(_LEAST_LOG, np.log(1e-3) - 0.1 * (wait / (1.0 + _LOOK_AHEAD * job[REST]) - 0.999))
    observed[_SETUP] = -job[SETUP] / mean
    observed[_REGRET] = -min(regret / mean, _MAX_EXPONENT)


@kernel(inline=True)
def _describe_action(job: Any, slack: Any, floor: Any, unit: Any, observed: Any) -> None:
    """Write the other features of an action that starts an operation."""
    duration, last, now = job[DURATION], job[LEFT] <= 1, floor[NOW]
    observed[_SLACK] = np.arcsinh(slack / unit)
    observed[_LATE] = slack <= 0
    observed[_COST_OVER_TIME] = max(0.0, 1.0 - max(0, slack) / (1.0 + 2.0 * job[REST]))  # a dispatching rule (Carroll, 1965)
    observed[_DURATION] = np.arcsinh(duration / unit)
    observed[_REST_AFTER] = np.arcsinh(max(0, job[REST] - duration) / unit)
    observed[_OPERATIONS_LEFT] = 0.5 * np.log(1.0 + job[LEFT])
    observed[_LAST] = last
    observed[_NEXT_DURATION] = np.arcsinh(job[FOLLOWING] / unit)
    observed[_NEXT_QUEUE] = np.arcsinh(job[QUEUE] / unit)
    observed[_AWAITED] = job[QUEUE] < duration and not last  # the job's next machine would be idle before it arrives
    observed[_WAITED] = np.arcsinh((now - job[READY]) / unit)
    observed[_AGE] = np.arcsinh((now - job[RELEASE]) / unit)
    observed[_WEIGHT] = np.log(max(1, job[WEIGHT]))
    observed[_TARDY] = floor[TARDY]
    observed[_NO_SETUP] = job[SETUP] == 0
    observed[_SAME] = 0.5 * np.log(1.0 + job[SAME])
    observed[_RIVALS] = 0.5 * np.log(1.0 + job[RIVALS])
    if job[ELSEWHERE] == NOWHERE:
        observed[_ALONE] = 1.0
    else:
        observed[_ADVANTAGE] = np.arcsinh((job[ELSEWHERE] - job[SETUP] - duration) / unit)
    observed[_SETUP_SHARE] = job[SETUP] / max(1, job[SETUP] + duration)
