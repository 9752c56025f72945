"""Checkpoints: a network's weights and the facts needed to rebuild the network, in a safetensors file. Nothing is ever unpickled.

The file's metadata has a header under the key "corl", a JSON text: the number of this format, the name of the architecture in
the group `corl.networks`, the keyword arguments of its class, facts about the training, the package's version, and a digest of
these entries and of the weights.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from corl import registry
from corl.deprecation import renamed
from corl.errors import CorlError, InputError, UsageError, described, unknown
from corl.files.json_values import from_json, to_json
from corl.files.opening import reading, replacing
from corl.networks.architectures import network_class
from corl.version import __version__

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["FORMAT", "load", "load_cached", "load_cached_as", "load_policy", "read_header", "save", "shipped"]

_Network = TypeVar("_Network")
FORMAT = 1
"""The number of this format; a file with a higher one is refused."""
_RENAMED = {"milp-revibranch-auctions": "milp-tree-credit-auctions"}  # old name -> name, of shipped policies
_ACCEPTED = "accepted: a checkpoint written by corl train"
_KEYS = {"format": int, "architecture": str, "config": dict, "training": dict, "package": str, "digest": str}


def save(path: Path, network: nn.Module, training: Mapping[str, Any] | None = None) -> None:
    """Write a network's weights with its `architecture`, its `config` and facts about its `training` (JSON values).

    The file is written as a whole or not at all. Raises OSError if it cannot be written.
    """
    from safetensors.torch import save

    header = {
        "format": FORMAT,
        "architecture": network.architecture,
        "config": json.loads(to_json(network.config)),
        "training": json.loads(to_json(dict(training or {}))),
        "package": __version__,
    }
    weights = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in network.state_dict().items()}
    header["digest"] = _digest(header, weights)
    with replacing(path) as partial:
        partial.write_bytes(save(weights, {"corl": json.dumps(header)}))  # save_file raises other errors than OSError


def load(path: Path) -> tuple[nn.Module, dict[str, Any]]:
    """Return the network in a checkpoint, on the CPU and in evaluation mode, and the header.

    Raises InputError, naming the file, if the file is damaged, too new or of another program, or does not fit its architecture.
    """
    from corl.networks.configurations import check_config, check_finite

    header, weights = _read(path)
    try:
        kind = network_class(header["architecture"])
        check_config(kind, header["config"], weights)
        network: Any = kind(**header["config"])
        network.load_state_dict(weights)
        check_finite(dict(network.named_buffers()))  # also those that are not in the file
    except CorlError as error:
        raise InputError(str(error), file=str(path)) from error
    except Exception as error:  # a constructor may raise anything; load_state_dict a RuntimeError of many lines
        reason = " ".join(described(error).split())
        raise InputError(f"does not fit the architecture {header['architecture']!r} ({reason})", file=str(path)) from error
    if hasattr(kind, "file"):
        network.file = str(path)
    network.eval()
    return network, header


def load_policy(name_or_path: str | os.PathLike[str], problem: str = "", instance: Any = None) -> nn.Module:
    """Return the shipped network of that name ("tsp-bq"), or the network in a checkpoint, in evaluation mode.

    Args:
        name_or_path: The name; a checkpoint file; a folder that holds one; or "hub:OWNER/NAME", which the package
            huggingface_hub finds in its cache or downloads. "hub:OWNER/NAME@REVISION" names a version.
        problem: The name of the problem that the policy must be for; "": the problem of `instance`, or any.
        instance: An Instance, or None.

    Raises:
        UsageError: An unknown name (the known names are listed), or a policy for another problem.
        InputError: A bad file.
    """
    network = load(resolve(name_or_path))[0]
    if instance is not None and not problem:
        found = registry.problem_of(instance)
        problem = "" if found is None else found.name
    if problem and (other := getattr(network, "problem", "")) not in ("", problem):
        raise UsageError(f"policy {getattr(network, 'file', '') or type(network).__name__} is for {other}, not for {problem}")
    return network


def load_cached(name_or_path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the network and header as `load` does. Further calls return the same objects while the file is unchanged.

    The caller must not change the weights.
    """
    path = resolve(name_or_path)
    return _loaded(path, path.stat().st_mtime_ns)


def load_cached_as(kind: type[_Network], name_or_path: str | os.PathLike[str]) -> _Network:
    """Return the network of `load_cached`. Raises UsageError if it is not of the class `kind`."""
    network, _ = load_cached(name_or_path)
    if not isinstance(network, kind):
        accepted = getattr(kind, "architecture", kind.__name__)
        raise UsageError(f"policy {name_or_path} is a network of architecture {network.architecture}; accepted: {accepted}")
    return network


