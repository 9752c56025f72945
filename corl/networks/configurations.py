"""Configurations: a check that the weights of a checkpoint belong to the network that its configuration describes.

A checkpoint may be malicious, even with a valid digest: a configuration with huge sizes would fill the memory. So the types and
the numbers of the configuration are checked first, and then the shapes of the network's tensors, on torch's device without memory
("meta").
"""

from __future__ import annotations

import contextlib
import inspect
import math
import types
import typing
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from corl import registry
from corl.errors import unknown
from corl.files.json_values import is_number
from corl.networks.policy import NetworkPolicy

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["check_config", "check_finite"]

_SMALL = 1000  # integers and lists' lengths up to this limit are accepted even if no tensor has an axis of this length
_PARTS_PER_TENSOR = 10  # a network of n tensors may have 10 (n + 10) modules and parameters


def check_config(kind: type[Any], config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
    """Raise an exception unless `kind(**config)` is a network for `weights`: finite tensors of the same names and shapes.

    Every entry must have the type in the constructor's annotation. No integer, and no list's length, may exceed both 1000 and the
    longest axis of all tensors. An entry "problem" must name a registered problem, which must have the "features" and the
    "environment" of a NetworkPolicy. The exception is a ValueError, or the one that the constructor raises.
    """
    check_finite(weights)
    _check_entries(kind, config, max(_SMALL, *(size for tensor in weights.values() for size in tensor.shape), 0))
    _check_shapes(kind, config, weights)


def _check_entries(kind: type[Any], config: Mapping[str, Any], most: int) -> None:
    """Compare names and types with the constructor's parameters. Integers and lists' lengths may be up to `most`."""
    inspect.signature(kind).bind(**config)
    hints: dict[str, Any] = {}
    with contextlib.suppress(NameError, AttributeError):  # annotations with names that a plug-in imports for type checkers only
        hints = typing.get_type_hints(kind.__init__)
    for name, value in config.items():
        hint = hints.get(name, Any)
        if not _fits(hint, value, most):
            limit = f" up to {most}, the size of its tensors" if _fits(hint, value, math.inf) else ""
            raise ValueError(f"{name} is {_shown(value)}; accepted: {_words(hint)}{limit}")
    _check_names(kind, config)


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Raise ValueError if a tensor has a NaN, an infinity, or complex numbers."""
    import torch

    for name, tensor in tensors.items():
        if tensor.is_complex() or not torch.isfinite(tensor.float()).all():
            raise ValueError(f"{name} has values that are not finite real numbers")


def _fits(hint: Any, value: Any, most: float) -> bool:
    """Return whether a JSON value is of an annotated type, with integers and lists' lengths up to `most`.

    If there is no annotation, or its type has no JSON form, only integers and lengths are checked.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(part, value, most) for part in inner)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in inner)
    if hint is float:
        return is_number(value)
    if hint in (bool, str, type(None)):
        return type(value) is hint
    if hint is int:
        return type(value) is int and abs(value) <= most
    if (origin or hint) in (dict, Mapping):
        return isinstance(value, dict) and _all_fit(inner[1:], value.values(), most)
    if (origin or hint) is tuple and inner and inner[-1] is not Ellipsis:
        return isinstance(value, list) and len(value) == len(inner) and all(map(_fits, inner, value, [most] * len(inner)))
    if (origin or hint) in (tuple, list, Sequence):
        return isinstance(value, list) and _all_fit(inner[:1], value, most)
    if isinstance(value, (list, dict)):  # the recursion ends, as the parser accepts at most a hundred levels
        return _all_fit((), value.values() if isinstance(value, dict) else value, most)
    return _fits(type(value), value, most)


def _all_fit(hints: tuple[Any, ...], values: Collection[Any], most: float) -> bool:
    return len(values) <= most and all(_fits(hints[0] if hints else Any, value, most) for value in values)


def _words(hint: Any) -> str:
    """Return a type as text for a message."""
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_names(kind: type[Any], config: Mapping[str, Any]) -> None:
    """Raise unless the problem, its environment and its features exist."""
    if not isinstance(config.get("problem"), str):
        return
    problem = registry.problem(config["problem"])
    if issubclass(kind, NetworkPolicy):
        problem.environment_name(config.get("environment", ""))
        if kind.state_arrays is NetworkPolicy.state_arrays and config.get("features") not in problem.features:
            raise ValueError(unknown(f"{problem.name} has no features", config.get("features", ""), problem.features))


def _check_shapes(kind: type[Any], config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
    """Build the network on the device without memory, with a limited number of parts, and compare names and shapes."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that copies have no effect on this device, and about empty tensors
        with _at_most(_PARTS_PER_TENSOR * (len(weights) + _PARTS_PER_TENSOR)), torch.device("meta"):
            network = kind(**config)
        network.load_state_dict(dict(weights))


@contextlib.contextmanager
def _at_most(parts: int) -> Iterator[None]:
    """Raise ValueError in the block when more than `parts` modules and parameters are created."""
    from torch.nn.modules import module

    made = 0

    def count(*ignored: Any) -> None:
        nonlocal made
        made += 1
        if made > parts:
            raise ValueError("its network has many more tensors than the file")

    with module.register_module_module_registration_hook(count), module.register_module_parameter_registration_hook(count):
        yield
