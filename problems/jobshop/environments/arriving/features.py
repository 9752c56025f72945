"""What a network sees of a machine's queue, in units of the operations' own durations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.tokens import Tokens

__all__ = ["JOB_FEATURES", "OF_JOBS", "OF_SHOP", "SHOP_FEATURES", "describe", "observe", "observe_row", "queue"]

OF_JOBS = ("job", "duration", "rest", "left", "due", "weight", "ready", "release", "following", "queue")
JOB, DURATION, REST, LEFT, DUE, WEIGHT, READY, RELEASE, FOLLOWING, QUEUE = range(len(OF_JOBS))
OF_SHOP = ("now", "machine", "present", "load", "tardy")
NOW, MACHINE, PRESENT, LOAD, TARDY = range(len(OF_SHOP))
"""Columns of an observation, of a job and of the shop: see ArrivingEnvironment.observe."""
JOB_FEATURES, SHOP_FEATURES = 16, 6
"""Features of a job and of the shop, in the order of `describe`."""
(
    _RATE, _WAIT, _SLACK, _LATE, _COST_OVER_TIME, _DURATION, _REST_AFTER, _OPERATIONS_LEFT, _LAST, _NEXT_DURATION,
    _NEXT_QUEUE, _AWAITED, _WAITED, _AGE, _WEIGHT, _TARDY,
) = range(JOB_FEATURES)  # fmt: skip
_SHOP, _WAITING, _PRESENT, _LOAD, _LATE_SHARE, _MEAN_QUEUE = range(SHOP_FEATURES)
_LATER = 100.0  # an exponent of the apparent tardiness cost beyond which a job may as well wait


def queue(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """K tokens of the jobs that wait for ArrivingEnvironment's machine and one of the shop; those of a job come first.

    The first two features of a job are the logarithms of the two factors of its apparent tardiness cost (Vepsalainen and Morton,
    1987, with a look-ahead of 2), whose sum is that rule. The unit is about what the estimate has still to grow. Raises
    UsageError for observations of another environment.
    """
    if "queue" not in observation:
        raise UsageError("the features queue are of the environment arriving; accepted: its observations")
    jobs = np.stack([observation[name] for name in OF_JOBS], axis=2)
    shop = np.stack([observation[name] for name in OF_SHOP], axis=1)
    rows, slots = observation["mask"].shape
    x, scale = np.zeros((rows, slots + 1, JOB_FEATURES + SHOP_FEATURES), np.float32), np.ones(rows)
    _describe_rows(jobs, shop, observation["mask"], x, scale)
    return Tokens(x, np.concatenate([observation["mask"], np.ones((rows, 1), bool)], axis=1), None, scale)


@kernel
def _describe_rows(jobs: Any, shop: Any, mask: Any, x: Any, scale: Any) -> None:
    """`describe` for each row, into x [R, K + 1, JOB_FEATURES + SHOP_FEATURES], and the rows' units."""
    slots = mask.shape[1]
    for i in range(len(mask)):
        count = 0
        while count < slots and mask[i, count]:
            count += 1
        if count > 0:
            scale[i] = describe(jobs[i], count, shop[i], x[i, :slots], x[i, slots, JOB_FEATURES:])


@kernel
def describe(jobs: Any, count: Any, shop: Any, out: Any, whole: Any) -> Any:
    """The features of `count` jobs into out [count, at least JOB_FEATURES], those of the shop into whole
    [SHOP_FEATURES]; returns the unit.

    jobs [count, 10], shop [5]: what ArrivingEnvironment observes, in that order. Times are in mean durations of what is left of
    these jobs, on a logarithmic scale.
    """
    unit, mean, heavy = 0.0, 0.0, 0.0
    for k in range(count):
        unit += jobs[k, REST] / max(1, jobs[k, LEFT])
        mean += jobs[k, DURATION]
        heavy += jobs[k, WEIGHT]
    unit, mean = max(unit / count, 1e-3), 1.0 + mean / count
    now, tardy, late, queues = shop[NOW], shop[TARDY], 0.0, 0.0
    for k in range(count):
        slack = jobs[k, DUE] - jobs[k, REST] - now if tardy else 0
        duration, last, wait = jobs[k, DURATION], jobs[k, LEFT] <= 1, max(0, slack)
        seen = out[k]
        seen[_RATE] = np.log(max(1, jobs[k, WEIGHT]) * unit / (1.0 + duration))
        seen[_WAIT] = -min(wait / (2.0 * mean), _LATER)
        seen[_SLACK] = np.arcsinh(slack / unit)
        seen[_LATE] = slack <= 0
        seen[_COST_OVER_TIME] = max(0.0, 1.0 - wait / (1.0 + 2.0 * jobs[k, REST]))  # the cost over time (Carroll, 1965)
        seen[_DURATION] = np.arcsinh(duration / unit)
        seen[_REST_AFTER] = np.arcsinh((jobs[k, REST] - duration) / unit)
        seen[_OPERATIONS_LEFT] = 0.5 * np.log(1.0 + jobs[k, LEFT])
        seen[_LAST] = last
        seen[_NEXT_DURATION] = np.arcsinh(jobs[k, FOLLOWING] / unit)
        seen[_NEXT_QUEUE] = np.arcsinh(jobs[k, QUEUE] / unit)
        seen[_AWAITED] = jobs[k, QUEUE] < duration and not last  # the next machine would wait for this job
        seen[_WAITED] = np.arcsinh((now - jobs[k, READY]) / unit)
        seen[_AGE] = np.arcsinh((now - jobs[k, RELEASE]) / unit)
        seen[_WEIGHT] = np.log(max(1, jobs[k, WEIGHT]))
        seen[_TARDY] = tardy
        late += slack <= 0
        queues += jobs[k, QUEUE]
    whole[_SHOP] = 1.0
    whole[_WAITING] = 0.5 * np.log(1.0 + count)
    whole[_PRESENT] = 0.5 * np.log(1.0 + shop[PRESENT])
    whole[_LOAD] = 0.25 * np.arcsinh(shop[LOAD] / unit)
    whole[_LATE_SHARE] = late / count
    whole[_MEAN_QUEUE] = np.arcsinh(queues / count / unit)
    return unit * (1.0 + shop[PRESENT]) * (max(heavy / count, 1.0) if tardy else 1.0)


