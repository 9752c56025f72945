"""The work of ATen operations: floating-point operations (FLOPs) on the matrix and the vector unit, and how each may be fused.

FLOPs on the matrix unit are those of torch.utils.flop_counter:
- 2 M N K for the product of an M x K and a K x N matrix; a bias adds nothing;
- 2 x elements of the result x elements of one filter for a convolution; a transposed convolution counts elements of its input;
- those of its two matrix products for attention.
FLOPs on the vector unit per element of the result: 1 for arithmetic, comparisons and selections, 4 for a transcendental function,
and the number of operations in its formula for an activation function. Per element of the input: 1 for a sum or a maximum, 8 for
softmax and normalisations with statistics (mean, variance, scaling, affine map). Copies, gathers and conversions cost nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from corl.problems.memory.tracing.steps import Cost

__all__ = ["FILLS", "GATHERS", "OVERWRITES", "SCATTERS", "WHOLE", "base_name", "cost_of", "is_copy"]


def _names(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_PRODUCTS = {"addmm": 1, "addmv": 1, "baddbmm": 1, "bmm": 0, "dot": 0, "linear": 0, "matmul": 0, "mm": 0, "mv": 0}
"""Matrix products: name -> position of the left factor among the arguments."""
_TRANSCENDENTAL = _names(
    "acos acosh asin asinh atan atan2 atanh cos cosh digamma erf erfc erfinv exp exp2 expm1 lgamma log log10 log1p log2 "
    "logaddexp logaddexp2 pow reciprocal rsqrt sin sinc sinh sqrt tan tanh"
)
_FORMULAS = {"celu": 6, "dropout": 2, "elu": 6, "gelu": 8, "glu": 6, "hardsigmoid": 3, "hardswish": 4, "mish": 10, "selu": 6}
_FORMULAS |= {"batch_norm": 2, "log_sigmoid": 6, "native_dropout": 2, "sigmoid": 5, "silu": 6, "softplus": 6}
"""Name -> FLOPs per element."""
_STATISTICS = _names("group_norm instance_norm layer_norm native_group_norm native_layer_norm log_softmax softmax")
_NORM_WITHOUT_MEAN = ("rms_norm", "_fused_rms_norm")
_REDUCTIONS = _names("all amax amin any argmax argmin logsumexp max mean min norm prod std std_mean sum var var_mean")
_COPIES = _names("_to_copy clone copy contiguous lift_fresh_copy")
_MOVES = _names(
    "cat constant_pad_nd embedding flip gather im2col index index_copy index_put index_select masked_select one_hot pad "
    "reflection_pad1d reflection_pad2d repeat replication_pad2d roll scatter select_scatter slice_scatter "
    "split_with_sizes_copy stack tril triu unfold_copy upsample_nearest2d _unsafe_index where_copy"
)

GATHERS = _names("embedding gather index index_select _unsafe_index")
"""Operations that read only some elements of their first argument: at most as many bytes as they write."""
SCATTERS = _names("index_add index_copy index_put index_reduce scatter scatter_add scatter_reduce")
"""Operations whose in-place forms write only some elements of their target: at most as many bytes as the last argument has."""
OVERWRITES = _names("copy fill normal random uniform zero exponential bernoulli")
"""Operations whose in-place forms do not read the elements that they overwrite."""
FILLS = _names(
    "arange empty empty_like empty_strided eye full full_like linspace new_empty new_empty_strided new_full new_ones "
    "new_zeros ones ones_like scalar_tensor zeros zeros_like"
)
"""Operations that read nothing and produce one value or a range."""
WHOLE = _names(
    "_adaptive_avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d avg_pool1d "
    "avg_pool2d batch_norm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d embedding group_norm "
    "instance_norm layer_norm linear log_softmax matmul max_pool1d max_pool2d max_pool3d one_hot pad rms_norm "
    "scaled_dot_product_attention softmax stack upsample_nearest2d"
)
"""Operations that are recorded as one step, although PyTorch decomposes them into several."""


def base_name(function: Any) -> str:
    """Return the name of an ATen operation without namespace, overload and the underscore of in-place forms.

    For example "relu" for aten.relu_.default. The internal forms _softmax and _log_softmax get their public names.
    """
    name = str(function._schema.name).partition("::")[2]
    if name.startswith("__"):  # __and__, __ior__
        return name.strip("_")
    name = name.removesuffix("_")
    return name[1:] if name in ("_softmax", "_log_softmax") else name


def is_copy(name: str) -> bool:
    """Return whether an operation returns the values that it reads, possibly in another type or layout."""
    return name in _COPIES


def cost_of(name: str, function: Any, args: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Cost:
    """Return the cost of an operation.

    Args:
        name: The operation's `base_name`.
        function: The operation.
        args: Its positional arguments.
        inputs: Its input tensors.
        outputs: Its result tensors.
    """
    made = float(outputs[0].numel()) if outputs else 0.0
    largest_input = max([float(t.numel()) for t in inputs], default=made)
    if (matrix := _matrix(name, args, inputs, outputs)) is not None:
        return matrix
    if name in FILLS or name in _MOVES or name in _COPIES:
        return Cost(0.0, 0.0, "elementwise" if name in FILLS or name in _COPIES else "other")
    if name in _STATISTICS or _is_training_norm(name, args):
        return Cost(0.0, 8.0 * float(inputs[0].numel()), "reduction")
    if name in _NORM_WITHOUT_MEAN:
        return Cost(0.0, 4.0 * made, "reduction")
    if "pool" in name:
        return Cost(0.0, _pooling(name, args, float(inputs[0].numel()), made), "other")
    if name in SCATTERS:
        return Cost(0.0, float(inputs[-1].numel()), "other")
    if _is_elementwise(name, function):
        return Cost(0.0, made * (4.0 if name in _TRANSCENDENTAL else float(_FORMULAS.get(name, 1))), "elementwise")
    if name in _REDUCTIONS or _tagged(function, "reduction"):
        return Cost(0.0, float(inputs[0].numel()), "reduction")
    return Cost(0.0, max(made, largest_input), "other")  # unknown operation: one per element


def _matrix(name: str, args: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Cost | None:
    """Return the cost of an operation that runs on the matrix unit; None for other operations."""
    made = float(outputs[0].numel()) if outputs else 0.0
    if name in _PRODUCTS:
        return Cost(2.0 * made * args[_PRODUCTS[name]].shape[-1], 0.0, "other")
    if name.startswith("conv") and name != "convolution_backward":
        x, weight = inputs[0], inputs[1]
        transposed = "transpose" in name or (name == "convolution" and bool(args[6]))
        work = 2.0 * (float(x.numel()) if transposed else made) * math.prod(weight.shape[1:])
        return Cost(work, 0.0, "other")
    if name.startswith(("scaled_dot_product", "_scaled_dot_product")):
        query, key, value = inputs[:3]
        scores = math.prod(query.shape[:-1]) * key.shape[-2]
        return Cost(2.0 * scores * (query.shape[-1] + value.shape[-1]), 8.0 * scores, "other")
    return None


def _pooling(name: str, args: Sequence[Any], read: float, made: float) -> float:
    """Return the FLOPs of pooling: one per element of each window. Adaptive windows are assumed to cover the input once.

    read, made: the numbers of elements of the input and of the result.
    """
    if "adaptive" in name:
        return read
    match = re.search(r"pool(\d)d", name)
    dimensions = int(match[1]) if match else 2
    window = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
    return made * float(math.prod(window) if len(window) == dimensions else window[0] ** dimensions)


def _is_training_norm(name: str, args: Sequence[Any]) -> bool:
    """Return whether an operation is batch_norm in training, which computes the statistics of its batch."""
    return name == "batch_norm" and bool(args[5])


def _is_elementwise(name: str, function: Any) -> bool:
    """Return whether each element of the result depends only on the operands' elements at the same place."""
    if name in _TRANSCENDENTAL or name in _FORMULAS or name in ("and", "or", "xor", "masked_fill", "fill", "zero"):
        return True
    return _tagged(function, "pointwise")


def _tagged(function: Any, tag: str) -> bool:
    """Return whether PyTorch gives an operation this tag; False if this version of PyTorch does not know the tag."""
    import torch

    return getattr(torch.Tag, tag, None) in function.tags
