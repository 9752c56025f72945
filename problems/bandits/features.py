"""Features of a step, some entries of whose action are picked so far: mainly the gains of picks, divided by the largest gain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.bandits.transitions import gain
from corl.tokens import Tokens

__all__ = ["TOKENS", "observe", "picks"]

TOKENS = 21
"""F, the number of features of a token."""
_SHARES = 10  # columns with the gains divided by the largest; two columns with the gains over all remaining steps follow
_PLACE, _ROOMS_LEFT, _COMMIT, _ARMS, _STEPS_LEFT, _PICKED, _PASSIVE, _BEST, _ROOMS = range(_SHARES + 2, TOKENS)
"""Columns of the other features; those from _ARMS on describe the state as a whole."""
_LARGEST = 10.0  # features are clipped to -10..10


def picks(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed picks and commit, and one token for the state as a whole.

    An arm is passive if it gets level 0 in later steps, active if it gets its best level. The unit of values is the reward of all
    arms over the remaining steps if they are passive, plus what they earn more if they are active (absolute values).

    Pick: its gains over 1, 2, 4, 8 and all remaining steps, passive and active, divided by the largest gain; its gains over
    all steps in the unit of values; its position in the list; of the rooms that hold the picks so far, the share that also
    holds this pick.
    Commit: an indicator.
    Whole: an indicator; the logarithms of the remaining steps and of the picks so far; the passive reward and the largest gain in
    the unit of values; the share of all rooms that hold the picks so far.
    """
    mask, commit, gains = observation["mask"], observation["commit"], observation["gains"]
    (rows, slots), weight = mask.shape, observation["weight"]
    passive, active = observation["arms"].T
    scale = np.abs(passive) + np.abs(active - passive)
    scale = np.where(scale > 0, scale, 1.0)
    largest = np.abs(gains).max(axis=(1, 2, 3), initial=0.0)
    gain_unit = np.where(largest > 0, largest, 1.0)
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    x[:, :slots, :_SHARES] = gains.reshape(rows, slots, _SHARES) / gain_unit[:, None, None]
    x[:, :slots, _SHARES:_PLACE] = np.sqrt(slots) * gains[:, :, :, -1] / scale[:, None, None]
    x[:, :slots, _PLACE] = np.where(mask, np.arange(slots) / slots, 0.0)
    x[:, :slots, _ROOMS_LEFT] = observation["rooms"][:, :slots] / np.maximum(1, observation["rooms"][:, slots:])
    x[:, :slots, _COMMIT] = mask & commit
    whole = x[:, slots]
    whole[:, _ARMS] = 1.0
    whole[:, _STEPS_LEFT] = np.log1p(np.maximum(0, observation["left"])) / 3.0
    whole[:, _PICKED] = np.log1p(observation["picked"]) / 2.0
    whole[:, _PASSIVE], whole[:, _BEST] = passive / scale, gain_unit / scale
    whole[:, _ROOMS] = observation["rooms"][:, slots] / np.maximum(1, observation["room"])
    np.clip(x, -_LARGEST, _LARGEST, out=x)
    x[:, :slots][~mask] = 0.0
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, token_mask, None, scale * weight)


@kernel
def observe(state: Any, rows: Any, actions: Any, horizons: Any, gains: Any, rooms: Any, arms: Any) -> None:
    """Write `gains`, `rooms` and `arms` of BanditEnvironment._observe, in place; all are zeros before.

    Args:
        state: The pool.
        rows: int64 [R].
        actions: int32 [R, K], the listed actions; -1 after the last.
        horizons: int64 [H], numbers of steps.
        gains: float64 [R, K, 2, H].
        rooms: int64 [R, K + 1].
        arms: float64 [R, 2].
    """
    for r in range(len(rows)):
        row = rows[r]
        instance = state.instance[row]
        left = state.horizon[instance] - state.time[row]
        if left <= 0:
            continue
        rooms[r, actions.shape[1]] = _rooms_left(state, row, -1)
        for active in range(2):
            arms[r, active] = _all_arms(state, row, left, active)
        for slot in range(actions.shape[1]):
            pick = actions[r, slot]
            if pick < 0:
                break
            if pick == state.picks[instance]:
                continue
            rooms[r, slot] = _rooms_left(state, row, pick)
            for active in range(2):
                for h in range(len(horizons)):
                    gains[r, slot, active, h] = gain(state, row, pick, min(left, horizons[h]), active)


@kernel
def _rooms_left(state: Any, row: Any, pick: Any) -> Any:
    """Return the number of rooms that hold the picks so far together with `pick`; without another pick if it is -1."""
    instance = state.instance[row]
    m, size, found = state.needs[instance], state.start.size[instance], 0
    need = state.start.need[instance] + pick * m
    for v in range(state.rooms[instance]):
        inside = True
        for i in range(m):
            more = state.need[need + i] if pick >= 0 else 0
            if state.used[row, i] + more > state.size[size + v * m + i]:
                inside = False
                break
        found += inside
    return found


@kernel
def _all_arms(state: Any, row: Any, steps: Any, active: Any) -> Any:
    """Return the reward of all arms over `steps` steps, if they now get the levels picked so far.

    In later steps they get level 0 (`active` = 0) or their best levels (1).
    """
    instance = state.instance[row]
    width, size = state.levels[instance], state.states[instance]
    table = (min(steps, state.depth[instance]) - 1) * 2 + active
    first = state.start.lookahead[instance] + table * state.arms[instance] * width * size
    total = 0.0
    for j in range(state.arms[instance]):
        total += state.lookahead[first + (j * width + state.level[row, j]) * size + state.arm[row, j]]
    return total
