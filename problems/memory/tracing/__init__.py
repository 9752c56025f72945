"""Tracing of PyTorch and ONNX models to programs (formats.md, "Real programs")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corl.errors import InputError, UsageError
from corl.files.opening import reading
from corl.problems.memory.instance import Machine, MappingInstance
from corl.problems.memory.tracing.models import MODELS
from corl.problems.memory.tracing.sources import DTYPES, check_size, load

__all__ = ["trace", "trace_model", "trace_onnx"]


def trace(
    model: Any,
    inputs: Sequence[Any] = (),
    keywords: Mapping[str, Any] | None = None,
    *,
    machine: Machine | None = None,
    name: str = "",
    comment: str = "",
) -> MappingInstance:
    """Return the program of a model. Raises InputError if it cannot be traced.

    Tensors may be on the meta device: nothing is computed, and no weights are needed.

    Args:
        model: A torch.nn.Module, or a torch.export.ExportedProgram.
        inputs: Positional inputs of a module.
        keywords: Keyword inputs of a module.
        machine: The machine; None: the default one.
        name: The instance's name; "": the name of the model's class in lower case.
        comment: Free text, kept in files.
    """
    from corl.problems.memory.tracing.fusion import fuse
    from corl.problems.memory.tracing.program import program_of
    from corl.problems.memory.tracing.recording import export, record

    exported = hasattr(model, "graph_signature")
    program = model if exported else export(model, inputs, keywords)
    recording = record(program, name or ("model" if exported else type(model).__name__.lower()))
    return program_of(recording, fuse(recording), machine or Machine(), comment)


def trace_onnx(path: Path, batch: int = 1, dimensions: Mapping[str, int] | None = None) -> MappingInstance:
    """Return the program of the model in an ONNX file, on the default machine. Raises InputError, UsageError or OSError.

    Args:
        path: The file.
        batch: The size of an input's first axis if that axis is symbolic.
        dimensions: The sizes of the other symbolic axes, by name.
    """
    from corl.problems.memory.tracing.fusion import fuse
    from corl.problems.memory.tracing.onnx_graph import record_onnx
    from corl.problems.memory.tracing.program import program_of

    recording = record_onnx(path, batch, dimensions or {})
    try:
        return program_of(recording, fuse(recording), Machine())
    except InputError as error:
        raise InputError(error.reason, file=str(path), field=error.field) from None


def trace_model(
    *, model: str, batch: int = 1, dtype: DTYPES = "", tokens: int = 256, dimensions: str = "", fast_mib: float = 8.0
) -> MappingInstance:
    """Return the program of a model, for `corl trace`.

    Args:
        model: A name that sources.load accepts, or the path of an ONNX file.
        batch: The batch size.
        dtype: The type of numbers; "": bfloat16, but a user's function and an ONNX file keep their own types.
        tokens: The number of tokens of inputs of transformers' architectures.
        dimensions: Sizes of symbolic dimensions of an ONNX file, as in "height=224,width=224".
        fast_mib: MiB of fast memory.
    """
    from corl.problems.memory.generators import machine_with

    if model.endswith(".onnx"):
        return _of_file(model, batch, dtype, dimensions, fast_mib)
    if dimensions:
        raise UsageError("dimensions: accepted: with an ONNX file")
    source = load(model, batch, dtype, tokens)
    words = ["corl trace", model, f"--batch {batch}", *([f"--dtype {dtype}"] if dtype else []), f"--option fast_mib={fast_mib:g}"]
    words += [] if model in MODELS or ":" in model else [f"--option tokens={tokens}"]
    machine = machine_with(fast_mib)
    return trace(source.model, source.inputs, source.keywords, machine=machine, name=source.name, comment=" ".join(words))


def _of_file(model: str, batch: int, dtype: str, dimensions: str, fast_mib: float) -> MappingInstance:
    """Return the program of an ONNX file, for `corl trace`."""
    from corl.problems.memory.generators import machine_with

    if dtype:
        raise UsageError("dtype: an ONNX file fixes its types; accepted: nothing")
    check_size("batch", batch)
    path, sizes = Path(model), dict[str, int]()
    for pair in filter(None, dimensions.split(",")):
        name, _, size = pair.rpartition("=")
        if not name or not size.strip().isdecimal():
            raise UsageError(f"dimensions: {pair!r} is not accepted; accepted: NAME=SIZE,...")
        check_size("dimensions", int(size))
        sizes[name.strip()] = int(size)
    with reading(path):
        made = trace_onnx(path, batch, sizes)
    words = ["corl trace", path.name, f"--batch {batch}", *([f"--option dimensions={dimensions}"] if dimensions else [])]
    comment = " ".join([*words, f"--option fast_mib={fast_mib:g}"])
    return replace(made.with_machine(machine_with(fast_mib)), comment=comment)