@lru_cache(maxsize=4)
def _loaded(path: Path, changed: int) -> tuple[Any, dict[str, Any]]:
    """Return `load(path)`; `changed`, the time of the file's last change, makes a changed file a new entry of the cache."""
    return load(path)


def resolve(name_or_path: str | os.PathLike[str]) -> Path:
    """Return the checkpoint file of a shipped network's name, of a path, a folder or a hub id (see `load_policy`).

    Raises UsageError if there is no such file.
    """
    path, known = Path(name_or_path), shipped()
    if (name := os.fspath(name_or_path)) in known:
        return known[name]
    if name.startswith("hub:") and not path.exists():
        path = _downloaded(name)
    if path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        files = [file for file in files if not file.name.endswith(".snapshot.safetensors")]
        if len(files) != 1:
            found = ", ".join(file.name for file in files) or "none"
            raise UsageError(f"policy {name}: the folder must hold one checkpoint; there are: {found}")
        return files[0]
    if name in _RENAMED and not path.exists():
        message = f"the policy {name} is now called {_RENAMED[name]}; the old name will be removed in the next version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return known[_RENAMED[name]]
    if not path.exists():
        raise UsageError(unknown("neither a checkpoint file nor a shipped policy:", name, known))
    return path


def _downloaded(name: str) -> Path:
    """Return the folder with the checkpoint of "hub:OWNER/NAME[@REVISION]", from the cache of huggingface_hub or downloaded."""
    repository, _, revision = name.removeprefix("hub:").partition("@")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise UsageError(f'policy {name} needs the package huggingface_hub: pip install ".[hub]"') from error
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns="*.safetensors"))
    except Exception as error:  # of the package, of its HTTP client, or of the system
        raise UsageError(f"policy {name} is not available: {' '.join(described(error).split())[:300]}") from error


def shipped() -> dict[str, Path]:
    """Return name -> file of all networks in the package: the files weights/NAME.safetensors in the folders of corl.solvers."""
    root = Path(str(resources.files("corl.solvers")))
    files = sorted([*root.glob("weights/*.safetensors"), *root.glob("*/weights/*.safetensors")])
    return {file.stem: file for file in files}


def read_header(path: Path) -> dict[str, Any]:
    """Return the header alone, without loading torch. Raises InputError as `load` does."""
    return _read(path, with_weights=False)[0]


def _read(path: Path, *, with_weights: bool = True) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the header and, unless `with_weights` is False, the weights, both checked. Raises InputError."""
    from safetensors import SafetensorError, safe_open

    weights: dict[str, Any] = {}
    try:
        with reading(path), safe_open(path, framework="pt" if with_weights else "numpy") as file:
            header = _header((file.metadata() or {}).get("corl"), path)
            if with_weights:
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"damaged, or no safetensors file ({error}); {_ACCEPTED}", file=str(path)) from error
    if with_weights and _digest(header, weights) != header["digest"]:
        raise InputError("damaged: the weights are not those that were written", file=str(path))
    return header, weights


def _header(text: str | None, path: Path) -> dict[str, Any]:
    """Return the header from its JSON text. Raises InputError if entries are missing or the format is too new."""
    if text is None:
        raise InputError(f"a safetensors file of another program; {_ACCEPTED}", file=str(path))
    header = from_json(text, file=str(path), field="corl")
    number = header.get("format") if isinstance(header, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise InputError(f"written by a newer corl (format {number}; this one reads up to {FORMAT}); update corl", file=str(path))
    for key, kind in _KEYS.items():
        if not isinstance(header, dict) or not isinstance(header.get(key), kind):
            raise InputError(f"damaged header: no {key} of type {kind.__name__}; {_ACCEPTED}", file=str(path))
    return header  # type: ignore[no-any-return]


def _digest(header: Mapping[str, Any], weights: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of the header's entries, without the digest, and of every weight, in the order of their names."""
    digest = hashlib.sha256(json.dumps({key: header[key] for key in sorted(header) if key != "digest"}, sort_keys=True).encode())
    for part in _parts(weights):
        digest.update(part)
    return digest.hexdigest()


def _parts(weights: Mapping[str, Tensor]) -> Iterator[bytes]:
    """Yield the bytes to digest: of each weight, by name, a description and the values."""
    import torch

    for name in sorted(weights):
        tensor = weights[name]
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()


if not TYPE_CHECKING:
    __getattr__ = renamed(__name__, {"loaded": "load_cached", "loaded_as": "load_cached_as"})
