"""Features of a partly fixed interval model: the jobs whose next operation can start now, and waiting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.transitions import NEVER, clock, job_end
from corl.problems.jobshop.features import signed_log
from corl.tokens import Tokens

__all__ = ["COLUMNS", "TOKENS", "intervals", "observe"]

COLUMNS = ("job", "first", "next", "end", "soon")
"""The columns that `observe` writes for each listed job.

job: the job's number. first, next: its first operation and its next one. end: the least time from now to the job's end. soon: the
time until another operation can start on the machine of the job's next operation (NEVER if there is none).
"""
JOB, FIRST, NEXT, END, SOON = range(len(COLUMNS))

TOKENS = 32
"""The number of features of a token: five for each of the five operations of the window, six of `_columns`, and one that marks
the clock's token."""
_REMAINING, _CLOCK = 0, TOKENS - 1
"""The two features of the clock's token, which describes the state as a whole."""


def intervals(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for IntervalEnvironment's listed actions, and one for the clock, which describes the state as a whole.

    Times are divided by the mean duration, and on a logarithmic scale; a machine's work is divided by the time from now to the
    estimate (the makespan that the lower bounds imply). The scale of the values approximates how much the estimate may still
    grow. Raises UsageError for observations of another environment.
    """
    if "pause" not in observation:
        raise UsageError("the features intervals are of the environment intervals; accepted: its observations")
    mask, there, remaining = observation["mask"], observation["there"], observation["remaining"]
    rows, slots = mask.shape
    unit = observation["unit"][:, None]
    span = np.maximum(1.0, observation["estimate"] - observation["time"])[:, None]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    window = np.stack(
        np.broadcast_arrays(
            there,
            observation["fixed"],
            signed_log(observation["start"], unit[:, :, None]),
            np.minimum(observation["duration"] / unit[:, :, None], 20.0) / 4.0,
            np.minimum(observation["work"] / span[:, :, None], 20.0),
        ),
        axis=-1,
    )
    x[:, :slots, : 5 * there.shape[2]] = np.where(there[..., None], window, 0.0).reshape(rows, slots, -1)
    for k, column in enumerate(_columns(observation, unit, span), 5 * there.shape[2]):
        x[:, :slots, k] = np.where(mask, column, 0.0)
    x[:, slots, _CLOCK] = 1.0
    x[:, slots, _REMAINING] = np.log1p(remaining) / 5.0
    present = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, present, None, observation["unit"] * np.sqrt(1.0 + remaining))


def _columns(observed: Mapping[str, NDArray[Any]], unit: NDArray[np.float64], span: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return the features of the listed actions that are not of the window, arrays that broadcast to [R, K].

    unit: float64 [R, 1], the mean duration. span: float64 [R, 1], the time from now to the estimate.
    """
    job = ~observed["waiting"]
    contested = job & (observed["soon"] < NEVER)
    pause = np.broadcast_to(observed["pause"][:, None], job.shape)
    return [
        observed["waiting"],
        np.where(job, observed["end"] / span, 0.0),
        np.log1p(observed["left"]) / 4.0,
        contested,
        signed_log(np.where(contested, observed["soon"] - observed["duration"][:, :, 1], 0), unit),
        signed_log(np.where(job, 0, pause), unit),
    ]


@kernel
def observe(state: Any, rows: Any, actions: Any, out: Any) -> None:
    """Write to out (int64 [R, K, 5]) the COLUMNS of the listed jobs of `rows`; waiting and empty slots are not written."""
    for k in range(len(rows)):
        row, instance = rows[k], state.instance[rows[k]]
        base, now = state.operations_offset[instance], clock(state, row)[0]
        for slot in range(actions.shape[1]):
            job = actions[k, slot]
            if job < 0 or job == state.jobs[instance]:
                break
            i = state.next[row, job]
            m = state.machines_offset[instance] + state.machine[base + i]
            soon = NEVER
            for c in range(state.first_member[m], state.end_member[m]):
                other = state.members[base + c]
                if other != i and other >= state.next[row, state.job[base + other]]:
                    soon = min(soon, state.start_time[row, other] - now)
            observed = out[k, slot]
            observed[JOB], observed[FIRST], observed[NEXT] = job, state.first_operation[state.jobs_offset[instance] + job], i
            observed[END], observed[SOON] = job_end(state, row, job) - now, soon
