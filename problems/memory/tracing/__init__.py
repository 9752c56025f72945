"""PyTorch models as programs (formats.md, "Real programs")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corl.problems.memory.instance import Machine, MappingInstance
from corl.problems.memory.tracing.models import MODELS
from corl.problems.memory.tracing.sources import DTYPES, load

__all__ = ["trace", "trace_model"]


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
    from corl.problems.memory.tracing.fusion import fuse
    from corl.problems.memory.tracing.program import program_of
    from corl.problems.memory.tracing.recording import export, record

    exported = hasattr(model, "graph_signature")
    program = model if exported else export(model, inputs, keywords)
    recording = record(program, name or ("model" if exported else type(model).__name__.lower()))
    return program_of(recording, fuse(recording), machine or Machine(), comment)


def trace_model(*, model: str, batch: int = 1, dtype: DTYPES = "", tokens: int = 256, fast_mib: float = 8.0) -> MappingInstance:
    """The program of a model that sources.load knows; `tokens`: of transformers' architectures. For `corl trace`."""
    from corl.problems.memory.generators import machine_with

    source = load(model, batch, dtype, tokens)
    words = ["corl trace", model, f"--batch {batch}", *([f"--dtype {dtype}"] if dtype else []), f"--option fast_mib={fast_mib:g}"]
    words += [] if model in MODELS or ":" in model else [f"--option tokens={tokens}"]
    machine = machine_with(fast_mib)
    return trace(source.model, source.inputs, source.keywords, machine=machine, name=source.name, comment=" ".join(words))
