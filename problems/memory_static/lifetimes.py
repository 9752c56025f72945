"""Conversion of a program of memory mapping into buffers.

Times are numbers of operations. A buffer is alive from the first operation that accesses its tensor to the last.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from corl import options
from corl.errors import InputError
from corl.problems.memory.instance import MappingInstance
from corl.problems.memory_static.instance import StaticInstance, make_instance

__all__ = ["buffers_of", "trace_buffers"]


def buffers_of(program: MappingInstance, alignment: int = 1, comment: str = "") -> StaticInstance:
    """Return the buffers that a program needs besides its weights. Raises InputError if there are none.

    The tensors of an alias group (updates in place) share a buffer. Inputs are alive from the beginning, outputs until the end.

    Args:
        program: The program.
        alignment: The alignment of all buffers.
        comment: The instance's comment.
    """
    accessed = np.unique(program.access_tensor)
    first, last = np.full(program.tensors, program.ops), np.zeros(program.tensors, np.int64)
    np.minimum.at(first, program.access_tensor, program.access_op)
    np.maximum.at(last, program.access_tensor, program.access_op)
    families: dict[int, list[int]] = {}
    for t in accessed.tolist():
        group = int(program.group[t])
        families.setdefault(t if group < 0 else program.tensors + group, []).append(t)
    rows = []
    for family in families.values():
        kinds = {program.kinds[t] for t in family}
        if "weight" in kinds:
            continue
        lower = 0 if "input" in kinds else int(first[family].min())
        upper = program.ops if "output" in kinds else int(last[family].max()) + 1
        rows.append((program.tensor_names[family[0]], lower, upper, int(program.sizes[family].max())))
    if not rows:
        raise InputError("a program without activations, inputs and outputs; accepted: one with at least one of them")
    ids, begins, ends, sizes = zip(*rows)
    return make_instance(program.name, begins, ends, sizes, ids=ids, alignment=[alignment] * len(rows), comment=comment)


def trace_buffers(
    *,
    model: str,
    batch: int = 1,
    dtype: Literal["", "float32", "float16", "bfloat16"] = "",
    tokens: int = 256,
    dimensions: str = "",
    alignment: int = 1,
) -> StaticInstance:
    """Return the buffers of a model, for `corl trace --problem memory-static`.

    All options but `alignment` are those of `corl trace` for memory mapping.
    """
    from corl.problems.memory.problem import Mapping

    given = {"model": model, "batch": batch, "dtype": dtype, "tokens": tokens, "dimensions": dimensions}
    program: MappingInstance = options.call(Mapping().tracer(), given)
    command = program.comment.replace("corl trace", "corl trace --problem memory-static")
    return buffers_of(program, alignment, command.replace("--option fast_mib=8", f"--option alignment={alignment}"))
