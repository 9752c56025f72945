"""Features of a partial sequence: the remaining jobs, with times divided by the mean duration of their operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.flowshop.transitions import setup
from corl.tokens import Tokens

__all__ = ["COLUMNS", "TOKENS", "jobs", "observe"]

COLUMNS = ("end", "idle", "late_idle", "growth", "work", "slope", "setup")
"""The columns that `observe` fills for each listed job: see `FlowShopEnvironment._observe`."""
_END, _IDLE, _LATE_IDLE, _GROWTH, _WORK, _SLOPE, _SETUP = range(len(COLUMNS))

TOKENS = 13
"""The number of features of a token: nine of a job, then four of the shop as a whole."""
_SHOP, _REMAINING, _TOTAL, _SPREAD = range(TOKENS - 4, TOKENS)
_LOG_LIMIT = 20.0  # limit of the absolute value of asinh(time / mean duration)


def jobs(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed jobs, and one for the shop as a whole.

    Times are divided by the mean duration of the operations of the listed jobs, and on a logarithmic scale; most are differences
    from the minimum over the listed jobs. The scale of the values approximates how much the estimate (a lower bound) may still
    grow.
    """
    mask, machines = observation["mask"], observation["machines"].astype(np.float64)[:, None]
    rows, slots = mask.shape
    listed = np.maximum(1, mask.sum(axis=1, keepdims=True))
    unit = observation["work"].sum(axis=1, keepdims=True) / (listed * machines)
    unit = np.where(unit > 0, unit, 1.0)
    first, last = observation["free"][:, :1], observation["free"][:, 1:]
    columns = [
        _above(observation["end"], mask) / unit,
        (observation["end"] - last) / unit,
        observation["idle"] / (unit * machines),
        _above(observation["idle"], mask) / (unit * machines),
        _above(observation["late_idle"], mask) / (unit * machines),
        _above(observation["growth"], mask) / unit,
        observation["work"] / (unit * machines),
        observation["slope"] / (unit * machines),
        observation["setup"] / (unit * machines),
    ]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    for k, column in enumerate(columns):
        x[:, :slots, k] = np.where(mask, np.clip(np.arcsinh(2.0 * column), -_LOG_LIMIT, _LOG_LIMIT), 0.0)
    x[:, slots, _SHOP] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    x[:, slots, _TOTAL] = observation["total"]
    x[:, slots, _SPREAD] = np.minimum(np.arcsinh((last - first) / (unit * machines)), _LOG_LIMIT)[:, 0]
    present = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    growth = np.where(observation["total"], observation["remaining"], 1.0) * np.sqrt(1.0 + observation["remaining"])
    return Tokens(x, present, None, unit[:, 0] * growth)


def _above(values: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return each value minus the minimum over the listed jobs of its row, float64 [R, K]."""
    least: NDArray[np.float64] = np.where(mask, values, np.inf).min(axis=1, keepdims=True, initial=1e300)
    return values - least


@kernel
def observe(state: Any, rows: Any, actions: Any, table: Any) -> None:
    """Write the observation of the listed jobs of `rows` to table (float64 [R, K, 7], the columns COLUMNS), in place."""
    for r in range(len(rows)):
        row = rows[r]
        instance = state.instance[row]
        n, m, count = state.jobs[instance], state.machines[instance], state.length[row]
        remaining = (n - count) / n
        for slot in range(actions.shape[1]):
            job = actions[r, slot]
            if job < 0:
                break
            at = state.operations_start[instance] + job * m
            end, idle, late, growth, setups, slope = 0, 0, 0.0, 0, 0, 0.0
            for i in range(m):
                duration, change = state.duration[at + i], setup(state, row, job, i)
                start = max(end, state.free[row, i] + change)
                wait = start - state.free[row, i]
                idle, late = idle + wait, late + wait * (m - i) / m * remaining
                end = start + duration
                growth = max(growth, end + state.tail[at + i])
                setups += change
                slope += duration * (2 * i - m + 1)
            entry = table[r, slot]
            entry[_END], entry[_IDLE], entry[_LATE_IDLE], entry[_SETUP] = end, idle, late, setups
            entry[_GROWTH], entry[_WORK] = growth - state.free[row, m - 1], state.duration[at] + state.tail[at]
            entry[_SLOPE] = slope / max(1, m - 1)
