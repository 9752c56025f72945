"""Products, convolutions, pooling, normalisation, attention and resizing of ONNX as PyTorch operations.

Each function takes a Call, a node of the model (onnx_graph.py), runs it as PyTorch operations, and returns its result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from corl.problems.memory.tracing.onnx_graph import Call

__all__ = ["LAYERS"]

aten = torch.ops.aten


# -------------------------------------------------------------------- products
def _matmul(call: Call) -> Any:
    return call.run(aten.matmul.default, call.tensor(0), call.tensor(1))


def _gemm(call: Call) -> Any:
    """Run alpha A B + beta C, as one linear operation if that is possible."""
    a, b, bias = call.tensor(0), call.tensor(1), None if call.is_missing(2) else call.tensor(2)
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    a = call.run(aten.t.default, a) if call.attribute("transA", 0) else a
    if call.attribute("transB", 0):
        if alpha == 1 and (bias is None or (beta == 1 and bias.dim() == 1)):
            return call.run(aten.linear.default, a, b, bias)
        b = call.run(aten.t.default, b)
    if bias is not None:
        return call.run(aten.addmm.default, bias, a, b, beta=beta, alpha=alpha)
    product = call.run(aten.matmul.default, a, b)
    return product if alpha == 1 else call.run(aten.mul.Scalar, product, alpha)


def _einsum(call: Call) -> Any:
    return call.run(aten.einsum.default, call.attribute("equation", ""), [call.tensor(k) for k in range(call.inputs)])


def _attention(call: Call) -> Any:
    """Run attention on inputs [N, heads, S, D], or on inputs [N, S, heads D], which are reshaped before and after."""
    if call.outputs > 1 or any(not call.is_missing(k) for k in (4, 5, 6)):
        raise call.error("a cache of keys and values is not supported; accepted: query, key, value and mask, one result")
    heads = [call.attribute("q_num_heads", 0), *[call.attribute("kv_num_heads", 0)] * 2]
    parts = []
    for k, count in enumerate(heads):
        x = call.tensor(k)
        if flat := x.dim() == 3:
            n, length, width = x.shape
            x = call.run(aten.reshape.default, x, [n, length, count, width // count])
            x = call.run(aten.permute.default, x, [0, 2, 1, 3])
        parts.append(x)
    mask = None if call.is_missing(3) else call.tensor(3)
    causal, grouped = bool(call.attribute("is_causal", 0)), parts[0].shape[1] != parts[1].shape[1]
    made = call.run(aten.scaled_dot_product_attention.default, *parts, mask, 0.0, causal, enable_gqa=grouped)
    if flat:
        n, count, length, width = made.shape
        made = call.run(aten.reshape.default, call.run(aten.permute.default, made, [0, 2, 1, 3]), [n, length, count * width])
    return made


# -------------------------------------------------------------------- windows
def _window(call: Call, kernel: Sequence[int]) -> tuple[Any, list[int], list[int], list[int]]:
    """Return (input, strides, padding, dilations) of a convolution or pooling; the padding is the same on both sides of an axis.

    If the padding differs between the two sides of an axis, or is more than PyTorch accepts, the input is replaced by a stand-in
    of the padded shape, and the padding is 0; no bytes are moved.
    """
    x, n = call.tensor(0), len(kernel)
    strides, dilations = (list(call.attribute(key, None) or [1] * n) for key in ("strides", "dilations"))
    pads, auto = list(call.attribute("pads", None) or [0] * 2 * n), call.attribute("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        pads = [0] * 2 * n
        for k, size in enumerate(x.shape[2:]):
            total = max(0, (-(-size // strides[k]) - 1) * strides[k] + (kernel[k] - 1) * dilations[k] + 1 - size)
            low = total // 2 if auto == "SAME_UPPER" else -(-total // 2)
            pads[k], pads[n + k] = low, total - low
    if pads[:n] == pads[n:] and ("Pool" not in call.kind or all(2 * p <= k for p, k in zip(pads, kernel))):
        return x, strides, pads[:n], dilations
    padded = [size + low + high for size, low, high in zip(x.shape[2:], pads[:n], pads[n:])]
    return call.stand_in(x, [*x.shape[:2], *padded]), strides, [0] * n, dilations


def _conv(call: Call) -> Any:
    weight, bias = call.tensor(1), None if call.is_missing(2) else call.tensor(2)
    x, strides, pads, dilations = _window(call, weight.shape[2:])
    function = getattr(aten, f"conv{x.dim() - 2}d").default
    return call.run(function, x, weight, bias, strides, pads, dilations, call.attribute("group", 1))


def _conv_transpose(call: Call) -> Any:
    """Run a transposed convolution. Padding that PyTorch does not support is cut off the result, which moves no bytes."""
    x, weight, bias = call.tensor(0), call.tensor(1), None if call.is_missing(2) else call.tensor(2)
    n = x.dim() - 2
    strides, dilations = (list(call.attribute(key, None) or [1] * n) for key in ("strides", "dilations"))
    extra, pads = list(call.attribute("output_padding", None) or [0] * n), list(call.attribute("pads", None) or [0] * 2 * n)
    packet = getattr(aten, f"conv_transpose{n}d")
    function, group = (packet.default if n == 1 else packet.input), call.attribute("group", 1)
    wanted = call.attribute("output_shape", None)
    if wanted is None and call.attribute("auto_pad", "NOTSET").startswith("SAME"):
        wanted = [size * stride for size, stride in zip(x.shape[2:], strides)]
    if wanted is None and pads[:n] == pads[n:]:
        return call.run(function, x, weight, bias, strides, pads[:n], extra, group, dilations)
    made = call.run(function, x, weight, bias, strides, [0] * n, extra, group, dilations)
    for k, size in enumerate(made.shape[2:]):
        low, high = (pads[k], size - pads[n + k]) if wanted is None else (0, wanted[k])
        made = call.run(aten.slice.Tensor, made, 2 + k, low, high)
    return made


def _pool(call: Call) -> Any:
    if call.outputs > 1:
        raise call.error("indices are not supported; accepted: one result")
    kernel = list(call.attribute("kernel_shape", None) or [])
    x, strides, pads, dilations = _window(call, kernel)
    ceil = bool(call.attribute("ceil_mode", 0))
    if call.kind == "MaxPool":
        return call.run(getattr(aten, f"max_pool{len(kernel)}d").default, x, kernel, strides, pads, dilations, ceil)
    count = bool(call.attribute("count_include_pad", 0))
    return call.run(getattr(aten, f"avg_pool{len(kernel)}d").default, x, kernel, strides, pads, ceil, count)


def _global_pool(call: Call) -> Any:
    x = call.tensor(0)
    return call.run(aten.mean.dim if call.kind == "GlobalAveragePool" else aten.amax.default, x, list(range(2, x.dim())), True)


def _resize(call: Call) -> Any:
    """Resize the input along its last axes, to given sizes or by given scales."""
    x = call.tensor(0)
    scales_input = 1 if call.kind == "Upsample" else 2
    if not call.is_missing(3):
        sizes = list(call.integers(3))
    else:
        scales = call.attribute("scales", None) if call.is_missing(scales_input) else call.numbers(scales_input)
        sizes = [math.floor(size * scale) for size, scale in zip(x.shape[-len(scales) :], scales)]
    axes = call.attribute("axes", None) or range(x.dim() - len(sizes), x.dim())
    wanted = list(x.shape)
    for axis, size in zip(axes, sizes):
        wanted[axis] = size
    spatial = wanted[2:]
    kinds = {"nearest": "nearest{}d", "linear": ("linear1d", "bilinear2d", "trilinear3d")[len(spatial) - 1], "cubic": "bicubic2d"}
    mode = call.attribute("mode", "nearest")
    if wanted[:2] != list(x.shape[:2]) or mode not in kinds:
        raise call.error(f"mode {mode!r} to {wanted} is not supported; accepted: nearest, linear, cubic over the spatial axes")
    function = getattr(aten, "upsample_" + kinds[mode].format(len(spatial))).default
    corners = [call.attribute("coordinate_transformation_mode", "half_pixel") == "align_corners"] if mode != "nearest" else []
    return x if spatial == list(x.shape[2:]) else call.run(function, x, spatial, *corners)


# -------------------------------------------------------------------- normalisation
def _batch_norm(call: Call) -> Any:
    if call.attribute("training_mode", 0):
        raise call.error("training_mode is not supported; accepted: a model for inference")
    parts = [call.tensor(k) for k in range(5)]
    return call.run(aten.batch_norm.default, *parts, False, 0.1, call.attribute("epsilon", 1e-5), False)


def _layer_norm(call: Call) -> Any:
    x = call.tensor(0)
    shape = list(x.shape[call.attribute("axis", -1) :])
    affine = [None if call.is_missing(k) else call.run(aten.expand.default, call.tensor(k), shape) for k in (1, 2)]
    epsilon = call.attribute("epsilon", 1e-5)
    if call.kind == "RMSNormalization":
        return call.run(aten.rms_norm.default, x, shape, affine[0], epsilon)
    return call.run(aten.layer_norm.default, x, shape, *affine, epsilon)


def _instance_norm(call: Call) -> Any:
    parts = [call.tensor(k) for k in range(3)]
    return call.run(aten.instance_norm.default, *parts, None, None, True, 0.1, call.attribute("epsilon", 1e-5), False)


def _group_norm(call: Call) -> Any:
    x, weight, bias = (call.tensor(k) for k in range(3))
    if weight.shape[0] != x.shape[1]:
        raise call.error("a scale for each group is not supported; accepted: one for each channel, as of opset 21")
    return call.run(aten.group_norm.default, x, call.attribute("num_groups", 1), weight, bias, call.attribute("epsilon", 1e-5))


def _local_norm(call: Call) -> Any:
    given = [call.attribute(key, value) for key, value in (("size", 1), ("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))]
    return call.run(torch.nn.functional.local_response_norm, call.tensor(0), *given)


def _softmax(call: Call) -> Any:
    x, function = call.tensor(0), aten.softmax.int if call.kind == "Softmax" else aten.log_softmax.int
    if call.opset >= 13:
        return call.run(function, x, call.attribute("axis", -1))
    axis = call.attribute("axis", 1) % x.dim()  # before opset 13, softmax is over all axes from this one on together
    flat = call.run(aten.reshape.default, x, [*x.shape[:axis], -1])
    return call.run(aten.reshape.default, call.run(function, flat, -1), list(x.shape))


LAYERS: dict[str, Callable[[Call], Any]] = {
    "Attention": _attention, "AveragePool": _pool, "BatchNormalization": _batch_norm, "Conv": _conv,
    "ConvTranspose": _conv_transpose, "Einsum": _einsum, "Gemm": _gemm, "GlobalAveragePool": _global_pool,
    "GlobalMaxPool": _global_pool, "GroupNormalization": _group_norm, "InstanceNormalization": _instance_norm, "LRN": _local_norm,
    "LayerNormalization": _layer_norm, "LogSoftmax": _softmax, "MatMul": _matmul, "MaxPool": _pool,
    "RMSNormalization": _layer_norm, "Resize": _resize, "Softmax": _softmax, "Upsample": _resize,
}  # fmt: skip
"""ONNX operator -> function that runs it as PyTorch operations."""
