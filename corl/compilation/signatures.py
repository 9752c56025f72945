"""The signatures of kernels as JSON: the content of solvers' `.kernels.json` files (corl.compilation.precompile)."""

# mypy: allow-untyped-calls
# numba's own functions have no types.

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, cast

from numba.core import types

from corl.compilation.references import Reference

__all__ = ["read", "written"]

_NAMED: Any = types.BaseNamedTuple  # Any, because type checkers do not know the members of the two classes
_PLAIN: Any = types.BaseAnonymousTuple
_ARRAY = re.compile(r"(readonly )?array\((\w+), (\d+), ([CFA])\)")


def written(type_: Any, classes: dict[str, Any]) -> Any:
    """Return a type of numba as a JSON value.

    A NamedTuple is written as its name, and its definition is added to `classes`: name -> [module:class, types of the fields].
    Raises TypeError for a type that `read` could not restore.
    """
    if isinstance(type_, Reference):
        return ["reference", written(type_.record, classes)]
    if isinstance(type_, _NAMED):
        cls = type_.instance_class
        body = [f"{cls.__module__}:{cls.__qualname__}", *(written(field, classes) for field in type_.types)]
        equal = [name for name, other in classes.items() if name.partition(" ")[0] == cls.__name__ and other == body]
        if equal:
            return equal[0]
        count = sum(name.partition(" ")[0] == cls.__name__ for name in classes)
        name = f"{cls.__name__} {count + 1}" if count else cls.__name__
        classes[name] = body
        return name
    if isinstance(type_, _PLAIN):
        return ["tuple", *(written(field, classes) for field in type_.types)]
    if isinstance(type_, types.Omitted):
        return ["omitted", type_.value]
    if isinstance(type_, types.Array):
        text = f"{'' if type_.mutable else 'readonly '}array({type_.dtype}, {type_.ndim}, {type_.layout})"
    else:
        text = str(type_)
    if read(text, {}) != type_:
        raise TypeError(f"{type_} cannot be written")
    return text


def read(text: Any, classes: dict[str, Any]) -> Any:
    """Return the type of numba that `written` wrote. Raises TypeError, ImportError or AttributeError if it does not exist."""
    if isinstance(text, list):
        head, *rest = text
        if head == "omitted":
            return types.Omitted(rest[0])
        if head == "reference":
            return Reference(read(rest[0], classes))
        fields = tuple(read(field, classes) for field in rest)
        if head == "tuple":
            return types.BaseTuple.from_types(fields)
        module, _, name = head.partition(":")
        return types.BaseTuple.from_types(fields, getattr(import_module(module), name))
    if text in classes:
        return read(classes[text], classes)
    if found := _ARRAY.fullmatch(text):
        readonly, dtype, ndim, layout = found.groups()
        return types.Array(_scalar(dtype), int(ndim), cast(Any, layout), readonly=bool(readonly))
    return _scalar(text)


def _scalar(name: str) -> Any:
    """Return numba's type of a name such as int64."""
    found = {"bool": types.boolean, "none": types.none}.get(name) or getattr(types, name, None)
    if not isinstance(found, types.Type):
        raise TypeError(f"no type of numba is called {name}")
    return found
