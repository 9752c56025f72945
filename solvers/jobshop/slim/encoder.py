"""The two graph layers as kernels, which encode an instance without PyTorch (Corsini et al., NeurIPS 2024, section 4).

The nodes of the graph are the N operations. The values of a node form a column of the arrays, [width, N], and loops run along the
nodes. Sums are not reordered, so that results do not depend on the processor's vector length.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.compiled import dense_lanes, exponentials
from corl.solvers.jobshop.slim.instance import SlimInstance
from corl.solvers.jobshop.slim.weights import HEADS, WIDTH, Gat, SlimWeights

__all__ = ["Encoder", "encode"]

_HEAD_WIDTH = WIDTH // HEADS
_SLOPE = np.float32(0.2)  # slope of GATv2's leaky ReLU
_ZERO = np.float32(0.0)


class Encoder:
    """Encodes the operations of an instance step by step, so that the caller can check the time between two steps."""

    def __init__(self, shop: SlimInstance, weights: SlimWeights) -> None:
        self.shop, self.weights = shop, weights
        n = shop.features.shape[1]
        # the rows are the inputs of `embed`: static features, outputs of both layers, and a row of zeros
        self._input = np.zeros((shop.features.shape[0] + 1 + 2 * WIDTH, n), np.float32)
        self._input[: len(shop.features)] = shop.features
        self._layer = self._node = 0
        self._project()

    def advance(self, edges: int) -> bool:
        """Process about `edges` more edges of the graph; return whether the encoding is complete."""
        shop, layer = self.shop, self._current_layer()
        first = self._node
        end = first
        while end < len(shop.machine) and edges > 0:
            m = shop.machine[end]
            edges -= int(shop.machine_offset[m + 1] - shop.machine_offset[m])
            end += 1
        row = len(shop.features) + self._layer * WIDTH
        _attend(shop, layer.attention, layer.kind, layer.bias, self._source, self._target, self._input, row, first, end)
        self._node = end
        if end == len(shop.machine):
            self._layer += 1
            if self._layer == 2:
                return True
            self._project()
        return False

    def embedded(self) -> NDArray[np.float32]:
        """Return the embeddings of the operations, float32 [N, HIDDEN]; call it once `advance` has returned True."""
        layer = self.weights.embed
        out = np.empty((len(layer.bias), self._input.shape[1]), np.float32)
        dense_lanes(layer.weight, layer.bias, self._input, out, np.uint64(out.shape[1]))
        return np.ascontiguousarray(out.T)

    def _current_layer(self) -> Gat:
        return self.weights.first if self._layer == 0 else self.weights.second

    def _project(self) -> None:
        """Apply the two linear maps of the current graph layer to all nodes.

        Their weights are padded to a multiple of four inputs; the padding is multiplied by rows that are still zero.
        """
        layer, n = self._current_layer(), self._input.shape[1]
        parts = []
        for part in (layer.source, layer.target):
            out = np.empty((WIDTH, n), np.float32)
            dense_lanes(part.weight, part.bias, self._input, out, np.uint64(n))
            parts.append(np.ascontiguousarray(out.T))
        self._source, self._target = parts
        self._node = 0


def encode(shop: SlimInstance, weights: SlimWeights) -> NDArray[np.float32]:
    """Return the embeddings of all operations, float32 [N, HIDDEN]."""
    encoder = Encoder(shop, weights)
    while not encoder.advance(2**31):
        pass
    return encoder.embedded()


@kernel
def _attend(shop, attention, kind, bias, source, target, out, row, begin, end):
    """Compute a GATv2 layer with ReLU for the nodes begin..end - 1.

    The neighbours of a node are its job predecessor, its job successor, and all operations of its machine, itself included.

    Args:
        shop: The instance.
        attention: float32 [WIDTH], the attention vectors of all heads.
        kind: float32 [KINDS, WIDTH], the embeddings of the kinds of edges.
        bias: float32 [WIDTH], the bias of the layer.
        source: float32 [N, WIDTH], the linear map of a node as a neighbour.
        target: float32 [N, WIDTH], the linear map of a node as the receiver.
        out: float32 [rows, N], the outputs are written to WIDTH rows from `row` on.
        row: The first row to write.
        begin: The first node.
        end: One past the last node.
    """
    first = shop.first
    job = np.searchsorted(first, begin, side="right") - 1
    max_on_machine = 0
    for m in range(len(shop.machine_work)):
        max_on_machine = max(max_on_machine, shop.machine_offset[m + 1] - shop.machine_offset[m])
    neighbours, edge_kind = np.empty(max_on_machine + 2, np.int64), np.empty(max_on_machine + 2, np.int64)
    score, total = np.empty((HEADS, max_on_machine + 2), np.float32), np.empty(WIDTH, np.float32)
    for i in range(begin, end):
        while i >= first[job + 1]:
            job += 1
        count = 0
        if i > first[job]:
            neighbours[count], edge_kind[count] = i - 1, 0
            count += 1
        if i + 1 < first[job + 1]:
            neighbours[count], edge_kind[count] = i + 1, 1
            count += 1
        for at in range(shop.machine_offset[shop.machine[i]], shop.machine_offset[shop.machine[i] + 1]):
            neighbours[count], edge_kind[count] = shop.member[at], 2
            count += 1
        _scores(attention, kind, source, target, i, neighbours, edge_kind, count, score)
        _gather(source, neighbours, count, score, total)
        for d in range(WIDTH):
            out[row + d, i] = max(total[d] + bias[d], _ZERO)


@kernel
def _scores(attention, kind, source, target, i, neighbours, edge_kind, count, score):
    """Write the attention of node i to its `count` neighbours, a softmax for each head, to score, float32 [HEADS, count]."""
    for h in range(HEADS):
        for c in range(count):
            j, e, value = neighbours[c], edge_kind[c], _ZERO
            for d in range(h * _HEAD_WIDTH, (h + 1) * _HEAD_WIDTH):
                x = source[j, d] + target[i, d] + kind[e, d]
                value += attention[d] * (x if x > _ZERO else _SLOPE * x)
            score[h, c] = value
        exp_sum = exponentials(score[h], count)
        for c in range(count):
            score[h, c] /= exp_sum


@kernel
def _gather(source, neighbours, count, score, total):
    """Write the sum of the neighbours' rows of `source`, weighted by `score`, to total, float32 [WIDTH]."""
    for d in range(WIDTH):
        total[d] = _ZERO
    for c in range(count):
        j = neighbours[c]
        for h in range(HEADS):
            w = score[h, c]
            for d in range(h * _HEAD_WIDTH, (h + 1) * _HEAD_WIDTH):
                total[d] += w * source[j, d]
