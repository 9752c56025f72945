"""Features of a partial sequence: the remaining jobs, in units of their own durations."""

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
"""The columns that `observe` fills for each listed job: see FlowShopEnvironment.observe."""
_END, _IDLE, _LATE_IDLE, _GROWTH, _WORK, _SLOPE, _SETUP = range(len(COLUMNS))

TOKENS = 13
"""F: features of a token: those of a job, then those of the shop."""
_SHOP, _REMAINING, _TOTAL, _SPREAD = range(TOKENS - 4, TOKENS)
_SHOWN = 20.0  # the bound of asinh of times in mean durations


def jobs(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed jobs and one for the shop.

    The scale of the values approximates the further growth of the estimate. Times are in mean durations of the listed jobs, on a
    logarithmic scale; most are differences from the least of the listed jobs.
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
        x[:, :slots, k] = np.where(mask, np.clip(np.arcsinh(2.0 * column), -_SHOWN, _SHOWN), 0.0)
    x[:, slots, _SHOP] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    x[:, slots, _TOTAL] = observation["total"]
    x[:, slots, _SPREAD] = np.minimum(np.arcsinh((last - first) / (unit * machines)), _SHOWN)[:, 0]
    present = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    grow = np.where(observation["total"], observation["remaining"], 1.0) * np.sqrt(1.0 + observation["remaining"])
    return Tokens(x, present, None, unit[:, 0] * grow)


def _above(values: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how far each listed value is above the least of its row."""
    least: NDArray[np.float64] = np.where(mask, values, np.inf).min(axis=1, keepdims=True, initial=1e300)
    return values - least


@kernel
def observe(state: Any, rows: Any, actions: Any, table: Any) -> None:
    """Fill table [R, K, 7] with the columns COLUMNS of FlowShopEnvironment.observe."""
    for r in range(len(rows)):
        row = rows[r]
        instance = state.instance[row]
        n, m, count = state.jobs[instance], state.machines[instance], state.length[row]
        left = (n - count) / n
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
                idle, late = idle + wait, late + wait * (m - i) / m * left
                end = start + duration
                growth = max(growth, end + state.tail[at + i])
                setups += change
                slope += duration * (2 * i - m + 1)
            entry = table[r, slot]
            entry[_END], entry[_IDLE], entry[_LATE_IDLE], entry[_SETUP] = end, idle, late, setups
            entry[_GROWTH], entry[_WORK] = growth - state.free[row, m - 1], state.duration[at] + state.tail[at]
            entry[_SLOPE] = slope / max(1, m - 1)
