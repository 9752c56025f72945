"""Features of a partial allocation: shares of the load and of the span of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.memory_static.transitions import lowest
from corl.tokens import Tokens

__all__ = ["COLUMNS", "TOKENS", "buffers", "observe"]

COLUMNS = ("start", "end", "size", "offset")
"""The columns that `observe` fills for each listed buffer: its lifetime, its size, and the lowest offset at which it fits."""
START, END, SIZE, OFFSET = range(len(COLUMNS))

TOKENS = 8
"""F: features of a token."""
_OFFSET, _MEMORY, _REMAINING = 3, 6, 7
"""Those that the memory's token has."""


def buffers(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """K tokens of the listed buffers and one of the memory. The unit is the load; times are shares of the span.

    Of a buffer: start, end, size, lowest offset, where it would end, what the height would grow by. Of the memory: its height
    in the place of the offset, which token it is, and how many buffers are left (logarithm).
    """
    mask, seen = observation["mask"], observation["buffers"]
    rows, slots = mask.shape
    load = np.maximum(observation["load"], 1.0)
    begin, end = observation["span"][:, :1], observation["span"][:, 1:]
    unit, top = load[:, None], observation["height"][:, None]
    size, offset = seen[:, :, SIZE], seen[:, :, OFFSET]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    times = [(seen[:, :, k] - begin) / (end - begin) for k in (START, END)]
    parts = [*times, size / unit, offset / unit, (offset + size) / unit, np.maximum(offset + size - top, 0.0) / unit]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, part, 0.0)
    x[:, slots, _OFFSET] = observation["height"] / load
    x[:, slots, _MEMORY] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, there, None, load)


@kernel
def observe(state: Any, rows: Any, actions: Any, values: Any) -> None:
    """Fill values [R, K, 4] of the listed buffers, in the order of COLUMNS."""
    for k in range(len(rows)):
        row = rows[k]
        first = state.buffers_start[state.instance[row]]
        for slot in range(actions.shape[1]):
            buffer = actions[k, slot]
            if buffer < 0:
                break
            seen = values[k, slot]
            seen[START], seen[END] = state.lower[first + buffer], state.upper[first + buffer]
            seen[SIZE] = state.size[first + buffer]
            seen[OFFSET] = lowest(state, row, buffer)
