"""Architectures: the network classes by name, declared as entry points of the group `corl.networks`."""

from __future__ import annotations

from functools import cache
from typing import Any

from corl.entry_points import declared, load
from corl.errors import UsageError, unknown

__all__ = ["network_class"]


_guests: dict[str, type[Any]] = {}  # by name: those that are used in this process without being installed


def network_class(named: str | type[Any]) -> type[Any]:
    """The network class of that name; or a class itself, which need not be installed: in this process, its `architecture` stands
    for it then. Raises UsageError, listing the names there are, for an unknown name, and for a class whose name is another's."""
    if isinstance(named, str):
        return _guests[named] if named in _guests else _installed(named)
    name = getattr(named, "architecture", "")
    if name in declared("corl.networks"):
        if _installed(name) is not named:
            raise UsageError(f"network: the architecture {name!r} of {named.__name__} is that of an installed class")
        return named
    if not name:
        raise UsageError(f"network: {named.__name__} needs an architecture, the name under which its checkpoints are read")
    _guests[name] = named
    return named


@cache
def _installed(name: str) -> type[Any]:
    entries = declared("corl.networks")
    if name not in entries:
        raise UsageError(unknown("no network architecture is called", name, sorted({*entries, *_guests})))
    return load(entries[name], type)
