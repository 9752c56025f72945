"""What a network sees of a step that is being chosen: what picks add, in units of the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.tokens import Tokens

__all__ = ["TOKENS", "picks"]

TOKENS = 21
"""F: features of a token."""

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
    x[:, :slots, :10] = gains.reshape(rows, slots, 10) / best[:, None, None]
    x[:, :slots, 10:12] = np.sqrt(slots) * gains[:, :, :, -1] / scale[:, None, None]
    x[:, :slots, 12] = np.where(mask, np.arange(slots) / slots, 0.0)
    x[:, :slots, 13] = observation["rooms"][:, :slots] / np.maximum(1, observation["rooms"][:, slots:])
    x[:, :slots, 14] = mask & commit
    whole = x[:, slots]
    whole[:, 15] = 1.0
    whole[:, 16] = np.log1p(np.maximum(0, observation["left"])) / 3.0
    whole[:, 17] = np.log1p(observation["picked"]) / 2.0
    whole[:, 18], whole[:, 19] = alone / scale, best / scale
    whole[:, 20] = observation["rooms"][:, slots] / np.maximum(1, observation["room"])
    np.clip(x, -_LARGEST, _LARGEST, out=x)
    x[:, :slots][~mask] = 0.0
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, there, None, scale * weight)
