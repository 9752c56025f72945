"""Deprecation: renamed public names work for one more version, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["renamed"]


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that resolves old names, with a DeprecationWarning that says the new one.

        if not TYPE_CHECKING:  # to a type checker, an old name is an error
            __getattr__ = renamed(__name__, {"Old": "New"})

    Args:
        module: The module's `__name__`.
        names: Old name -> new name, both of this module.
    """

    def resolve(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        message = f"{module}.{name} is now called {names[name]}; the old name will be removed in the next version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return resolve
