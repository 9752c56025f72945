"""ONNX operators as ATen operations of PyTorch, from which views, copies, costs and fusion follow.

Each function takes a Call, a node of the model (onnx_graph.py), runs it as ATen operations, and returns its result or a tuple of
its results. Inputs that determine shapes (axes, sizes, pads) must be known before the program runs. The operators are those of
opset 23; older forms, in which some of today's inputs are attributes, are accepted too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from corl.problems.memory.tracing.onnx_layers import LAYERS
from corl.problems.memory.tracing.onnx_moves import MOVES

if TYPE_CHECKING:
    from corl.problems.memory.tracing.onnx_graph import Call

__all__ = ["OPERATORS"]

aten = torch.ops.aten
_Operator = Callable[["Call"], Any]


def _named(text: str) -> dict[str, str]:
    """Return ONNX name -> ATen name: {"Abs": "abs", "Not": "logical_not"} for "Abs Not=logical_not"."""
    pairs = (word.partition("=")[::2] for word in text.split())
    return {onnx: name or onnx.lower() for onnx, name in pairs}


_UNARY = _named(
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot=bitwise_not Ceil Cos Cosh Erf Exp Floor HardSigmoid HardSwish IsInf IsNaN "
    "Log Mish Neg Not=logical_not Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Sqrt Swish=silu Tan Tanh"
)
_BINARY = _named(
    "Add And=logical_and Or=logical_or Xor=logical_xor BitwiseAnd=bitwise_and BitwiseOr=bitwise_or BitwiseXor=bitwise_xor "
    "Equal=eq Greater=gt GreaterOrEqual=ge Less=lt LessOrEqual=le Mul Pow Sub"
)


def _unary(name: str) -> _Operator:
    """Return the operator with one input that runs the ATen operation `name`."""
    return lambda call: call.run(getattr(aten, name).default, call.tensor(0))


def _binary(name: str) -> _Operator:
    """Return the operator with two inputs that runs the ATen operation `name`, in its first overload for tensors."""
    packet = getattr(aten, name)
    function = next(getattr(packet, form) for form in ("Tensor", "Tensor_Tensor", "default") if form in packet.overloads())
    return lambda call: call.run(function, call.tensor(0), call.tensor(1))


def _many(function: Any) -> _Operator:
    """Return the operator of any number of inputs that combines them from left to right by a function of two."""

    def operator(call: Call) -> Any:
        result = call.tensor(0)
        for k in range(1, call.inputs):
            result = call.run(function, result, call.tensor(k))
        return result

    return operator


# -------------------------------------------------------------------- elementwise
def _div(call: Call) -> Any:
    a, b = call.tensor(0), call.tensor(1)
    if a.is_floating_point():
        return call.run(aten.div.Tensor, a, b)
    return call.run(aten.div.Tensor_mode, a, b, rounding_mode="trunc")


def _mean(call: Call) -> Any:
    return call.run(aten.div.Scalar, _many(aten.add.Tensor)(call), call.inputs)


def _mod(call: Call) -> Any:
    return call.run(aten.fmod.Tensor if call.attribute("fmod", 0) else aten.remainder.Tensor, call.tensor(0), call.tensor(1))


def _where(call: Call) -> Any:
    return call.run(aten.where.self, call.tensor(0), call.tensor(1), call.tensor(2))


def _clip(call: Call) -> Any:
    bounds = [call.attribute(key, None) if call.is_missing(k) else call.scalar(k) for k, key in ((1, "min"), (2, "max"))]
    return call.tensor(0) if bounds == [None, None] else call.run(aten.clamp.default, call.tensor(0), *bounds)


def _prelu(call: Call) -> Any:
    x = call.tensor(0)
    negative = call.run(aten.mul.Tensor, x, call.tensor(1))
    return call.run(aten.where.self, call.run(aten.lt.Scalar, x, 0), negative, x)


def _softsign(call: Call) -> Any:
    x = call.tensor(0)
    return call.run(aten.div.Tensor, x, call.run(aten.add.Scalar, call.run(aten.abs.default, x), 1))


def _with_attributes(name: str, *attributes: tuple[str, float]) -> _Operator:
    """Return the operator with one input whose attributes, given with their defaults, are the arguments of an ATen operation."""
    function = getattr(aten, name).default
    return lambda call: call.run(function, call.tensor(0), *(call.attribute(key, value) for key, value in attributes))


def _gelu(call: Call) -> Any:
    return call.run(aten.gelu.default, call.tensor(0), approximate=call.attribute("approximate", "none"))


def _cast(call: Call) -> Any:
    x = call.tensor(0)
    dtype = call.dtype(call.attribute("to", 1)) if call.kind == "Cast" else call.dtype_of(1)
    return x if x.dtype == dtype else call.run(aten._to_copy.default, x, dtype=dtype)


def _quantize(call: Call) -> Any:
    x, scale = call.tensor(0), _along_axis(call, call.tensor(1))
    dtype = torch.uint8 if call.is_missing(2) else call.dtype_of(2)
    scaled = call.run(aten.round.default, call.run(aten.div.Tensor, x, scale))
    if not call.is_missing(2):
        scaled = call.run(aten.add.Tensor, scaled, _along_axis(call, call.tensor(2)))
    return call.run(aten._to_copy.default, scaled, dtype=dtype)


def _dequantize(call: Call) -> Any:
    scale = _along_axis(call, call.tensor(1))
    x = call.run(aten._to_copy.default, call.tensor(0), dtype=scale.dtype)
    x = x if call.is_missing(2) else call.run(aten.sub.Tensor, x, _along_axis(call, call.tensor(2)))
    return call.run(aten.mul.Tensor, x, scale)


def _along_axis(call: Call, scale: Any) -> Any:
    """Return scales, one for each entry of the node's axis, in a shape that broadcasts with the first input."""
    if call.attribute("block_size", 0):
        raise call.error("block_size is not supported; accepted: one scale, or one for each entry of an axis")
    x, axis = call.tensor(0), call.attribute("axis", 1)
    return scale if scale.dim() != 1 else call.run(aten.reshape.default, scale, [-1] + [1] * (x.dim() - 1 - axis % x.dim()))


