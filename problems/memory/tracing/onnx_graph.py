"""Recording of an ONNX model as steps: its nodes run as ATen operations on meta tensors, which the Recorder records.

A value is called known if it follows from the file alone, as shapes, indices and constants do. Only known values are computed, on
the CPU. Of weights only the shapes are needed, so a model can be read without its external data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from corl.errors import CorlError, InputError, UsageError, described
from corl.files.text import quoted
from corl.problems.memory.tracing.onnx_operators import OPERATORS
from corl.problems.memory.tracing.recording import Recorder
from corl.problems.memory.tracing.steps import Recording

__all__ = ["Call", "record_onnx"]

_MAX_LOADED = 2**16
"""The largest number of elements of an integer initializer whose values are loaded, because they may be shapes or indices."""
_ACCEPTED = "accepted: an ONNX model with operators of ai.onnx, without loops"


def record_onnx(path: Path, batch: int, dimensions: Mapping[str, int]) -> Recording:
    """Return the steps of the model in a file. Raises InputError, UsageError or OSError.

    Args:
        path: The file.
        batch: The size of an input's first dimension if it is symbolic and not in `dimensions`.
        dimensions: Sizes of symbolic dimensions by name.
    """
    model = _loaded(path)
    recorder = Recorder()
    runner = _Runner(model, path, recorder)
    name = f"{path.stem}-b{batch}" if runner.begin(batch, dimensions) else path.stem
    with torch.no_grad():
        results = runner.run(model.graph)
    return recorder.finish(name, results)


def _loaded(path: Path) -> Any:
    """Return the model in a file, with the model's local functions inlined. Raises InputError or OSError."""
    try:
        import onnx
    except ImportError as error:
        raise InputError("ONNX files need the package onnx: in a checkout pip install '.[trace]'", file=str(path)) from error
    try:
        model = onnx.load(str(path), load_external_data=False)
        if model.functions:
            from onnx.inliner import inline_local_functions

            model = inline_local_functions(model)
    except OSError:
        raise
    except Exception as error:
        raise InputError(f"no ONNX file ({_line(error)}); {_ACCEPTED}", file=str(path)) from error
    if not model.graph.node or not model.opset_import:
        raise InputError(f"no ONNX file, or one without nodes; {_ACCEPTED}", file=str(path))
    return model


def _is_known(value: Any) -> bool:
    """Return whether a value is known before the program runs: only such tensors are on the CPU."""
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _line(error: BaseException) -> str:
    """Return an error's description as one short line."""
    return " ".join(described(error).split())[:300]


