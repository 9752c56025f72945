"""Features of the mallocGame: the listed actions, the next accesses, and memory and bandwidth over the next operations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.memory.capacity_checks import copy_start
from corl.problems.memory.pool import COPY, KEEP, PASS
from corl.problems.memory.timing import HIGH
from corl.tokens import Tokens

__all__ = ["BANDS", "FEATURES", "SPANS", "UNIT", "UPCOMING", "game", "observe", "potential"]

FEATURES = 20
"""F: the number of features of every token."""
UPCOMING = 8
"""U: the number of observed accesses after the current one."""
SPANS = 10
"""W: the number of observed spans of operations, which begin at the current one and have 1, 1, 2, 2, 4, 4, ... operations."""
BANDS = 8
"""The number of equal parts of the fast memory, the bands. A span has the occupied share of each band as a feature.

Offsets are not chosen yet, so the occupied bytes are counted from the lowest band up.
"""
UNIT = 0.1
"""The unit of values, as a share of the largest possible saving in the remaining program (`potential`)."""
(
    _ACTION, _ACCESS, _COPY_LEFT, _KEEPS, _COPIES, _PASSES, _DONE, _SIZE, _SAVING, _WRITES, _GROUPED, _DISTANCE, _NEXT_USE,
    _RESIDENT, _LAST_USE, _COPY_START, _NEXT_SAVING, _PRESSURE, _TAKEN, _DENSITY,
) = range(FEATURES)  # fmt: skip
"""Columns of the features of the listed actions and of the next accesses.

Distances in operations are divided by 16 or 32, and -1 stands for a next use or a start of a copy that does not exist.
"""
_SPAN, _BAND, _IDLE, _BEGINS, _WANTED = 2, 3, 11, 12, 16
"""Columns of the features of spans of operations; the bands are in _BAND to _BAND + BANDS - 1."""
_KEEPING = (_NEXT_USE, _NEXT_SAVING, _PRESSURE, _TAKEN, _DENSITY)  # features about the time until the tensor's next use
_MIN_POTENTIAL = 0.01  # a lower bound on the potential, as a share of the program's run time


def game(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return the tokens of MappingEnvironment's observations: K actions, U accesses, W spans of operations."""
    x = np.concatenate([observation["slots"], observation["upcoming"], observation["times"]], 1)
    slots = observation["slots"]
    # features that do not matter for an action are 0, so that even an untrained network scores the actions differently
    is_pass, is_copy = slots[:, :, _PASSES] > 0, slots[:, :, _COPIES] > 0
    x[:, : slots.shape[1], _SIZE:][is_pass] = 0.0
    for column in _KEEPING:
        x[:, : slots.shape[1], column][is_copy] = 0.0
    mask = np.ones(x.shape[:2], np.bool_)
    mask[:, : observation["mask"].shape[1]] = observation["mask"]
    upcoming = slice(observation["mask"].shape[1], observation["mask"].shape[1] + UPCOMING)
    mask[:, upcoming] = observation["upcoming"][:, :, _ACCESS] > 0
    return Tokens(x, mask, None, observation["scale"])


@kernel
def potential(state: Any, rows: Any, out: Any) -> None:
    """Write the potential of some rows to `out`, float64 [R], in place.

    The potential is the number of seconds that an unlimited fast memory would save from the current operation on, but at least
    1 % of the program's run time, since the unit of values is a share of the potential.
    """
    for i in range(len(rows)):
        row = rows[i]
        instance = state.instance[row]
        at, rates = min(state.current_access[row], state.accesses[instance] - 1), state.rates[instance]
        out[i] = 0.0
        for op in range(state.op[state.accesses_start[instance] + at] if at >= 0 else 0, state.ops[instance]):
            compute, slow, fast = state.compute[state.ops_start[instance] + op], state.slow[row, op], state.fast[row, op]
            out[i] += max(compute, slow / rates[0] + fast / rates[1]) - max(compute, (slow + fast) / rates[1])
        out[i] = max(out[i], _MIN_POTENTIAL * state.value[row], 1e-12)