# -------------------------------------------------------------------- reductions
def _axes(call: Call) -> list[int]:
    """Return the axes of a reduction; all axes if the node names none."""
    given = call.attribute("axes", None) if call.is_missing(1) else call.integers(1)
    return list(range(call.tensor(0).dim())) if not given else list(given)


def _reduce(function: Any, before: Any = None, after: Any = None, *, norm: float | None = None) -> _Operator:
    """Return a reduction operator.

    Args:
        function: The ATen reduction.
        before: A function of two tensors, run on (input, input) before the reduction, or None.
        after: A function of one tensor, run on the reduction's result, or None.
        norm: The order of a norm, an argument of `function`; None: no norm.
    """

    def operator(call: Call) -> Any:
        if not call.is_missing(1) and not call.integers(1) and call.attribute("noop_with_empty_axes", 0):
            return call.tensor(0)
        x, axes, keep = call.tensor(0), _axes(call), bool(call.attribute("keepdims", 1))
        x = call.run(before, x, x) if before else x
        x = call.run(function, x, axes, keep) if norm is None else call.run(function, x, norm, axes, keep)
        return call.run(after, x) if after else x

    return operator


def _prod(call: Call) -> Any:
    """Run a product over axes, one after the other, since PyTorch's product reduces one axis."""
    x, keep = call.tensor(0), bool(call.attribute("keepdims", 1))
    for axis in sorted((a % x.dim() for a in _axes(call)), reverse=True):
        x = call.run(aten.prod.dim_int, x, axis, keep)
    return x


def _arg(function: Any) -> _Operator:
    return lambda call: call.run(function, call.tensor(0), call.attribute("axis", 0), bool(call.attribute("keepdims", 1)))


def _topk(call: Call) -> Any:
    count = call.attribute("k", 1) if call.is_missing(1) else call.scalar(1)
    order = [bool(call.attribute(key, 1)) for key in ("largest", "sorted")]
    return tuple(call.run(aten.topk.default, call.tensor(0), int(count), call.attribute("axis", -1), *order))


# -------------------------------------------------------------------- constants
def _constant(call: Call) -> Any:
    for key in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        if (value := call.attribute(key, None)) is not None:
            dtype = torch.int64 if "int" in key else torch.float32
            return call.array(value) if key == "value" else torch.tensor(value, dtype=dtype)
    raise call.error("a constant without a number; accepted: value, value_int(s), value_float(s)")