@kernel
def observe(state: Any, rows: Any, actions: Any, jobs: Any, shop: Any) -> None:
    """`observe_row` for each of `rows`, into jobs [R, K, 10] and shop [R, 5]."""
    work = np.empty(state.free.shape[1], np.int64)
    for i in range(len(rows)):
        observe_row(state, rows[i], actions[i], work, jobs[i], shop[i])


@kernel
def observe_row(state: Any, row: Any, listed: Any, work: Any, jobs: Any, shop: Any) -> Any:
    """What ArrivingEnvironment.observe tells of the actions `listed` in a row, in that order, into jobs [K, 10] and shop [5].

    work [M]: scratch. Returns how many are listed, from 0.
    """
    if listed[0] < 0:
        return 0
    instance = state.instance[row]
    base, machine = state.choices_start[instance], state.machine[state.choices_start[instance] + listed[0]]
    operation = state.owner[base + listed[0]]
    now = max(state.free[row, machine], state.ready[row, state.job[state.operations_start[instance] + operation]])
    shop[NOW], shop[MACHINE], shop[TARDY] = now, machine, state.tardy[instance]
    shop[PRESENT], shop[LOAD] = _queues(state, row, now, work)
    count = 0
    while count < len(listed) and listed[count] >= 0:
        _describe_job(state, row, base + listed[count], work, jobs[count])
        count += 1
    return count


@kernel
def _queues(state: Any, row: Any, now: Any, work: Any) -> Any:
    """Into work [M] for how long each machine has work at `now`; returns the jobs that are there, and what they have to do."""
    instance, present, load = state.instance[row], np.int64(0), np.int64(0)
    for m in range(state.machines[instance]):
        work[m] = max(np.int64(0), state.free[row, m] - now)
    for j in range(state.jobs[instance]):
        at = state.jobs_start[instance] + j
        following, end = state.next[row, j], state.closing[at]
        if state.release[at] > now or (following == end and state.ready[row, j] <= now):
            continue
        present += 1
        load += max(np.int64(0), state.ready[row, j] - now)
        if following == end:
            continue
        operation = state.operations_start[instance] + following
        load += state.rest[operation]
        if state.ready[row, j] <= now:
            for choice in range(state.begin[operation], state.end[operation]):
                c = state.choices_start[instance] + choice
                work[state.machine[c]] += state.duration[c]
    return present, load


@kernel
def _describe_job(state: Any, row: Any, c: Any, work: Any, seen: Any) -> None:
    """What is known of the job of choice c (an index into the arrays of all instances), into seen [10]."""
    instance = state.instance[row]
    o = state.operations_start[instance] + state.owner[c]
    job = state.job[o]
    at = state.jobs_start[instance] + job
    seen[JOB], seen[DURATION], seen[REST] = job, state.duration[c], state.rest[o]
    seen[LEFT], seen[DUE], seen[WEIGHT] = state.closing[at] - state.owner[c], state.due[at], state.weight[at]
    seen[READY], seen[RELEASE] = state.ready[row, job], state.release[at]
    seen[FOLLOWING] = seen[QUEUE] = 0
    if state.owner[c] + 1 == state.closing[at]:
        return
    least, queue = np.int64(2**62), np.int64(2**62)
    for choice in range(state.begin[o + 1], state.end[o + 1]):
        other = state.choices_start[instance] + choice
        least, queue = min(least, state.duration[other]), min(queue, work[state.machine[other]])
    seen[FOLLOWING], seen[QUEUE] = least, queue
