"""Views, copies, gathers and scatters of ONNX as PyTorch operations.

Each function takes a Call, a node of the model (onnx_graph.py), runs it as PyTorch operations, and returns its result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from corl.problems.memory.tracing.onnx_graph import Call

__all__ = ["MOVES"]

aten = torch.ops.aten


# -------------------------------------------------------------------- shapes
def _reshape(call: Call) -> Any:
    x = call.tensor(0)
    shape = call.attribute("shape", None) if call.is_missing(1) else call.integers(1)
    if not call.attribute("allowzero", 0):
        shape = [x.shape[k] if size == 0 else size for k, size in enumerate(shape)]
    return call.run(aten.reshape.default, x, list(shape))


def _flatten(call: Call) -> Any:
    x = call.tensor(0)
    axis = call.attribute("axis", 1)
    axis += x.dim() if axis < 0 else 0
    return call.run(aten.reshape.default, x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


def _squeeze(call: Call) -> Any:
    x = call.tensor(0)
    axes = call.attribute("axes", None) if call.is_missing(1) else call.integers(1)
    return call.run(aten.squeeze.dims, x, [k for k in range(x.dim()) if x.shape[k] == 1] if axes is None else list(axes))


def _unsqueeze(call: Call) -> Any:
    x = call.tensor(0)
    axes = call.attribute("axes", None) if call.is_missing(1) else call.integers(1)
    for axis in sorted(a % (x.dim() + len(axes)) for a in axes):
        x = call.run(aten.unsqueeze.default, x, axis)
    return x


def _transpose(call: Call) -> Any:
    x = call.tensor(0)
    return call.run(aten.permute.default, x, list(call.attribute("perm", None) or reversed(range(x.dim()))))


def _concat(call: Call) -> Any:
    return call.run(aten.cat.default, [call.tensor(k) for k in range(call.inputs)], call.attribute("axis", 1))


def _split(call: Call) -> Any:
    x, axis = call.tensor(0), call.attribute("axis", 0)
    sizes = call.attribute("split", None) if call.is_missing(1) else call.integers(1)
    if sizes is None:
        each = -(-x.shape[axis] // call.outputs)
        sizes = [min(each, x.shape[axis] - k * each) for k in range(call.outputs)]
    return tuple(call.run(aten.split_with_sizes.default, x, list(sizes), axis))


def _split_to_sequence(call: Call) -> Any:
    x, axis = call.tensor(0), call.attribute("axis", 0)
    if call.is_missing(1):
        parts = call.run(aten.split.Tensor, x, 1, axis)
        return list(parts) if call.attribute("keepdims", 1) else [call.run(aten.squeeze.dims, part, [axis]) for part in parts]
    sizes = call.integers(1)
    if call.shape(1) == ():
        return list(call.run(aten.split.Tensor, x, sizes[0], axis))
    return list(call.run(aten.split_with_sizes.default, x, sizes, axis))


def _sequence_at(call: Call) -> Any:
    return call.sequence(0)[int(call.scalar(1))]


def _slice(call: Call) -> Any:
    x = call.tensor(0)
    keys = enumerate(("starts", "ends", "axes"), 1)
    starts, ends, axes = (call.attribute(key, None) if call.is_missing(k) else call.integers(k) for k, key in keys)
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if call.is_missing(4) else call.integers(4)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        low, high, _ = slice(start, end, step).indices(x.shape[axis])
        if step < 0:  # PyTorch has no negative steps
            x = call.run(aten.flip.default, x, [axis])
            low, high = (x.shape[axis] - 1 - k for k in (low, high))
        x = call.run(aten.slice.Tensor, x, axis, low, max(low, high), abs(step))
    return x


def _expand(call: Call) -> Any:
    x = call.tensor(0)
    return call.run(aten.expand.default, x, list(np.broadcast_shapes(tuple(x.shape), tuple(call.integers(1)))))


def _tile(call: Call) -> Any:
    return call.run(aten.repeat.default, call.tensor(0), list(call.integers(1)))


def _pad(call: Call) -> Any:
    """Pad the input; PyTorch wants the padding of both sides of each axis, from the last axis to the first padded one."""
    x = call.tensor(0)
    pads = call.attribute("pads", None) if call.is_missing(1) else call.integers(1)
    axes = range(x.dim()) if call.is_missing(3) else [a % x.dim() for a in call.integers(3)]
    wanted = {axis: (pads[k], pads[len(pads) // 2 + k]) for k, axis in enumerate(axes)}
    first = min((axis for axis, pair in wanted.items() if any(pair)), default=x.dim())
    sides = [size for axis in reversed(range(first, x.dim())) for size in wanted.get(axis, (0, 0))]
    mode = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}.get(call.attribute("mode", "constant"), "constant")
    return call.run(aten.pad.default, x, sides, mode) if sides else x


def _space(call: Call) -> Any:
    """Run DepthToSpace or its inverse, SpaceToDepth, as reshape, permute, reshape."""
    x, block = call.tensor(0), call.attribute("blocksize", 1)
    n, c, h, w = x.shape
    if call.kind == "SpaceToDepth":
        shape, order = [n, c, h // block, block, w // block, block], [0, 3, 5, 1, 2, 4]
        final = [n, c * block**2, h // block, w // block]
    else:
        deep = c // block**2
        shape, order = [n, block, block, deep, h, w], [0, 3, 4, 1, 5, 2]
        if call.attribute("mode", "DCR") == "CRD":
            shape, order = [n, deep, block, block, h, w], [0, 1, 4, 2, 5, 3]
        final = [n, deep, h * block, w * block]
    x = call.run(aten.permute.default, call.run(aten.reshape.default, x, shape), order)
    return call.run(aten.reshape.default, x, final)


# -------------------------------------------------------------------- gathering
def _gather(call: Call) -> Any:
    x, axis = call.tensor(0), call.attribute("axis", 0)
    if call.is_known(1) and call.shape(1) == ():
        return call.run(aten.select.int, x, axis, call.scalar(1))
    index = call.tensor(1)
    if index.device.type == "cpu":
        index = torch.where(index < 0, index + x.shape[axis], index)
    if axis % x.dim() == 0 and x.dim() == 2:
        return call.run(aten.embedding.default, x, index)  # rows of a table
    flat = call.run(aten.reshape.default, index, [-1])
    gathered = call.run(aten.index_select.default, x, axis, flat)
    axis %= x.dim()
    return call.run(aten.reshape.default, gathered, [*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]])


def _gather_elements(call: Call) -> Any:
    return call.run(aten.gather.default, call.tensor(0), call.attribute("axis", 0), call.tensor(1))


def _gather_nd(call: Call) -> Any:
    if call.attribute("batch_dims", 0):
        raise call.error("batch_dims is not supported; accepted: 0")
    return call.run(aten.index.Tensor, call.tensor(0), _coordinates(call))


def _coordinates(call: Call) -> list[Any]:
    """Return the indices along each axis of the first input: the second input, split along its last axis."""
    index = call.tensor(1)
    return [call.run(aten.select.int, index, -1, k) for k in range(index.shape[-1])]


def _scatter_nd(call: Call) -> Any:
    adding = call.attribute("reduction", "none") == "add"
    return call.run(aten.index_put.default, call.tensor(0), _coordinates(call), call.tensor(2), adding)


def _scatter(call: Call) -> Any:
    function = aten.scatter.src if call.attribute("reduction", "none") == "none" else aten.scatter_add.default
    return call.run(function, call.tensor(0), call.attribute("axis", 0), call.tensor(1), call.tensor(2))


def _one_hot(call: Call) -> Any:
    hot = call.run(aten.one_hot.default, call.tensor(0), int(call.scalar(1)))
    hot = call.run(aten._to_copy.default, hot, dtype=call.dtype_of(2))
    axis = call.attribute("axis", -1) % hot.dim()
    return call.run(aten.movedim.int, hot, -1, axis) if axis != hot.dim() - 1 else hot


MOVES: dict[str, Callable[[Call], Any]] = {
    "Concat": _concat, "DepthToSpace": _space, "Expand": _expand, "Flatten": _flatten, "Gather": _gather,
    "GatherElements": _gather_elements, "GatherND": _gather_nd, "OneHot": _one_hot, "Pad": _pad, "Reshape": _reshape,
    "ScatterElements": _scatter, "ScatterND": _scatter_nd, "SequenceAt": _sequence_at, "Slice": _slice,
    "SpaceToDepth": _space, "Split": _split, "SplitToSequence": _split_to_sequence, "Squeeze": _squeeze, "Tile": _tile,
    "Transpose": _transpose, "Unsqueeze": _unsqueeze,
}  # fmt: skip
"""ONNX operator -> function that runs it as PyTorch operations."""