def _constant_of_shape(call: Call) -> Any:
    value = call.attribute("value", None)
    element = torch.zeros(1) if value is None else call.array(value)
    return element.expand(tuple(call.integers(0))) if len(call.integers(0)) else element.reshape(())


def _range(call: Call) -> Any:
    return torch.arange(*(call.scalar(k) for k in range(3)), dtype=call.dtype_of(0))


def _shape(call: Call) -> Any:
    shape = call.shape(0)
    return torch.tensor(shape[call.attribute("start", 0) : call.attribute("end", None)], dtype=torch.int64)


def _size(call: Call) -> Any:
    return torch.tensor(math.prod(call.shape(0)))


def _non_zero(call: Call) -> Any:
    if not call.is_known(0):
        raise call.error("the result's shape depends on data; accepted: shapes known beforehand")
    return torch.nonzero(call.tensor(0)).T.contiguous()


def _trilu(call: Call) -> Any:
    function = aten.triu.default if call.attribute("upper", 1) else aten.tril.default
    return call.run(function, call.tensor(0), 0 if call.is_missing(1) else int(call.scalar(1)))


def _cumsum(call: Call) -> Any:
    if call.attribute("exclusive", 0) or call.attribute("reverse", 0):
        raise call.error("exclusive and reverse are not supported; accepted: plain sums")
    return call.run(aten.cumsum.default, call.tensor(0), int(call.scalar(1)))


def _identity(call: Call) -> Any:
    return call.tensor(0)


def _dropout(call: Call) -> Any:
    x = call.tensor(0)
    return (x, torch.ones(1, dtype=torch.bool).expand(x.shape)) if call.outputs > 1 else x


_REDUCTIONS: dict[str, _Operator] = {
    "ReduceL1": _reduce(aten.norm.ScalarOpt_dim, norm=1.0),
    "ReduceL2": _reduce(aten.norm.ScalarOpt_dim, norm=2.0),
    "ReduceLogSum": _reduce(aten.sum.dim_IntList, after=aten.log.default),
    "ReduceLogSumExp": _reduce(aten.logsumexp.default),
    "ReduceMax": _reduce(aten.amax.default),
    "ReduceMean": _reduce(aten.mean.dim),
    "ReduceMin": _reduce(aten.amin.default),
    "ReduceProd": _prod,
    "ReduceSum": _reduce(aten.sum.dim_IntList),
    "ReduceSumSquare": _reduce(aten.sum.dim_IntList, before=aten.mul.Tensor),
}

OPERATORS: dict[str, _Operator] = {
    **{onnx: _unary(name) for onnx, name in _UNARY.items()},
    **{onnx: _binary(name) for onnx, name in _BINARY.items()},
    **_REDUCTIONS,
    **LAYERS,
    **MOVES,
    "ArgMax": _arg(aten.argmax.default), "ArgMin": _arg(aten.argmin.default), "Cast": _cast, "CastLike": _cast,
    "Celu": _with_attributes("celu", ("alpha", 1.0)), "Clip": _clip, "Constant": _constant, "ConstantOfShape": _constant_of_shape,
    "CumSum": _cumsum, "DequantizeLinear": _dequantize, "Div": _div, "Dropout": _dropout, "Elu": _with_attributes("elu", ("alpha",
    1.0)), "Gelu": _gelu, "Identity": _identity, "LeakyRelu": _with_attributes("leaky_relu", ("alpha", 0.01)), "Max":
    _many(aten.maximum.default), "Mean": _mean, "Min": _many(aten.minimum.default), "Mod": _mod, "NonZero": _non_zero, "PRelu":
    _prelu, "QuantizeLinear": _quantize, "Range": _range, "Shape": _shape, "Size": _size, "Softsign": _softsign, "Sum":
    _many(aten.add.Tensor), "ThresholdedRelu": lambda call: call.run(aten.threshold.default, call.tensor(0),
    call.attribute("alpha", 1.0), 0), "TopK": _topk, "Trilu": _trilu, "Where": _where,
}  # fmt: skip
"""ONNX operator -> function that runs it as ATen operations."""
