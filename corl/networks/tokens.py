"""Tokens: what a network sees of reduced states, whatever the problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tokens"]


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
