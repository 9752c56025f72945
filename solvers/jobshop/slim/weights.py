"""The network's weights as arrays for the kernels; the widths are fixed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.networks.compiled import Dense

__all__ = ["CONTEXT", "DECODER_HEADS", "DECODER_WIDTH", "HEADS", "HIDDEN", "KINDS", "LAST", "MIXED", "PADDED", "WIDTH"]
__all__ += ["Gat", "SlimWeights"]

HEADS, WIDTH = 4, 64
"""Heads of both graph layers, and their total width."""
KINDS = 3
"""Kinds of edges: from the job predecessor, from the job successor, from operations of the same machine, itself included."""
CONTEXT, PADDED = 11, 12
"""Context features of a job; the same padded to a multiple of four, for the kernels."""
DECODER_HEADS, DECODER_WIDTH = 3, 24
"""Heads of the attention among jobs, and their total width."""
MIXED, HIDDEN, LAST = 32, 64, 32
"""Widths of the layers after the attention."""


class Gat(NamedTuple):
    """A graph attention layer (Brody, Alon and Yahav, GATv2, 2022)."""

    source: Dense
    """Linear map of the neighbours."""
    target: Dense
    """Linear map of the node."""
    attention: NDArray[np.float32]
    """[WIDTH] attention vectors of all heads."""
    kind: NDArray[np.float32]
    """[KINDS, WIDTH] embeddings of the kinds of edges."""
    bias: NDArray[np.float32]
    """[WIDTH]"""


class SlimWeights(NamedTuple):
    """The network's parameters, for the kernels."""

    first: Gat
    """The first graph layer."""
    second: Gat
    """The second graph layer."""
    embed: Dense
    """Operation -> its part of the hidden layer."""
    attend: Dense
    """Context -> queries, keys and values."""
    mix: Dense
    """Context and attention -> MIXED."""
    hidden: Dense
    """MIXED -> the other part of the hidden layer."""
    last: Dense
    """Hidden layer -> LAST."""
    score: NDArray[np.float32]
    """[LAST] the logit; a bias would have no effect."""
