"""The network's weights as arrays for the kernels, and the fixed widths of its layers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.networks.compiled import Dense

__all__ = ["CONTEXT", "DECODER_HEADS", "DECODER_WIDTH", "HEADS", "HIDDEN", "KINDS", "LAST", "MIXED", "PADDED", "WIDTH"]
__all__ += ["Gat", "SlimWeights"]

HEADS = 4
"""The number of attention heads of each graph layer."""
WIDTH = 64
"""The number of outputs of each graph layer, of all heads together."""
KINDS = 3
"""The number of kinds of edges into an operation: from its job predecessor, from its job successor, and from the operations of
its machine, itself included."""
CONTEXT = 11
"""The number of context features of a job (observation.py)."""
PADDED = 12
"""CONTEXT rounded up to a multiple of four, as the kernels need it."""
DECODER_HEADS = 3
"""The number of heads of the attention among jobs."""
DECODER_WIDTH = 24
"""The number of outputs of the attention among jobs, of all heads together."""
MIXED = 32
"""The width of the layer after the attention."""
HIDDEN = 64
"""The width of the hidden layer, and of the embedding of an operation."""
LAST = 32
"""The width of the last layer before the logit."""


class Gat(NamedTuple):
    """The weights of a graph attention layer (GATv2; Brody, Alon and Yahav, 2022)."""

    source: Dense
    """The linear map of a node as a neighbour, to WIDTH outputs."""
    target: Dense
    """The linear map of a node as the receiver, to WIDTH outputs."""
    attention: NDArray[np.float32]
    """[WIDTH] the attention vectors of all heads."""
    kind: NDArray[np.float32]
    """[KINDS, WIDTH] the embeddings of the kinds of edges."""
    bias: NDArray[np.float32]
    """[WIDTH] the bias that is added to the output."""


class SlimWeights(NamedTuple):
    """The network's parameters, for the kernels."""

    first: Gat
    """The first graph layer."""
    second: Gat
    """The second graph layer."""
    embed: Dense
    """Maps the static features and the outputs of both graph layers to the embedding of an operation (HIDDEN)."""
    attend: Dense
    """Maps the context of a job to queries, keys and values."""
    mix: Dense
    """Maps the context and the output of the attention to MIXED numbers."""
    hidden: Dense
    """Maps these MIXED numbers to HIDDEN numbers, to which the embedding of the job's next operation is added."""
    last: Dense
    """Maps this sum, the hidden layer, to LAST numbers."""
    score: NDArray[np.float32]
    """[LAST] maps the last layer to the logit, without a bias, which would not change the softmax."""
