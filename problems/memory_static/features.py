"""Features of a partial allocation, relative to the load and to the instance's span of time."""

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
"""F: features of a token."""
_OFFSET, _MEMORY, _REMAINING = 3, 6, 7
"""The columns of the memory's token."""


def buffers(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed buffers and one for the memory. The unit is the load; times are shares of the span.

    Features of a buffer: start, end, size, lowest offset, its end in memory, the increase of the height. Features of the memory:
    its height, in the column of the offset; a mark of its token; the number of unplaced buffers (logarithm).
    """
    mask, table = observation["mask"], observation["buffers"]
    rows, slots = mask.shape
    load = np.maximum(observation["load"], 1.0)
    begin, end = observation["span"][:, :1], observation["span"][:, 1:]
    unit, top = load[:, None], observation["height"][:, None]
    size, offset = table[:, :, SIZE], table[:, :, OFFSET]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    times = [(table[:, :, k] - begin) / (end - begin) for k in (START, END)]
    parts = [*times, size / unit, offset / unit, (offset + size) / unit, np.maximum(offset + size - top, 0.0) / unit]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, part, 0.0)
    x[:, slots, _OFFSET] = observation["height"] / load
    x[:, slots, _MEMORY] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, token_mask, None, load)


@kernel
def observe(state: Any, rows: Any, actions: Any, values: Any) -> None:
    """Write the listed buffers to `values`, float64 [R, K, 4], in the columns of COLUMNS, in place.

    rows: int64 [R]; actions: int32 [R, K], the listed buffers, -1 after the last. Empty slots are left unchanged.
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
