"""Features of a partial schedule: tokens of the operations that can be scheduled next, with times divided by a mean duration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.transitions import earliest
from corl.tokens import Tokens

__all__ = ["COLUMNS", "TOKENS", "observe", "operations", "signed_log"]

COLUMNS = ("job", "machine", "duration", "start", "ready", "free", "rest", "left", "due", "weight", "least", "work")
"""The columns that `observe` fills for each listed action: see JobShopEnvironment._observe."""
_JOB, _MACHINE, _DURATION, _START, _READY, _FREE, _REST, _LEFT, _DUE, _WEIGHT, _LEAST, _WORK = range(len(COLUMNS))

TOKENS = 16
"""The number of features of a token: those of `_columns` for an action, then two that only the token of the shop uses."""
_SHOP, _REMAINING = range(TOKENS - 2, TOKENS)
_LOG_LIMIT = 20.0  # limit of the absolute value of `signed_log`: about 2.4e8 mean durations


def operations(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for JobShopEnvironment's listed actions, and one for the shop as a whole.

    Times are divided by the mean duration of the remaining operations of the listed jobs, and put on a logarithmic scale. The
    scale of the values approximates how much the estimate (the objective value if no job waited) may still grow. Raises
    UsageError for observations of another environment.
    """
    if not {"rest", "start"} <= observation.keys():
        raise UsageError("the features operations are of the environment dispatching; accepted: its observations")
    mask = observation["mask"]
    rows, slots = mask.shape
    count = np.maximum(1, mask.sum(axis=1))
    unit = np.where(mask, observation["rest"] / np.maximum(1, observation["left"]), 0.0).sum(axis=1) / count
    unit = np.where(unit > 0, unit, 1.0)
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    for k, column in enumerate(_columns(observation, unit[:, None])):
        x[:, :slots, k] = np.where(mask, column, 0.0)
    x[:, slots, _SHOP] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    present = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, present, None, unit * _growth(observation, count))


def _growth(observed: Mapping[str, NDArray[Any]], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a rough positive forecast of the estimate's growth, float64 [R].

    Its unit is the mean duration for the makespan, and weight times mean duration for the weighted tardiness.
    """
    length = observed["left"].sum(axis=1) / count
    weight = observed["weight"].sum(axis=1) / count * observed["remaining"] / np.maximum(1.0, length)
    return np.sqrt(1.0 + observed["remaining"]) * np.where(observed["tardy"] & (weight > 0), weight, 1.0)


def _columns(observed: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return the features of the listed actions, arrays that broadcast to [R, K]; `unit` is float64 [R, 1]."""
    mask, start, end = observed["mask"], observed["start"], observed["start"] + observed["duration"]
    tardy, finish = observed["tardy"][:, None], start + observed["rest"]
    never = np.iinfo(np.int64).max
    first = np.where(mask, start, never).min(axis=1, keepdims=True)
    earliest_end = np.where(mask, end, never).min(axis=1, keepdims=True)
    horizon = np.where(tardy, finish.max(axis=1, keepdims=True), observed["estimate"][:, None])
    slack = np.where(tardy, np.where(tardy, observed["due"], 0), horizon) - finish
    weight = observed["weight"] / np.maximum(1, observed["weight"].max(axis=1, keepdims=True))
    return [
        observed["duration"] / unit / 4.0,
        signed_log(observed["duration"] - observed["least"], unit),
        signed_log(start - first, unit),
        signed_log(end - earliest_end, unit),
        start > first,
        end > earliest_end,
        signed_log(observed["rest"], unit),
        np.log1p(observed["left"]) / 4.0,
        signed_log(slack, unit),
        slack <= 0,
        signed_log(horizon - start - observed["work"], unit),
        signed_log(observed["free"] - observed["ready"], unit),
        tardy * weight,
        tardy * 1.0,
    ]


def signed_log(times: NDArray[Any], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return asinh(times / unit), clipped to -20..20: linear around 0, and logarithmic far from 0."""
    return np.clip(np.arcsinh(times / unit), -_LOG_LIMIT, _LOG_LIMIT)


@kernel
def observe(state: Any, rows: Any, actions: Any, out: Any) -> None:
    """Write the observation of the listed actions of `rows` to `out`, in place.

    Args:
        state: The pool.
        rows: int64 [R], the rows.
        actions: int32 [R, K], listed actions; -1 in empty slots.
        out: int64 [R, K, 12], the values in the order of COLUMNS; empty slots are not written.
    """
    work = np.empty(state.free.shape[1], np.int64)
    for i in range(len(rows)):
        row, instance = rows[i], state.instance[rows[i]]
        _sum_work(state, row, work)
        for k in range(actions.shape[1]):
            if actions[i, k] < 0:
                break
            c = state.choices_offset[instance] + actions[i, k]
            operation = state.operation[c]
            o = state.operations_offset[instance] + operation
            job, at = state.job[o], state.jobs_offset[instance] + state.job[o]
            observed = out[i, k]
            observed[_JOB], observed[_MACHINE], observed[_DURATION] = job, state.machine[c], state.duration[c]
            observed[_START], observed[_READY] = earliest(state, row, job, c), state.ready[row, job]
            observed[_FREE] = state.free[row, state.machine[c]]
            observed[_REST], observed[_LEFT] = state.time_to_job_end[o], state.end_operation[at] - operation
            observed[_DUE], observed[_WEIGHT] = state.due[at], state.weight[at]
            least = state.time_to_job_end[o]
            if operation + 1 < state.end_operation[at]:
                least -= state.time_to_job_end[o + 1]
            observed[_LEAST], observed[_WORK] = least, work[state.machine[c]]


@kernel
def _sum_work(state: Any, row: Any, work: Any) -> None:
    """Write to work (int64 [M]) the sum of the durations of all unscheduled operations that each machine can process."""
    instance = state.instance[row]
    for m in range(state.machines[instance]):
        work[m] = 0
    for j in range(state.jobs[instance]):
        for at in range(state.next[row, j], state.end_operation[state.jobs_offset[instance] + j]):
            operation = state.operations_offset[instance] + at
            for choice in range(state.first_choice[operation], state.end_choice[operation]):
                c = state.choices_offset[instance] + choice
                work[state.machine[c]] += state.duration[c]
