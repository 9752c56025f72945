"""Features of a partial allocation. Offsets and sizes are relative to the largest load, times to the instance's span of time."""

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
"""The columns that `observe` writes for each listed buffer: its lifetime, its size, and the lowest offset at which it fits."""
START, END, SIZE, OFFSET = range(len(COLUMNS))

TOKENS = 8
"""The number of features of a token."""
_OFFSET, _MEMORY, _REMAINING = 3, 6, 7
"""The columns that the memory's token uses; _OFFSET is also the column of a buffer's lowest offset."""


def buffers(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed buffers and one token for the memory.

    Features of a buffer: start and end of its lifetime, as shares of the span; its size, its lowest offset, its end in memory at
    that offset, and the increase of the height, in units of the largest load. Features of the memory: the height, in the same
    unit; 1, which distinguishes the memory's token from those of buffers; and the logarithm of the number of unplaced buffers.
    """
    mask, table = observation["mask"], observation["buffers"]
    rows, slots = mask.shape
    load = np.maximum(observation["load"], 1.0)
    begin, end = observation["span"][:, :1], observation["span"][:, 1:]
    unit, height = load[:, None], observation["height"][:, None]
    size, offset = table[:, :, SIZE], table[:, :, OFFSET]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    times = [(table[:, :, k] - begin) / (end - begin) for k in (START, END)]
    parts = [*times, size / unit, offset / unit, (offset + size) / unit, np.maximum(offset + size - height, 0.0) / unit]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, part, 0.0)
    x[:, slots, _OFFSET] = observation["height"] / load
    x[:, slots, _MEMORY] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, token_mask, None, load)


@kernel
def observe(state: Any, rows: Any, actions: Any, values: Any) -> None:
    """Write the facts of the listed buffers to `values`, in place.

    Args:
        state: The pool.
        rows: int64 [R].
        actions: int32 [R, K], the listed buffers; -1 after the last.
        values: float64 [R, K, 4], with the columns of COLUMNS. Empty slots are left unchanged.
    """
    for k in range(len(rows)):
        row = rows[k]
        first = state.buffers_start[state.instance[row]]
        for slot in range(actions.shape[1]):
            buffer = actions[k, slot]
            if buffer < 0:
                break
            out = values[k, slot]
            out[START], out[END] = state.lower[first + buffer], state.upper[first + buffer]
            out[SIZE] = state.size[first + buffer]
            out[OFFSET] = lowest(state, row, buffer)
