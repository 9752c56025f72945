"""Tokens: the input of a network for the states of any problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tokens", "joined", "sizes_of"]


class Tokens(NamedTuple):
    """The observation of R states as sets of T tokens each: the result of the functions in `Problem.features`.

    Of the T tokens, the first K belong to the K slots of `Environment.actions`, which are the places in the list of actions. The
    other tokens describe the state as a whole (for a tour: its last and its first city).
    """

    x: NDArray[np.float32]
    """[R, T, F] the features of each token; zero for absent tokens."""
    mask: NDArray[np.bool_]
    """[R, T] which tokens are present."""
    pairs: NDArray[np.float32] | None
    """[R, T, T, P] features of ordered pairs of tokens, such as distances, for the bias of attention; or None."""
    scale: NDArray[np.float64]
    """[R] the unit of values and rewards in the network, positive: multiplied by it, they are in the environment's units."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that are not None, by name."""
        return {name: array for name, array in self._asdict().items() if array is not None}


def joined(parts: Sequence[Mapping[str, NDArray[Any]]], extra: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of Tokens of several parts, concatenated along the rows.

    Parts with fewer slots than others get absent tokens after their slots. `extra` is the number of tokens at the end of each
    part that belong to no slot; they stay at the end.
    """
    if len(parts) == 1:
        return dict(parts[0])
    widest = max(part["mask"].shape[1] for part in parts)
    filled = [part if part["mask"].shape[1] == widest else _filled(part, widest, extra) for part in parts]
    return {name: np.concatenate([part[name] for part in filled]) for name in filled[0]}


def _filled(part: Mapping[str, NDArray[Any]], width: int, extra: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of Tokens, padded to `width` tokens; the last `extra` ones are moved to the end."""
    rows, tokens = part["mask"].shape
    at = np.arange(tokens)
    at[tokens - extra :] += width - tokens
    full = dict(part)
    for name, axes in (("x", 1), ("mask", 1), ("pairs", 2)):  # `axes`: how many axes have the length of the tokens
        if (array := part.get(name)) is not None:
            full[name] = np.zeros((rows, *[width] * axes, *array.shape[1 + axes :]), array.dtype)
            if axes == 1:
                full[name][:, at] = array
            else:
                full[name][:, at[:, None], at] = array
    return full


def sizes_of(tokens: Tokens, slots: int) -> dict[str, int]:
    """Return a network's arguments "inputs", "pairs" and "extra" for such tokens, the first `slots` of which belong to slots."""
    pairs = 0 if tokens.pairs is None else tokens.pairs.shape[3]
    return {"inputs": tokens.x.shape[2], "pairs": pairs, "extra": tokens.x.shape[1] - slots}
