"""The network's weights as arrays for the kernels; the widths are fixed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.networks.compiled import Dense

__all__ = ["CONTEXT", "DECODER_HEADS", "DECODER_WIDTH", "HEADS", "HIDDEN", "KINDS", "LAST", "MIXED", "PADDED", "WIDTH"]
__all__ += ["Gat", "Weights"]

HEADS, WIDTH = 4, 64
"""Of both graph layers: heads, and numbers of all heads together."""
KINDS = 3
"""Edges from the operation before in the job, from the one after, and from those on the same machine, itself among them."""
CONTEXT, PADDED = 11, 12
"""Features of a job while a schedule is built; rows in the kernels, whose loops take four at a time."""
DECODER_HEADS, DECODER_WIDTH = 3, 24
"""Of the attention among jobs."""
MIXED, HIDDEN, LAST = 32, 64, 32
"""Widths of the layers after it."""


class Gat(NamedTuple):
    """A graph attention layer (Brody, Alon and Yahav, GATv2, 2022)."""

    source: Dense
    target: Dense
    attention: NDArray[np.float32]
    """[WIDTH]"""
    kind: NDArray[np.float32]
    """[KINDS, WIDTH]"""
    bias: NDArray[np.float32]
    """[WIDTH]"""


class Weights(NamedTuple):
    """Everything that the kernels need of the network."""

    first: Gat
    second: Gat
    embed: Dense
    """Operation -> its part of the hidden layer."""
    attend: Dense
    """Context -> queries, keys and values."""
    mix: Dense
    """Context and attention -> MIXED."""
    hidden: Dense
    """MIXED -> the other part of the hidden layer."""
    last: Dense
    score: NDArray[np.float32]
    """[LAST]; a bias would change nothing."""
