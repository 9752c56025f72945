"""The tensors that a call of a PyTorch operation reads and changes, and their views of storages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corl.problems.memory.tracing import costs
from corl.problems.memory.tracing.steps import View

__all__ = ["bytes_of", "inputs_of", "is_itself", "layout_changes", "tensors_of", "view_of"]


def tensors_of(value: Any) -> list[Any]:
    """Return the tensors in a nested structure."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def inputs_of(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the tensors that an operation reads, and the tensors that it changes in place."""
    read, changed = [], []
    for k, argument in enumerate(function._schema.arguments):
        value = args[k] if k < len(args) else kwargs.get(argument.name)
        tensors = tensors_of(value)
        written = argument.alias_info is not None and argument.alias_info.is_write
        changed += tensors if written else []
        read += [] if written and argument.kwarg_only else tensors  # the argument `out=` is written without being read
    return read, changed


def bytes_of(tensor: Any) -> int:
    """Return the bytes of the elements in a view, each counted once."""
    return view_of(tensor).elements * int(tensor.element_size())


def view_of(tensor: Any) -> View:
    """Return which elements of its storage a tensor refers to."""
    return View(int(tensor.storage_offset()), tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride())))


def is_itself(name: str, inputs: list[Any]) -> bool:
    """Return whether an operation copies a tensor onto itself.

    Exported graphs end an update of a module's attribute in this way; nothing is moved.
    """
    target, source = inputs[0], inputs[-1]
    same_storage = target.untyped_storage()._cdata == source.untyped_storage()._cdata
    return name == "copy" and same_storage and view_of(target) == view_of(source)


def layout_changes(name: str, inputs: list[Any], made: list[Any]) -> bool:
    """Return whether an operation is a copy that reorders or repeats the elements of its source."""
    if not costs.is_copy(name) or not inputs:
        return False
    source, target = inputs[-1], made[0]
    return tuple(source.shape) != tuple(target.shape) or view_of(source).packed != view_of(target).packed
