"""The two graph layers as a kernel: one encoding of an instance, then no torch (Corsini et al., NeurIPS 2024, section 4).

Numbers of a node lie in columns, [width, N]: loops run along them, so that the order of every sum is that of the source, and
results are the same whatever the vector length.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.compiled import dense_lanes, exponentials
from corl.solvers.jobshop.slim.instance import SlimInstance
from corl.solvers.jobshop.slim.weights import HEADS, WIDTH, Gat, Weights

__all__ = ["Encoder", "encoded"]

_EACH = WIDTH // HEADS
_SLOPE = np.float32(0.2)  # of GATv2's leaky ReLU
_ZERO = np.float32(0.0)


class Encoder:
    """Encodes the operations of an instance, some at a time, so that the clock can be looked at."""

    def __init__(self, shop: SlimInstance, weights: Weights) -> None:
        self.shop, self.weights = shop, weights
        n = shop.features.shape[1]
        self._input = np.zeros((shop.features.shape[0] + 1 + 2 * WIDTH, n), np.float32)  # rows are the inputs of `embed`
        self._input[: len(shop.features)] = shop.features
        self._layer = self._at = 0
        self._begin()

    def advance(self, edges: int) -> bool:
        """Go on by about so many edges; whether everything is done."""
        shop, layer = self.shop, self._gat()
        at = self._at
        end = at
        while end < len(shop.machine) and edges > 0:
            m = shop.machine[end]
            edges -= int(shop.begin[m + 1] - shop.begin[m])
            end += 1
        row = len(shop.features) + self._layer * WIDTH
        _attend(shop, layer.attention, layer.kind, layer.bias, self._source, self._target, self._input, row, at, end)
        self._at = end
        if end == len(shop.machine):
            self._layer += 1
            if self._layer == 2:
                return True
            self._begin()
        return False

    def embedded(self) -> NDArray[np.float32]:
        """float32 [N, HIDDEN] once `advance` has said that it is done."""
        layer = self.weights.embed
        out = np.empty((len(layer.bias), self._input.shape[1]), np.float32)
        dense_lanes(layer.weight, layer.bias, self._input, out, np.uint64(out.shape[1]))
        return np.ascontiguousarray(out.T)

    def _gat(self) -> Gat:
        return self.weights.first if self._layer == 0 else self.weights.second

    def _begin(self) -> None:
        """Both linear layers of a graph layer; rows of zeros meet what was padded."""
        layer, n = self._gat(), self._input.shape[1]
        parts = []
        for part in (layer.source, layer.target):
            out = np.empty((WIDTH, n), np.float32)
            dense_lanes(part.weight, part.bias, self._input, out, np.uint64(n))
            parts.append(np.ascontiguousarray(out.T))
        self._source, self._target = parts
        self._at = 0


def encoded(shop: SlimInstance, weights: Weights) -> NDArray[np.float32]:
    """The embeddings of all operations, float32 [N, HIDDEN]."""
    encoder = Encoder(shop, weights)
    while not encoder.advance(2**31):
        pass
    return encoder.embedded()


@kernel
def _attend(shop, attention, kind, bias, source, target, out, row, begin, end):
    """Nodes begin..end - 1 of a GATv2 layer with ReLU, into the rows of `out` from `row` on.

    source, target: [N, WIDTH]. A node hears the operations before and after it in its job, and all of its machine.
    """
    first = shop.first
    job = np.searchsorted(first, begin, side="right") - 1
    most = 0
    for m in range(len(shop.load)):
        most = max(most, shop.begin[m + 1] - shop.begin[m])
    heard, of_kind = np.empty(most + 2, np.int64), np.empty(most + 2, np.int64)
    score, total = np.empty((HEADS, most + 2), np.float32), np.empty(WIDTH, np.float32)
    for i in range(begin, end):
        while i >= first[job + 1]:
            job += 1
        count = 0
        if i > first[job]:
            heard[count], of_kind[count] = i - 1, 0
            count += 1
        if i + 1 < first[job + 1]:
            heard[count], of_kind[count] = i + 1, 1
            count += 1
        for at in range(shop.begin[shop.machine[i]], shop.begin[shop.machine[i] + 1]):
            heard[count], of_kind[count] = shop.member[at], 2
            count += 1
        _scores(attention, kind, source, target, i, heard, of_kind, count, score)
        _gather(source, heard, count, score, total)
        for d in range(WIDTH):
            out[row + d, i] = max(total[d] + bias[d], _ZERO)


@kernel
def _scores(attention, kind, source, target, i, heard, of_kind, count, score):
    """Attention of node i to what it hears, a softmax in every head, into score [HEADS, count]."""
    for h in range(HEADS):
        for c in range(count):
            j, e, value = heard[c], of_kind[c], _ZERO
            for d in range(h * _EACH, (h + 1) * _EACH):
                x = source[j, d] + target[i, d] + kind[e, d]
                value += attention[d] * (x if x > _ZERO else _SLOPE * x)
            score[h, c] = value
        whole = exponentials(score[h], count)
        for c in range(count):
            score[h, c] /= whole


@kernel
def _gather(source, heard, count, score, total):
    """The weighted sum of what is heard, into total [WIDTH]."""
    for d in range(WIDTH):
        total[d] = _ZERO
    for c in range(count):
        j = heard[c]
        for h in range(HEADS):
            w = score[h, c]
            for d in range(h * _EACH, (h + 1) * _EACH):
                total[d] += w * source[j, d]