@kernel
def observe(state: Any, rows: Any, actions: Any, slots: Any, upcoming: Any, times: Any) -> None:
    """Write the features of some rows, in place.

    Args:
        state: The pool.
        rows: int64 [R].
        actions: int32 [R, K], the listed actions; -1 after the last.
        slots: float32 [R, K, F], zeros, to which the features of the listed actions are written.
        upcoming: float32 [R, U, F], zeros, to which the features of the next U accesses are written.
        times: float32 [R, W, F], zeros, to which the features of the spans of operations are written.
    """
    for i in range(len(rows)):
        row = rows[i]
        instance = state.instance[row]
        at = state.current_access[row]
        if at >= state.accesses[instance]:
            continue
        a = state.accesses_start[instance] + at
        seconds = max(1e-30, state.value[row] / state.ops[instance])
        for k in range(actions.shape[1]):
            if actions[i, k] >= 0:
                _access(state, row, a, a, seconds, slots[i, k])
                slots[i, k, _ACCESS], slots[i, k, _ACTION] = 0.0, 1.0
                slots[i, k, _KEEPS] = actions[i, k] == KEEP
                slots[i, k, _COPIES] = actions[i, k] == COPY
                slots[i, k, _PASSES] = actions[i, k] == PASS
                slots[i, k, _DONE] = at / state.accesses[instance]
                start, bytes_left = copy_start(state, row, state.tensor[a], state.op[a])
                size = float(state.sizes[state.tensors_start[instance] + state.tensor[a]])
                slots[i, k, _COPY_LEFT] = bytes_left / max(1.0, size)
                slots[i, k, _COPY_START] = (state.op[a] - start) / 16.0 if start < state.op[a] else -1.0
        for k in range(min(UPCOMING, state.accesses[instance] - at - 1)):
            _access(state, row, a, a + k + 1, seconds, upcoming[i, k])
        low, length = state.op[a], 1
        for k in range(SPANS):
            _span(state, row, low, min(low + length, state.ops[instance]), times[i, k])
            low += length
            length *= 1 + k % 2


@kernel
def _access(state: Any, row: Any, now: Any, a: Any, seconds: Any, out: Any) -> None:
    """Write the features of access a to `out`, float32 [F], in place.

    They are the access's kind, the tensor's size, the savings if fast memory serves this access and the tensor's next access, the
    distance between the two, and how much of fast memory is taken or demanded by more profitable tensors in between.

    Args:
        state: The pool.
        row: The row.
        now: The current access, from which distances are measured; like `a`, an index into the accesses of all instances.
        a: The access.
        seconds: The unit of savings.
        out: The features.
    """
    instance = state.instance[row]
    t, op, following = state.tensors_start[instance] + state.tensor[a], state.op[a], state.next_access[a]
    capacity = max(1.0, float(state.capacity[instance]))
    out[_ACCESS] = 1.0
    out[_SIZE] = state.sizes[t] / capacity
    out[_SAVING] = _saving(state, row, a) / seconds
    out[_WRITES] = state.write[a]
    out[_GROUPED] = state.group[t] >= 0
    out[_DISTANCE] = (op - state.op[now]) / 16.0
    out[_NEXT_USE] = -1.0
    if following >= 0:
        until, taken = state.op[state.accesses_start[instance] + following], 0.0
        for i in range(op, until + 1):
            taken += state.load[row, i]
        out[_NEXT_USE] = (until - op) / 16.0
        out[_NEXT_SAVING] = _saving(state, row, state.accesses_start[instance] + following) / seconds
        out[_PRESSURE] = state.pressure[a]
        out[_TAKEN] = taken / capacity / (until + 1 - op)
        gain = out[_NEXT_SAVING] + (out[_SAVING] if state.write[a] else 0.0)
        out[_DENSITY] = max(-2.0, min(2.0, 0.25 * math.log(1e-9 + gain / max(1e-9, out[_SIZE] * (until + 1 - op)))))
    live = state.latest_rect[row, state.tensor[a]]
    out[_RESIDENT] = live >= 0 and state.rects[row, live, HIGH] > op
    out[_LAST_USE] = (state.last_op[t] - op) / 32.0


@kernel
def _saving(state: Any, row: Any, a: Any) -> Any:
    """Return the seconds by which the operation of access a would get shorter if fast memory also served the access."""
    instance, op = state.instance[row], state.op[a]
    rates, compute = state.rates[instance], state.compute[state.ops_start[instance] + op]
    slow, fast = state.slow[row, op], state.fast[row, op]
    moved = min(state.traffic[a], slow)
    before, after = slow / rates[0] + fast / rates[1], (slow - moved) / rates[0] + (fast + moved) / rates[1]
    return max(compute, before) - max(compute, after)


@kernel
def _span(state: Any, row: Any, low: Any, high: Any, out: Any) -> None:
    """Write the features of the span of operations low..high-1 to `out`, float32 [F], zeros at first, in place.

    They are the mean occupied share of each band, the mean size of live tensors, the sum of idle bytes of the copy engine, and
    the distance of the span from the current operation.
    """
    if high <= low:
        return
    instance = state.instance[row]
    capacity = max(1.0, float(state.capacity[instance]))
    band, idle = capacity / BANDS, 0.0
    out[_SPAN] = 1.0
    for i in range(low, high):
        idle += state.idle[row, i]
        for b in range(BANDS):
            out[_BAND + b] += max(0.0, min(1.0, state.load[row, i] / band - b)) / (high - low)
        out[_WANTED] += min(4.0, state.wanted[state.ops_start[instance] + i]) / (high - low)
    out[_IDLE] = idle / capacity / 4.0
    out[_BEGINS] = (low - state.op[state.accesses_start[instance] + state.current_access[row]]) / 32.0
