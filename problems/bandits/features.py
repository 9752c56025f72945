"""Features of a step that is being chosen: what picks add, in units of the best of them."""

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
"""F: features of a token."""
_SHARES = 10  # the first ones: gains over spans of steps, left alone and cared for, in units of the largest; then those of all
_PLACE, _ROOMS_LEFT, _COMMIT, _ARMS, _STEPS_LEFT, _PICKED, _ALONE, _BEST, _ROOMS = range(_SHARES + 2, TOKENS)

_LARGEST = 10.0


def picks(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """K tokens of the listed picks and of commit, and one of all arms. The unit of values is what all arms earn in the steps left
    when left alone, and what care may add to that.

    Of a pick: what it adds over 1, 2, 4, 8 and all steps left, if its arms are left alone afterwards and if they are cared for,
    in units of the largest and, over all steps, in units of the row; its place in the list; the share of the rooms that it
    leaves. Of commit: which token it is. Of all arms: likewise; steps left and picks so far (logarithms), what they earn left
    alone and cared for, the share of all rooms that hold the choice, and what the best pick adds.
    """
    mask, commit, gains = observation["mask"], observation["commit"], observation["gains"]
    (rows, slots), weight = mask.shape, observation["weight"]
    alone, cared = observation["arms"].T
    scale = np.abs(alone) + np.abs(cared - alone)
    scale = np.where(scale > 0, scale, 1.0)
    most = np.abs(gains).max(axis=(1, 2, 3), initial=0.0)
    best = np.where(most > 0, most, 1.0)
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    x[:, :slots, :_SHARES] = gains.reshape(rows, slots, _SHARES) / best[:, None, None]
    x[:, :slots, _SHARES:_PLACE] = np.sqrt(slots) * gains[:, :, :, -1] / scale[:, None, None]
    x[:, :slots, _PLACE] = np.where(mask, np.arange(slots) / slots, 0.0)
    x[:, :slots, _ROOMS_LEFT] = observation["rooms"][:, :slots] / np.maximum(1, observation["rooms"][:, slots:])
    x[:, :slots, _COMMIT] = mask & commit
    whole = x[:, slots]
    whole[:, _ARMS] = 1.0
    whole[:, _STEPS_LEFT] = np.log1p(np.maximum(0, observation["left"])) / 3.0
    whole[:, _PICKED] = np.log1p(observation["picked"]) / 2.0
    whole[:, _ALONE], whole[:, _BEST] = alone / scale, best / scale
    whole[:, _ROOMS] = observation["rooms"][:, slots] / np.maximum(1, observation["room"])
    np.clip(x, -_LARGEST, _LARGEST, out=x)
    x[:, :slots][~mask] = 0.0
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, there, None, scale * weight)


@kernel
def observe(state: Any, rows: Any, actions: Any, horizons: Any, gains: Any, rooms: Any, arms: Any) -> None:
    """Fill gains [R, K, 2, len(horizons)], rooms [R, K + 1] and arms [R, 2], as BanditEnvironment.observe says."""
    for r in range(len(rows)):
        row = rows[r]
        instance = state.instance[row]
        left = state.horizon[instance] - state.time[row]
        if left <= 0:
            continue
        rooms[r, actions.shape[1]] = _rooms_left(state, row, -1)
        for cared in range(2):
            arms[r, cared] = _all_arms(state, row, left, cared)
        for slot in range(actions.shape[1]):
            pick = actions[r, slot]
            if pick < 0:
                break
            if pick == state.picks[instance]:
                continue
            rooms[r, slot] = _rooms_left(state, row, pick)
            for cared in range(2):
                for h in range(len(horizons)):
                    gains[r, slot, cared, h] = gain(state, row, pick, min(left, horizons[h]), cared)


@kernel
def _rooms_left(state: Any, row: Any, pick: Any) -> Any:
    """How many rooms hold what is chosen with a pick besides (-1: none)."""
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
def _all_arms(state: Any, row: Any, steps: Any, cared: Any) -> Any:
    """What all arms earn over `steps` steps at their present levels, left alone afterwards, or (1) cared for."""
    instance = state.instance[row]
    width, size = state.levels[instance], state.states[instance]
    table = (min(steps, state.depth[instance]) - 1) * 2 + cared
    first = state.start.outlook[instance] + table * state.arms[instance] * width * size
    total = 0.0
    for j in range(state.arms[instance]):
        total += state.outlook[first + (j * width + state.level[row, j]) * size + state.arm[row, j]]
    return total
