"""Entry points: the names of problems, solvers and other plug-in classes that installed distributions (corl included) declare."""

from __future__ import annotations

import contextlib
import logging
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from typing import TypeVar

from corl.errors import UsageError, described

__all__ = ["declared", "distribution_of", "load"]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


@cache
def declared(group: str) -> dict[str, EntryPoint]:
    """Return name -> entry point of a group. If two distributions declare one name, the first one on the search path is used."""
    found: dict[str, EntryPoint] = {}
    for entry in _entries(group):
        first = found.setdefault(entry.name, entry)
        if first.value != entry.value:
            _log.warning("%s %s: %s is used, the other declaration %s is not", group, entry.name, first.value, entry.value)
    return found


def load(entry: EntryPoint, kind: type[_T], *, create: bool = False) -> _T:
    """Return the object that an entry point names or, with `create`, a new instance of the class that it names.

    Raises UsageError if it cannot be loaded, or if the object is not of the type `kind`.
    """
    try:
        loaded = entry.load()
        loaded = loaded() if create else loaded
        if not isinstance(loaded, kind):
            raise TypeError(f"it is not a {kind.__name__}")
        return loaded
    except (Exception, SystemExit) as error:  # a plug-in's module may raise anything
        where = f"{entry.group} entry point {entry.name} = {entry.value}{distribution_of(entry.dist)}"
        raise UsageError(f"{where} cannot be loaded: {described(error)}") from error


def _entries(group: str) -> list[EntryPoint]:
    """Return the entry points of a group. A distribution with damaged metadata is skipped, with a warning."""
    with contextlib.suppress(Exception):
        return list(entry_points(group=group))
    found: list[EntryPoint] = []
    for distribution in distributions():
        try:
            found += distribution.entry_points.select(group=group)
        except Exception as error:
            _log.warning("the entry points%s cannot be read: %s", distribution_of(distribution), described(error))
    return found


def distribution_of(distribution: Distribution | None) -> str:
    """Return words such as " of the distribution corl-extra"; "" if its name is unknown."""
    try:
        return f" of the distribution {distribution.name}" if distribution is not None else ""
    except Exception:  # its metadata may be damaged too
        return ""