class Call:
    """A node with its inputs, as the functions in onnx_operators.py take it.

    `tensor` and `sequence` return inputs on the CPU if all inputs are known, otherwise on the meta device.
    """

    def __init__(self, runner: _Runner, node: Any, values: Sequence[Any]) -> None:
        from onnx.helper import get_attribute_value

        self._runner, self._values = runner, list(values)
        self.kind, self.inputs, self.outputs = str(node.op_type), len(node.input), sum(map(bool, node.output))
        self.opset = runner.opset
        self._place = node.name or f"{node.op_type} of {node.output[0]}"
        self._attributes = {each.name: get_attribute_value(each) for each in node.attribute}
        parts = [part for value in self._values for part in (value if isinstance(value, list) else [value])]
        self.all_known = all(part is None or part.device.type == "cpu" for part in parts)

    def error(self, message: str) -> InputError:
        """Return an InputError that names this node."""
        return InputError(message, file=str(self._runner.file), field=f"{self.kind} {quoted(self._place)}")

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute: a number, a list of numbers, or text."""
        value = self._attributes.get(name, default)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def is_missing(self, k: int) -> bool:
        """Return whether the optional k-th input is omitted."""
        return k >= len(self._values) or self._values[k] is None

    def is_known(self, k: int) -> bool:
        """Return whether the value of the k-th input is known before the program runs."""
        return not self.is_missing(k) and _is_known(self._values[k])

    def shape(self, k: int) -> tuple[int, ...]:
        """Return the shape of the k-th input."""
        return tuple(self._given(k).shape)

    def dtype_of(self, k: int) -> torch.dtype:
        """Return the type of the k-th input."""
        found: torch.dtype = self._given(k).dtype
        return found

    def dtype(self, code: int) -> torch.dtype:
        """Return the PyTorch type for a type code of ONNX."""
        return self._runner.dtype(code)

    def tensor(self, k: int) -> Any:
        """Return the k-th input as an operand."""
        return self._as_operand(self._given(k))

    def sequence(self, k: int) -> list[Any]:
        """Return the tensors of the k-th input, a sequence, as operands."""
        return [self._as_operand(part) for part in self._values[k]]

    def _as_operand(self, value: Any) -> Any:
        """Return a tensor on the device on which this node's operation runs: CPU if all inputs are known, otherwise meta."""
        return value if self.all_known or not _is_known(value) else self._runner.on_meta(value)

    def numbers(self, k: int) -> list[float]:
        """Return the values of the k-th input, on which shapes depend. Raises InputError if they are not known."""
        value = self._given(k)
        if not _is_known(value):
            raise self.error(f"input {k + 1} depends on data; accepted: shapes, axes and sizes that are known beforehand")
        found: list[float] = value.flatten().tolist()
        return found

    def integers(self, k: int) -> list[int]:
        """Return the values of the k-th input as integers. Raises InputError if they are not known."""
        return [int(value) for value in self.numbers(k)]

    def scalar(self, k: int) -> float:
        """Return the only value of the k-th input. Raises InputError if it is not known."""
        (value,) = self.numbers(k)
        return value

    def array(self, value: Any) -> Any:
        """Return the values of a TensorProto, an attribute of the node, as a tensor on the CPU."""
        return self._runner.values_of(value)

    def run(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the result of a function, and record its operations unless all inputs are known."""
        if self.all_known:
            return function(*args, **kwargs)
        if isinstance(function, torch._ops.OpOverload):
            return self._runner.recorder.call(function, args, kwargs)
        with self._runner.recorder.recording():
            return function(*args, **kwargs)

    def stand_in(self, tensor: Any, shape: Sequence[int]) -> Any:
        """Return a tensor of another shape that replaces `tensor`; operations that read it count as reading `tensor`."""
        made = torch.empty(list(shape), dtype=tensor.dtype, device=tensor.device)
        if not self.all_known:
            self._runner.recorder.stand_in(made, tensor)
        return made

    def _given(self, k: int) -> Any:
        """Return the k-th input. Raises InputError if it is omitted or a sequence."""
        if self.is_missing(k) or isinstance(self._values[k], list):
            raise self.error(f"input {k + 1} is {'missing' if self.is_missing(k) else 'a sequence'}; accepted: a tensor")
        return self._values[k]


class _Runner:
    """A run of a model: the values computed so far, by name; None for an omitted optional input, a list for a sequence."""

    def __init__(self, model: Any, file: Path, recorder: Recorder) -> None:
        self.model, self.file, self.recorder = model, file, recorder
        self.opset = max((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), default=1)
        self._values: dict[str, Any] = {"": None}
        self._meta: dict[tuple[Any, ...], Any] = {}  # address, shape, strides and type of a known value -> meta tensor
        self._names: dict[int, str] = {}  # address of a known initializer -> its name

    # ---------------------------------------------------------------- before the run
    def begin(self, batch: int, dimensions: Mapping[str, int]) -> bool:
        """Add the model's initializers and inputs; return whether `batch` is the size of a dimension.

        Raises InputError for inputs of unknown size, UsageError if `dimensions` has a name that is no symbolic dimension.
        """
        self._add_initializers(self.model.graph)
        unused, batched = set(dimensions), False
        for value in self.model.graph.input:
            if value.name in self._values:
                continue
            kind = value.type.tensor_type
            if value.type.WhichOneof("value") != "tensor_type" or not kind.HasField("shape"):
                raise InputError("accepted: tensors with a shape", file=str(self.file), field=f"input {quoted(value.name)}")
            sizes = []
            for axis, dimension in enumerate(kind.shape.dim):
                name = dimension.dim_param or f"{value.name}.{axis}"
                given = dimension.dim_value if dimension.HasField("dim_value") else dimensions.get(name)
                unused.discard(name)
                if given is None and axis:
                    message = f"dimension {axis} is symbolic; accepted: its size, as --option dimensions={name}=128"
                    raise InputError(message, file=str(self.file), field=f"input {quoted(value.name)}")
                batched |= given is None
                sizes.append(batch if given is None else given)
            tensor = torch.empty(sizes, dtype=self.dtype(kind.elem_type), device="meta")
            self._begin(value.name, tensor, "input")
        if unused:
            raise UsageError(f"dimensions: no dimension is called {quoted(min(unused))}; accepted: names of symbolic dimensions")
        return batched

    def _add_initializers(self, graph: Any) -> None:
        """Add a graph's initializers: small integer tensors and scalars as known values, others as weights."""
        for each in graph.initializer:
            count = torch.Size(each.dims).numel()
            kind = self.dtype(each.data_type)
            load = count <= (_MAX_LOADED if kind in (torch.int32, torch.int64, torch.bool) else 1)
            if load and (found := self._values_if_present(each)) is not None:
                self._values[each.name] = found
                self._names[found.data_ptr()] = each.name
            else:
                self._begin(each.name, torch.empty(list(each.dims), dtype=kind, device="meta"), "weight")

    def _values_if_present(self, tensor: Any) -> Any:
        """Return the values of a TensorProto on the CPU; None if they are in an external file that is missing."""
        from onnx.checker import ValidationError

        try:
            return self.values_of(tensor)
        except (OSError, ValidationError):
            return None

    def _begin(self, name: str, tensor: Any, kind: str) -> None:
        """Add an input or a weight, which the program reads from memory."""
        self._values[name] = tensor
        self.recorder.begin(tensor, name, kind, False)

    def values_of(self, tensor: Any) -> Any:
        """Return the values of a TensorProto as a tensor on the CPU.

        Raises OSError or onnx's ValidationError if they are in an external file that is missing.
        """
        from onnx import numpy_helper

        array = numpy_helper.to_array(tensor, base_dir=str(self.file.parent))
        dtype = self.dtype(tensor.data_type)
        plain = array.astype("float32") if array.dtype.kind not in "biuf" else array.copy()
        return torch.from_numpy(plain).reshape(list(tensor.dims)).to(dtype)

    def dtype(self, code: int) -> torch.dtype:
        """Return the PyTorch type for a type code of ONNX."""
        from onnx import TensorProto

        name = TensorProto.DataType.Name(code).lower() if code in TensorProto.DataType.values() else str(code)
        found = getattr(torch, {"float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn"}.get(name, name), None)
        if not isinstance(found, torch.dtype):
            raise InputError(f"tensors of type {name} are not supported; accepted: numbers and truth values", file=str(self.file))
        return found

    def on_meta(self, value: Any) -> Any:
        """Return a known value as a constant of the program; if all elements are equal, its readers generate it."""
        key = value.data_ptr(), tuple(value.shape), value.stride(), value.dtype
        if key not in self._meta:
            made = torch.empty(value.shape, dtype=value.dtype, device="meta")
            equal = all(size == 1 or stride == 0 for size, stride in zip(value.shape, value.stride()))
            self.recorder.begin(made, self._names.get(value.data_ptr(), "constant"), "weight", True, generated=equal)
            self._meta[key] = made, value  # `value` is kept so that its address is not reused
        return self._meta[key][0]

    # ---------------------------------------------------------------- the run
    def run(self, graph: Any) -> list[Any]:
        """Run the nodes of a graph; return its outputs, for the main graph on the meta device."""
        for node in graph.node:
            if node.domain not in ("", "ai.onnx"):
                message = f"operators of domain {quoted(node.domain)} are not known; {_ACCEPTED}"
                raise InputError(message, file=str(self.file), field=f"{node.op_type} {quoted(node.name)}")
            if missing := [name for name in node.input if name not in self._values]:
                raise InputError(f"there is no value {quoted(missing[0])}; {_ACCEPTED}", file=str(self.file), field=node.op_type)
            call = Call(self, node, [self._values[name] for name in node.input])
            results = self._branch(node, call) if node.op_type == "If" else self._results(node, call)
            self._values.update((name, value) for name, value in zip(node.output, results) if name)
        outputs = [self._values[value.name] for value in graph.output]
        return outputs if graph is not self.model.graph else [self._output(value) for value in outputs]

    def _output(self, value: Any) -> Any:
        """Return an output of the model on the meta device. Raises InputError for a sequence."""
        if isinstance(value, list):
            raise InputError("a sequence; accepted: tensors", file=str(self.file), field="output")
        return self.on_meta(value) if _is_known(value) else value

    def _branch(self, node: Any, call: Call) -> list[Any]:
        """Return the results of the branch of an If node that its known condition selects. Raises InputError otherwise."""
        if not call.is_known(0):
            raise call.error(f"a condition that depends on data; {_ACCEPTED}")
        graph = call.attribute("then_branch" if call.scalar(0) else "else_branch", None)
        self._add_initializers(graph)
        return self.run(graph)

    def _results(self, node: Any, call: Call) -> Sequence[Any]:
        """Return the results of a node. Raises InputError if its operator is not supported or fails."""
        operator = OPERATORS.get(node.op_type)
        if operator is None:
            raise call.error(f"this operator is not supported; {_ACCEPTED}")
        self.recorder.at = node.name or node.op_type
        before = len(self.recorder.versions)
        try:
            made = operator(call)
        except CorlError:
            raise
        except Exception as error:  # PyTorch raises various kinds for invalid arguments
            raise call.error(f"cannot be run on meta tensors ({_line(error)}); accepted: inputs that fit the operator") from error
        results = made if isinstance(made, tuple) else (made,)
        for name, value in zip(node.output, results):
            if name and isinstance(value, torch.Tensor) and not _is_known(value):
                self.recorder.name(value, name, before)
        return results
