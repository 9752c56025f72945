"""Features of the jobs that wait for a free machine; times are divided by the mean duration of these jobs' operations."""

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
"""Columns of the observation of a waiting job: see `ArrivingEnvironment._observe`."""
OF_SHOP = ("now", "machine", "present", "load", "tardy")
NOW, MACHINE, PRESENT, LOAD, TARDY = range(len(OF_SHOP))
"""Entries of the observation of the shop as a whole: see `ArrivingEnvironment._observe`."""
JOB_FEATURES, SHOP_FEATURES = 16, 6
"""The numbers of features of a job and of the shop."""
(
    _RATE, _WAIT, _SLACK, _LATE, _COST_OVER_TIME, _DURATION, _REST_AFTER, _OPERATIONS_LEFT, _LAST, _NEXT_DURATION,
    _NEXT_QUEUE, _AWAITED, _WAITED, _AGE, _WEIGHT, _TARDY,
) = range(JOB_FEATURES)  # fmt: skip
_SHOP, _WAITING, _PRESENT, _LOAD, _LATE_SHARE, _MEAN_QUEUE = range(SHOP_FEATURES)
_MAX_EXPONENT = 100.0  # limit of the exponent of the apparent tardiness cost; exp(-100) is practically 0


def queue(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the jobs that wait for the free machine, and one for the shop as a whole.

    A token has JOB_FEATURES features of a job, then SHOP_FEATURES of the shop; those that do not apply are 0. The first two
    features of a job add up to the logarithm of its apparent tardiness cost, a dispatching rule (Vepsalainen and Morton, 1987;
    look-ahead factor 2). The scale of the values approximates how much the objective may still grow. Raises UsageError for
    observations of another environment.
    """
    if "queue" not in observation or "setup" in observation:
        raise UsageError("the features queue are of the environment arriving; accepted: its observations")
    jobs = np.stack([observation[name] for name in OF_JOBS], axis=2)
    shop = np.stack([observation[name] for name in OF_SHOP], axis=1)
    rows, slots = observation["mask"].shape
    x, scale = np.zeros((rows, slots + 1, JOB_FEATURES + SHOP_FEATURES), np.float32), np.ones(rows)
    _describe_rows(jobs, shop, observation["mask"], x, scale)
    return Tokens(x, np.concatenate([observation["mask"], np.ones((rows, 1), bool)], axis=1), None, scale)


@kernel
def _describe_rows(jobs: Any, shop: Any, mask: Any, x: Any, scale: Any) -> None:
    """Apply `describe` to each row: write the features to x, float32 [R, K + 1, 22], and the scales to scale, float64 [R].

    Rows of `mask` (bool [R, K]) without an action are not written.
    """
    slots = mask.shape[1]
    for i in range(len(mask)):
        count = 0
        while count < slots and mask[i, count]:
            count += 1
        if count > 0:
            scale[i] = describe(jobs[i], count, shop[i], x[i, :slots], x[i, slots, JOB_FEATURES:])


@kernel
def describe(jobs: Any, count: Any, shop: Any, out: Any, whole: Any) -> Any:
    """Write the features of the waiting jobs and of the shop.

    Times are divided by the mean duration of the remaining operations of these jobs, and put on a logarithmic scale.

    Args:
        jobs: int64 [at least count, 10], the columns OF_JOBS.
        count: The number of jobs, at least 1.
        shop: int64 [5], the entries OF_SHOP.
        out: float32 [at least count, at least JOB_FEATURES], the features of the jobs are written here.
        whole: float32 [SHOP_FEATURES], the features of the shop are written here.

    Returns:
        The scale of the values: roughly how much the objective may still grow, in the instance's units.
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
        observed[_WAIT] = -min(wait / (2.0 * mean), _MAX_EXPONENT)
        observed[_SLACK] = np.arcsinh(slack / unit)
        observed[_LATE] = slack <= 0
        observed[_COST_OVER_TIME] = max(0.0, 1.0 - wait / (1.0 + 2.0 * jobs[k, REST]))  # a dispatching rule (Carroll, 1965)
        observed[_DURATION] = np.arcsinh(duration / unit)
        observed[_REST_AFTER] = np.arcsinh((jobs[k, REST] - duration) / unit)
        observed[_OPERATIONS_LEFT] = 0.5 * np.log(1.0 + jobs[k, LEFT])
        observed[_LAST] = last
        observed[_NEXT_DURATION] = np.arcsinh(jobs[k, FOLLOWING] / unit)
        observed[_NEXT_QUEUE] = np.arcsinh(jobs[k, QUEUE] / unit)
        observed[_AWAITED] = jobs[k, QUEUE] < duration and not last  # the job's next machine would be idle before it arrives
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
    """Apply `observe_row` to each of `rows`; write to jobs, int64 [R, K, 10], and shop, int64 [R, 5]."""
    work = np.empty(state.free.shape[1], np.int64)
    for i in range(len(rows)):
        observe_row(state, rows[i], actions[i], work, jobs[i], shop[i])


@kernel
def observe_row(state: Any, row: Any, listed: Any, work: Any, jobs: Any, shop: Any) -> Any:
    """Write the observation of a row to `jobs` and `shop`, in place.

    Args:
        state: The pool.
        row: The row.
        listed: int32 [K], the row's legal actions; -1 after the last.
        work: int64 [M], a work array, overwritten.
        jobs: int64 [K, 10], the columns OF_JOBS, written for the listed actions.
        shop: int64 [5], the entries OF_SHOP, written unless no action is listed.

    Returns:
        The number of listed actions.
    """
    if listed[0] < 0:
        return 0
    instance = state.instance[row]
    base, machine = state.choices_offset[instance], state.machine[state.choices_offset[instance] + listed[0]]
    operation = state.operation[base + listed[0]]
    now = max(state.free[row, machine], state.ready[row, state.job[state.operations_offset[instance] + operation]])
    shop[NOW], shop[MACHINE], shop[TARDY] = now, machine, state.tardy[instance]
    shop[PRESENT], shop[LOAD] = _queues(state, row, now, work)
    count = 0
    while count < len(listed) and listed[count] >= 0:
        _describe_job(state, row, base + listed[count], work, jobs[count])
        count += 1
    return count


@kernel
def _queues(state: Any, row: Any, now: Any, work: Any) -> Any:
    """Write to work [M] how long each machine needs for the operations that run or wait there at `now`.

    Returns (number of jobs present, time that these jobs together still need on their fastest machines).
    """
    instance, present, load = state.instance[row], np.int64(0), np.int64(0)
    for m in range(state.machines[instance]):
        work[m] = max(np.int64(0), state.free[row, m] - now)
    for j in range(state.jobs[instance]):
        at = state.jobs_offset[instance] + j
        following, end = state.next[row, j], state.end_operation[at]
        if state.release[at] > now or (following == end and state.ready[row, j] <= now):
            continue
        present += 1
        load += max(np.int64(0), state.ready[row, j] - now)
        if following == end:
            continue
        operation = state.operations_offset[instance] + following
        load += state.time_to_job_end[operation]
        if state.ready[row, j] <= now:
            for choice in range(state.first_choice[operation], state.end_choice[operation]):
                c = state.choices_offset[instance] + choice
                work[state.machine[c]] += state.duration[c]
    return present, load


@kernel
def _describe_job(state: Any, row: Any, c: Any, work: Any, observed: Any) -> None:
    """Write the columns OF_JOBS of the job of choice c, an index into the pool's arrays of all choices, to observed [10].

    work: int64 [M], as `_queues` writes it.
    """
    instance = state.instance[row]
    o = state.operations_offset[instance] + state.operation[c]
    job = state.job[o]
    at = state.jobs_offset[instance] + job
    observed[JOB], observed[DURATION], observed[REST] = job, state.duration[c], state.time_to_job_end[o]
    observed[DUE], observed[WEIGHT] = state.due[at], state.weight[at]
    observed[LEFT] = state.end_operation[at] - state.operation[c]
    observed[READY], observed[RELEASE] = state.ready[row, job], state.release[at]
    observed[FOLLOWING] = observed[QUEUE] = 0
    if state.operation[c] + 1 == state.end_operation[at]:
        return
    least, queue = np.int64(2**62), np.int64(2**62)
    for choice in range(state.first_choice[o + 1], state.end_choice[o + 1]):
        other = state.choices_offset[instance] + choice
        least, queue = min(least, state.duration[other]), min(queue, work[state.machine[other]])
    observed[FOLLOWING], observed[QUEUE] = least, queue
