"""Options: the fields of a frozen dataclass (a Solver), built from keywords or from KEY=VALUE texts."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from corl.errors import UsageError

__all__ = ["build", "call", "option_table", "parse_pairs"]

_T = TypeVar("_T")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def parse_pairs(pairs: list[str]) -> dict[str, str]:
    """["a=1", "b=x"] -> {"a": "1", "b": "x"}. Raises UsageError for anything else; dashes in a key count as underscores."""
    result = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--option takes KEY=VALUE, not {pair!r}")
        result[key.strip().replace("-", "_")] = value.strip()
    return result


def build(cls: type[_T], options: Mapping[str, Any]) -> _T:
    """`cls(**options)`, with texts converted to the fields' types and unknown names answered by the list of valid ones."""
    names = [field.name for field in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []
    return cls(**_convert(cls.__name__, names, typing.get_type_hints(cls), options))


def call(function: Callable[..., _T], options: Mapping[str, Any]) -> _T:
    """`function(**options)` with the same conversions and errors (for generators)."""
    parameters = inspect.signature(function).parameters
    owner = getattr(function, "__name__", "function")
    values = _convert(owner, list(parameters), typing.get_type_hints(function), options)
    if missing := [key for key, parameter in parameters.items() if parameter.default is parameter.empty and key not in values]:
        raise UsageError(f"{owner} needs the option {missing[0]!r}")
    return function(**values)


def option_table(cls: type) -> list[tuple[str, str, str]]:
    """(name, type, default) of every option of a solver class, as texts."""
    if not dataclasses.is_dataclass(cls):
        return []
    hints = typing.get_type_hints(cls)
    return [(field.name, _name(hints[field.name]), repr(field.default)) for field in dataclasses.fields(cls)]


def _convert(owner: str, names: list[str], hints: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    for key in options:
        if key not in names:
            raise UsageError(f"{owner} has no option {key!r}; it has: {', '.join(names) or 'none'}")
    return {key: _value(key, hints.get(key, str), value) if isinstance(value, str) else value for key, value in options.items()}


def _value(key: str, hint: Any, text: str) -> Any:
    """`text` as a value of the type `hint`: a bool, int, float, str, Literal, or one of these or None."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        if text.lower() == "none" and type(None) in typing.get_args(hint):
            return None
        hint = next(arg for arg in typing.get_args(hint) if arg is not type(None))
        origin = typing.get_origin(hint)
    if origin is typing.Literal:
        if text in typing.get_args(hint):
            return text
    elif hint is bool:
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
    elif hint in (int, float):
        try:
            return hint(text)
        except ValueError:
            pass
    else:
        return text
    raise UsageError(f"option {key}: {text!r} is not accepted; it takes {_name(hint)}")


def _name(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(map(str, typing.get_args(hint)))
    return "true | false" if hint is bool else getattr(hint, "__name__", None) or str(hint).replace("typing.", "")
