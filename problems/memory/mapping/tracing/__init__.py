"""PyTorch models as programs: `trace` for memory mapping, `lifetimes` for static allocation (README.md, "Real programs")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corl.problems.memory.mapping.instance import Machine, MappingInstance
from corl.problems.memory.mapping.tracing.models import MODELS
from corl.problems.memory.mapping.tracing.sources import DTYPES, load
from corl.problems.memory.static.instance import StaticInstance

__all__ = ["lifetimes", "trace", "trace_buffers", "trace_model"]


def trace(
    model: Any,
    inputs: Sequence[Any] = (),
    keywords: Mapping[str, Any] | None = None,
    *,
    machine: Machine | None = None,
    name: str = "",
    comment: str = "",
) -> MappingInstance:
    """The program of a torch.nn.Module called with these inputs and keywords, or of a torch.export.ExportedProgram.

    Tensors may be on the meta device: nothing is computed, no weights are needed. Raises InputError where it cannot be traced.
    """
    from corl.problems.memory.mapping.tracing.fusion import fuse
    from corl.problems.memory.mapping.tracing.program import program_of

    recording = _recording(model, inputs, keywords, name)
    return program_of(recording, fuse(recording), machine or Machine(), comment)


def lifetimes(
    model: Any,
    inputs: Sequence[Any] = (),
    keywords: Mapping[str, Any] | None = None,
    *,
    alignment: int = 1,
    name: str = "",
    comment: str = "",
) -> StaticInstance:
    """The buffers of the same program with their lifetimes. Raises InputError where it cannot be traced."""
    from corl.problems.memory.mapping.tracing.fusion import fuse
    from corl.problems.memory.mapping.tracing.program import buffers_of

    recording = _recording(model, inputs, keywords, name)
    return buffers_of(recording, fuse(recording), alignment, comment)


def _recording(model: Any, inputs: Sequence[Any], keywords: Mapping[str, Any] | None, name: str) -> Any:
    from corl.problems.memory.mapping.tracing.recording import export, record

    exported = hasattr(model, "graph_signature")
    program = model if exported else export(model, inputs, keywords)
    return record(program, name or ("model" if exported else type(model).__name__.lower()))


def trace_model(*, model: str, batch: int = 1, dtype: DTYPES = "", tokens: int = 256, fast_mib: float = 8.0) -> MappingInstance:
    """The program of a model that sources.load knows; `tokens`: of transformers' architectures. For `corl trace`."""
    from corl.problems.memory.mapping.generators import machine_with

    source = load(model, batch, dtype, tokens)
    comment = _comment(model, batch, dtype, tokens, fast_mib=fast_mib)
    machine = machine_with(fast_mib)
    return trace(source.model, source.inputs, source.keywords, machine=machine, name=source.name, comment=comment)


def trace_buffers(*, model: str, batch: int = 1, dtype: DTYPES = "", tokens: int = 256, alignment: int = 1) -> StaticInstance:
    """The buffers of a model that sources.load knows. For `corl trace --problem memory-static`."""
    source = load(model, batch, dtype, tokens)
    comment = _comment(model, batch, dtype, tokens, alignment=alignment)
    return lifetimes(source.model, source.inputs, source.keywords, alignment=alignment, name=source.name, comment=comment)


def _comment(model: str, batch: int, dtype: str, tokens: int, **options: float) -> str:
    """The command that makes an instance; of `tokens` where it is no model of ours."""
    words = ["corl trace", *(["--problem memory-static"] if "alignment" in options else []), model, f"--batch {batch}"]
    words += [f"--dtype {dtype}"] if dtype else []
    given = options if model in MODELS or ":" in model else options | {"tokens": tokens}
    return " ".join(words + [f"--option {key}={value:g}" for key, value in given.items()])
