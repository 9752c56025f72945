"""Features of a partial schedule: the operations that can be scheduled next, in units of their own durations."""

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
"""The columns that `observe` fills for each listed action: see JobShopEnvironment.observe."""
_JOB, _MACHINE, _DURATION, _START, _READY, _FREE, _REST, _LEFT, _DUE, _WEIGHT, _LEAST, _WORK = range(len(COLUMNS))

TOKENS = 16
"""F: features of a token, in the order of `_columns`, then the two of the shop."""
_SHOP, _REMAINING = range(TOKENS - 2, TOKENS)
_SHOWN = 20.0  # the bound of asinh and log1p of times in mean durations


def operations(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for JobShopEnvironment's listed actions and one for the shop.

    The scale of the values approximates the further growth of the estimate. Times are in mean durations of the listed jobs, on a
    logarithmic scale. Raises UsageError for observations of another environment.
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
    """Return about how many mean durations, times weights of late jobs, the estimate may still grow, float64 [R], positive."""
    length = observed["left"].sum(axis=1) / count
    weight = observed["weight"].sum(axis=1) / count * observed["remaining"] / np.maximum(1.0, length)
    return np.sqrt(1.0 + observed["remaining"]) * np.where(observed["tardy"] & (weight > 0), weight, 1.0)


def _columns(observed: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return [R, K] (or an array that broadcasts to it) for each feature; `unit` is [R, 1]."""
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
    """Return times, in units, on a scale that is linear around 0 and logarithmic far from it."""
    return np.clip(np.arcsinh(times / unit), -_SHOWN, _SHOWN)


@kernel
def observe(state: Any, rows: Any, actions: Any, out: Any) -> None:
    """Fill out [R, K, 12] of the listed actions of `rows`, in the order of COLUMNS."""
    work = np.empty(state.free.shape[1], np.int64)
    for i in range(len(rows)):
        row, instance = rows[i], state.instance[rows[i]]
        _load(state, row, work)
        for k in range(actions.shape[1]):
            if actions[i, k] < 0:
                break
            c = state.choices_start[instance] + actions[i, k]
            operation = state.owner[c]
            o = state.operations_start[instance] + operation
            job, at = state.job[o], state.jobs_start[instance] + state.job[o]
            observed = out[i, k]
            observed[_JOB], observed[_MACHINE], observed[_DURATION] = job, state.machine[c], state.duration[c]
            observed[_START], observed[_READY] = earliest(state, row, job, c), state.ready[row, job]
            observed[_FREE] = state.free[row, state.machine[c]]
            observed[_REST], observed[_LEFT] = state.rest[o], state.closing[at] - operation
            observed[_DUE], observed[_WEIGHT] = state.due[at], state.weight[at]
            least = state.rest[o]
            if operation + 1 < state.closing[at]:
                least -= state.rest[o + 1]
            observed[_LEAST], observed[_WORK] = least, work[state.machine[c]]


@kernel
def _load(state: Any, row: Any, work: Any) -> None:
    """Write into work [M], for each machine, the durations of all unscheduled operations that it can process."""
    instance = state.instance[row]
    for m in range(state.machines[instance]):
        work[m] = 0
    for j in range(state.jobs[instance]):
        for at in range(state.next[row, j], state.closing[state.jobs_start[instance] + j]):
            operation = state.operations_start[instance] + at
            for choice in range(state.begin[operation], state.end[operation]):
                c = state.choices_start[instance] + choice
                work[state.machine[c]] += state.duration[c]
