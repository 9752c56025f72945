"""Snapshots: the nested state of a training run (networks, optimisers, random generators) in one safetensors file, bit by bit.

Tensors and arrays are tensors of the file; everything else is a JSON text in the file's metadata. Nothing is pickled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from corl.errors import InputError
from corl.files.opening import reading, replacing

__all__ = ["path_of", "read", "write"]

_FORMAT = 1
_SIGNED = {np.dtype(f"u{n}"): np.dtype(f"i{n}") for n in (2, 4, 8)}  # older versions of torch have no such unsigned types


def path_of(output: Path) -> Path:
    """Return the path of the snapshot of a run with this output."""
    return output.with_name(f"{output.stem}.snapshot.safetensors")


def write(path: Path, state: Any) -> None:
    """Write `state`: nested dicts, lists, tuples, None, bools, ints, floats, texts, tensors and NumPy arrays.

    The file is written as a whole or not at all. Raises TypeError if the state holds a value of another type.
    """
    from safetensors.torch import save

    tensors: dict[str, Any] = {}
    tree = _encode(state, tensors)
    with replacing(path) as partial:
        partial.write_bytes(save(tensors, {"corl snapshot": json.dumps({"format": _FORMAT, "state": tree})}))


def read(path: Path) -> Any:
    """Return the state that `write` wrote, with tensors on the CPU. Raises InputError if the file is damaged or no snapshot."""
    from safetensors import SafetensorError, safe_open

    try:
        with reading(path), safe_open(path, framework="pt") as file:
            document = json.loads((file.metadata() or {}).get("corl snapshot", "null"))
            if not isinstance(document, dict) or document.get("format") != _FORMAT:
                raise InputError("not a snapshot of a training run that this corl can read", file=str(path))
            return _decode(document["state"], {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"damaged, or no snapshot of a training run ({error})", file=str(path)) from error


def _encode(value: Any, tensors: dict[str, Any]) -> Any:
    """Return a value as JSON; tensors and arrays are added to `tensors` and replaced by their names there."""
    import torch

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {"dict": [[_encode(key, tensors), _encode(item, tensors)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, tensors) for item in value]}
    if isinstance(value, list):
        return [_encode(item, tensors) for item in value]
    name = str(len(tensors))
    if isinstance(value, torch.Tensor):
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        array = np.ascontiguousarray(value).reshape(value.shape)
        tensors[name] = torch.from_numpy(array.view(_SIGNED.get(array.dtype, array.dtype)).copy())
        return {"array": name, "dtype": array.dtype.str}
    raise TypeError(f"a {type(value).__name__} cannot be kept in a snapshot")


def _decode(tree: Any, tensors: dict[str, Any]) -> Any:
    """Return the value that `_encode` was given."""
    if isinstance(tree, list):
        return [_decode(item, tensors) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "dict" in tree:
        return {_decode(key, tensors): _decode(item, tensors) for key, item in tree["dict"]}
    if "tuple" in tree:
        return tuple(_decode(item, tensors) for item in tree["tuple"])
    if "tensor" in tree:
        return tensors[tree["tensor"]]
    return tensors[tree["array"]].numpy().view(tree["dtype"])
