"""What a network sees of a partial solution: distances, what a vehicle has left, windows and prizes.

Everything is in units of the distances shown, so that the features do not change when the plane is turned, moved or scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "routes"]

TOKENS = 27
"""F: features of a token, in the order of `_columns`."""
PAIRS = 3
"""P: features of a pair of tokens: both distances, and whether they are the same node."""


def routes(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Tokens of VrpEnvironment's observations: K slots, the origin, the depot. The unit `scale` is about the cost of the rest."""
    mask, distances = observation["mask"], observation["distances"]
    unit = _unit(mask, distances)
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit)), axis=-1)
    x = np.where(mask[:, :, None], columns, 0.0).astype(np.float32)
    near = np.log1p(distances / unit[:, None, None])
    same = observation["clients"][:, :, None] == observation["clients"][:, None, :]
    pairs = np.stack([near, near.transpose(0, 2, 1), same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, unit * (observation["remaining"] + 1.0))


def _unit(mask: NDArray[np.bool_], distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [R]: the mean distance to the nearest other place shown; 1 where all is in one place."""
    reach = np.where(mask[:, None, :] & (distances > 0), distances, np.inf).min(axis=2, initial=np.inf)
    there = mask & np.isfinite(reach)
    total = np.where(there, reach, 0.0).sum(axis=1)
    return np.where(total > 0, total / np.maximum(1, there.sum(axis=1)), 1.0)


def _columns(seen: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """[R, T] (or what broadcasts to it) for each feature."""
    rows, tokens = seen["mask"].shape
    width = tokens - 2
    lengths = unit[:, None]

    def log(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of lengths and times from 0; what is unlimited counts as a million units."""
        return np.log1p(np.clip(values / lengths, 0.0, 1e6))

    def slots(values: NDArray[Any]) -> NDArray[np.float64]:
        """Of the action slots; 0 for origin and depot."""
        return np.concatenate([values, np.zeros((rows, 2))], axis=1)

    fresh, room = slots(seen["fresh"]), seen["room"][:, None]
    away, home = seen["distances"][:, width], seen["distances"][:, :, tokens - 1]
    kind = np.concatenate([np.zeros(width), [1.0, 2.0]])
    leaves_out = slots(seen["clients"][:, :width] == 0)
    after = np.where(fresh > 0, 1.0, room) - seen["demand"]
    prize, cost = np.log1p(np.minimum(seen["prize"] / lengths, 1e6)), slots(seen["cost"])
    timed = np.broadcast_to(seen["timed"][:, None], (rows, tokens)).astype(float)
    left = np.clip(seen["left"] / lengths, 0.0, 1e6)
    savings = np.clip((home[:, width, None] + home - away) / lengths, -1e6, 1e6)
    rank = np.cumsum(1 - fresh, axis=1) * (1 - fresh) + np.cumsum(fresh, axis=1) * fresh
    return [
        (kind == 0) * 1.0, (kind == 1) * 1.0, (kind == 2) * 1.0, fresh, leaves_out,
        log(cost), log(away), log(home), np.arcsinh(savings), rank / 16.0,
        seen["demand"], room, np.clip(after, -1.0, 1.0), np.log1p(seen["rest"])[:, None], np.log1p(seen["remaining"])[:, None],
        seen["required"] * 1.0, prize, np.arcsinh((seen["prize"] - cost) / lengths),
        timed, timed * log(slots(seen["wait"])), timed * log(slots(seen["slack"])), log(seen["service"]),
        np.isfinite(seen["left"][:, :1]) * 1.0, np.log1p(left[:, :1]),
        np.isfinite(seen["left"][:, 1:]) * 1.0, np.log1p(left[:, 1:]), (seen["room"] < seen["rest"])[:, None] * 1.0,
    ]  # fmt: skip
