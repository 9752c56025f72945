"""Deprecation: the old name of a renamed public object works for one more version, with a warning that says the new name."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = ["renamed", "renamed_members"]

_Class = TypeVar("_Class", bound=type[Any])


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that resolves old names, with a DeprecationWarning.

        if not TYPE_CHECKING:  # a type checker must report old names as errors
            __getattr__ = renamed(__name__, {"Old": "New"})

    Args:
        module: The module's `__name__`.
        names: Old name -> new name, both of this module.
    """

    def resolve(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", names[name])
        return getattr(sys.modules[module], names[name])

    return resolve


def renamed_members(names: Mapping[str, str]) -> Callable[[_Class], _Class]:
    """Return a decorator for a class with renamed members; `names`: old name -> new name.

    An access by an old name returns the member of the new name. A subclass that defines a member under an old name overrides the
    member of the new name. Both give a DeprecationWarning.
    """

    def decorate(cls: _Class) -> _Class:
        base: type[Any] = cls

        def adopt(subclass: type[Any], /, **keywords: Any) -> None:
            super(base, subclass).__init_subclass__(**keywords)
            for old, new in names.items():
                given = inspect.getattr_static(subclass, old)
                if not isinstance(given, _Alias):
                    _warn(f"{subclass.__name__}.{old}", new)
                    setattr(subclass, new, given)

        for old, new in names.items():
            setattr(cls, old, _Alias(f"{cls.__name__}.{old}", new))
        base.__init_subclass__ = classmethod(adopt)  # type: ignore[assignment]
        return cls

    return decorate


class _Alias:
    """The old name of a class's member."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        _warn(self.old, self.new)
        return getattr(owner if instance is None else instance, self.new)


def _warn(old: str, new: str) -> None:
    """Give a DeprecationWarning whose position is the code that used the old name."""
    message = f"{old} is now called {new}; the old name will be removed in the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
