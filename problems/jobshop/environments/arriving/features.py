"""Features of a machine's queue, in units of the durations of the waiting jobs' operations."""

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
"""Columns of the observation of a job (OF_JOBS) and of the shop (OF_SHOP): see ArrivingEnvironment.observe."""
JOB_FEATURES, SHOP_FEATURES = 16, 6
"""Features of a job and of the shop, in the order of `describe`."""
(
    _RATE, _WAIT, _SLACK, _LATE, _COST_OVER_TIME, _DURATION, _REST_AFTER, _OPERATIONS_LEFT, _LAST, _NEXT_DURATION,
    _NEXT_QUEUE, _AWAITED, _WAITED, _AGE, _WEIGHT, _TARDY,
) = range(JOB_FEATURES)  # fmt: skip
_SHOP, _WAITING, _PRESENT, _LOAD, _LATE_SHARE, _MEAN_QUEUE = range(SHOP_FEATURES)
_LATER = 100.0  # the bound of the exponent of the apparent tardiness cost


def queue(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the jobs that wait for ArrivingEnvironment's machine and one for the shop.

    A token holds the features of a job, then those of the shop. The first two features of a job are the logarithms of the two
    factors of its apparent tardiness cost (Vepsalainen and Morton, 1987, with a look-ahead of 2), so that their sum is that rule.
    The scale of the values approximates the further growth of the estimate. Raises UsageError for observations of another
    environment.
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
    """Apply `describe` to each row; write features to x [R, K + 1, JOB_FEATURES + SHOP_FEATURES] and scales to scale [R]."""
    slots = mask.shape[1]
    for i in range(len(mask)):
        count = 0
        while count < slots and mask[i, count]:
            count += 1
        if count > 0:
            scale[i] = describe(jobs[i], count, shop[i], x[i, :slots], x[i, slots, JOB_FEATURES:])


@kernel
def describe(jobs: Any, count: Any, shop: Any, out: Any, whole: Any) -> Any:
    """Write the features of the jobs and of the shop.

    Times are in mean durations of the remaining operations of these jobs, on a logarithmic scale.

    Args:
        jobs: int64 [at least count, 10], the columns OF_JOBS.
        count: The number of jobs, at least 1.
        shop: int64 [5], the entries OF_SHOP.
        out: float32 [at least count, at least JOB_FEATURES], the features of the jobs are written here.
        whole: float32 [SHOP_FEATURES], the features of the shop are written here.

    Returns:
        The scale of the values, a time.
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
        observed = out[k]
        observed[_RATE] = np.log(max(1, jobs[k, WEIGHT]) * unit / (1.0 + duration))
        observed[_WAIT] = -min(wait / (2.0 * mean), _LATER)
        observed[_SLACK] = np.arcsinh(slack / unit)
        observed[_LATE] = slack <= 0
        observed[_COST_OVER_TIME] = max(0.0, 1.0 - wait / (1.0 + 2.0 * jobs[k, REST]))  # the cost over time (Carroll, 1965)
        observed[_DURATION] = np.arcsinh(duration / unit)
        observed[_REST_AFTER] = np.arcsinh((jobs[k, REST] - duration) / unit)
        observed[_OPERATIONS_LEFT] = 0.5 * np.log(1.0 + jobs[k, LEFT])
        observed[_LAST] = last
        observed[_NEXT_DURATION] = np.arcsinh(jobs[k, FOLLOWING] / unit)
        observed[_NEXT_QUEUE] = np.arcsinh(jobs[k, QUEUE] / unit)
        observed[_AWAITED] = jobs[k, QUEUE] < duration and not last  # the next machine would wait for this job
        observed[_WAITED] = np.arcsinh((now - jobs[k, READY]) / unit)
        observed[_AGE] = np.arcsinh((now - jobs[k, RELEASE]) / unit)
        observed[_WEIGHT] = np.log(max(1, jobs[k, WEIGHT]))
        observed[_TARDY] = tardy
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
    """Apply `observe_row` to each of `rows`; write to jobs [R, K, 10] and shop [R, 5]."""
    work = np.empty(state.free.shape[1], np.int64)
    for i in range(len(rows)):
        observe_row(state, rows[i], actions[i], work, jobs[i], shop[i])


@kernel
def observe_row(state: Any, row: Any, listed: Any, work: Any, jobs: Any, shop: Any) -> Any:
    """Write the observation of a row: the columns OF_JOBS of the actions `listed` [K] to `jobs`, the entries OF_SHOP to `shop`.

    Args:
        state: The pool.
        row: The row.
        listed: int32 [K], actions; -1 after the last.
        work: int64 [M], scratch.
        jobs: int64 [K, 10], overwritten for the listed actions.
        shop: int64 [5], overwritten if an action is listed.

    Returns:
        The number of listed actions.
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
    """Write the work on and waiting for each machine at `now` to work [M]; return the jobs present, and their work left."""
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
def _describe_job(state: Any, row: Any, c: Any, work: Any, observed: Any) -> None:
    """Write the columns OF_JOBS of the job of choice c (an index into the arrays of all instances) to observed [10]."""
    instance = state.instance[row]
    o = state.operations_start[instance] + state.owner[c]
    job = state.job[o]
    at = state.jobs_start[instance] + job
    observed[JOB], observed[DURATION], observed[REST] = job, state.duration[c], state.rest[o]
    observed[LEFT], observed[DUE], observed[WEIGHT] = state.closing[at] - state.owner[c], state.due[at], state.weight[at]
    observed[READY], observed[RELEASE] = state.ready[row, job], state.release[at]
    observed[FOLLOWING] = observed[QUEUE] = 0
    if state.owner[c] + 1 == state.closing[at]:
        return
    least, queue = np.int64(2**62), np.int64(2**62)
    for choice in range(state.begin[o + 1], state.end[o + 1]):
        other = state.choices_start[instance] + choice
        least, queue = min(least, state.duration[other]), min(queue, work[state.machine[other]])
    observed[FOLLOWING], observed[QUEUE] = least, queue
