"""Architectures: the network classes by name, declared as entry points of the group `corl.networks`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from corl.entry_points import declared, load
from corl.errors import UsageError, unknown
from corl.options import arguments, parse_pairs

__all__ = ["network_class", "network_options"]


_uninstalled: dict[str, type[Any]] = {}  # by name: classes registered by `network_class` in this process


def network_class(named: str | type[Any]) -> type[Any]:
    """Return the network class of that name; or register a class itself, installed or not, under its `architecture`.

    The registration is valid in this process. Raises UsageError for an unknown name, listing the known names, and for a class
    with the name of another class.
    """
    if isinstance(named, str):
        return _uninstalled[named] if named in _uninstalled else _installed(named)
    name = getattr(named, "architecture", "")
    if name in declared("corl.networks"):
        if _installed(name) is not named:
            raise UsageError(f"network: the architecture {name!r} of {named.__name__} is that of an installed class")
        return named
    if not name:
        raise UsageError(f"network: {named.__name__} needs an architecture, the name under which its checkpoints are read")
    _uninstalled[name] = named
    return named


def network_options(kind: type[Any], pairs: Iterable[str]) -> dict[str, Any]:
    """Return option -> value from texts NAME=VALUE, with values of the types of the constructor's arguments.

    Raises:
        UsageError: A name is not among the architecture's `NetworkPolicy.options`, or a value is not of its type.
    """
    given = parse_pairs([pair for pair in pairs if pair])
    for name in given:
        if name not in kind.options:
            raise UsageError(unknown(f"network_options: {kind.architecture} has no option", name, kind.options))
    return arguments(kind.__init__, given)


@cache
def _installed(name: str) -> type[Any]:
    entries = declared("corl.networks")
    if name not in entries:
        raise UsageError(unknown("no network architecture is called", name, sorted({*entries, *_uninstalled})))
    return load(entries[name], type)
