"""Tokens: what a network sees of reduced states, whatever the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tokens", "joined", "sizes_of"]


class Tokens(NamedTuple):
    """R reduced states as sets of T tokens. The first K tokens belong to the K slots of `Environment.actions`; the rest are
    what else the problem shows (for a tour: its last and its first city). `Problem.features` has the functions that make them.
    """

    x: NDArray[np.float32]
    """[R, T, F] a row of features for each token; zero where there is none."""
    mask: NDArray[np.bool_]
    """[R, T] which tokens are there."""
    pairs: NDArray[np.float32] | None
    """[R, T, T, P] features of ordered pairs of tokens, such as distances, for the bias of attention; or None."""
    scale: NDArray[np.float64]
    """[R] the row's unit, positive: a value or a reward in the network's units times this is in the environment's."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Those that are there, by name."""
        return {name: array for name, array in self._asdict().items() if array is not None}


def joined(parts: Sequence[Mapping[str, NDArray[Any]]], extra: int) -> dict[str, NDArray[Any]]:
    """The arrays of Tokens of several parts one after the other; parts with fewer slots are filled up with empty ones.

    extra: how many of the last tokens of every part belong to no slot; they stay the last.
    """
    if len(parts) == 1:
        return dict(parts[0])
    most = max(part["mask"].shape[1] for part in parts)
    filled = [part if part["mask"].shape[1] == most else _filled(part, most, extra) for part in parts]
    return {name: np.concatenate([part[name] for part in filled]) for name in filled[0]}


def _filled(part: Mapping[str, NDArray[Any]], most: int, extra: int) -> dict[str, NDArray[Any]]:
    """The arrays of Tokens, of `most` tokens: where each of those that are there stands then."""
    rows, tokens = part["mask"].shape
    at = np.arange(tokens)
    at[tokens - extra :] += most - tokens
    full = dict(part)
    for name, axes in (("x", 1), ("mask", 1), ("pairs", 2)):
        if (array := part.get(name)) is not None:
            full[name] = np.zeros((rows, *[most] * axes, *array.shape[1 + axes :]), array.dtype)
            if axes == 1:
                full[name][:, at] = array
            else:
                full[name][:, at[:, None], at] = array
    return full


def sizes_of(tokens: Tokens, slots: int) -> dict[str, int]:
    """The arguments "inputs", "pairs" and "extra" of a network that sees these tokens, `slots` of which belong to slots."""
    pairs = 0 if tokens.pairs is None else tokens.pairs.shape[3]
    return {"inputs": tokens.x.shape[2], "pairs": pairs, "extra": tokens.x.shape[1] - slots}
