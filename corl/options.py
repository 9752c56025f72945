"""Options: the fields of a frozen dataclass (a Solver), built from keywords or from KEY=VALUE texts."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import numbers
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
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    values = _convert(cls.__name__, [field.name for field in fields], typing.get_type_hints(cls), options)
    _need(cls.__name__, [field.name for field in fields if _default(field) == "required"], values)
    return cls(**values)


def call(function: Callable[..., _T], options: Mapping[str, Any]) -> _T:
    """`function(**options)` with the same conversions and errors (for generators)."""
    parameters = inspect.signature(function).parameters
    owner = getattr(function, "__name__", "function")
    values = _convert(owner, list(parameters), typing.get_type_hints(function), options)
    _need(owner, [key for key, parameter in parameters.items() if parameter.default is parameter.empty], values)
    return function(**values)


def option_table(cls: type) -> list[tuple[str, str, str]]:
    """(name, type, default) of every option of a solver class, as texts."""
    if not dataclasses.is_dataclass(cls):
        return []
    hints = typing.get_type_hints(cls)
    return [(field.name, _name(hints[field.name]), _default(field)) for field in dataclasses.fields(cls)]


def _default(field: dataclasses.Field[Any]) -> str:
    if isinstance(field.default, tuple):
        return ",".join(map(str, field.default))
    if field.default is not dataclasses.MISSING:
        return str(field.default).lower() if isinstance(field.default, (bool, type(None))) else str(field.default)
    return "required" if field.default_factory is dataclasses.MISSING else str(field.default_factory())


def _need(owner: str, names: list[str], values: Mapping[str, Any]) -> None:
    if missing := [name for name in names if name not in values]:
        raise UsageError(f"{owner} needs the option {missing[0]!r}")


def _convert(owner: str, names: list[str], hints: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    for key in options:
        if key not in names:
            raise UsageError(f"{owner} has no option {key!r}; it has: {', '.join(names) or 'none'}")
    return {key: _value(key, hints.get(key, object), value) for key, value in options.items()}


def _value(key: str, hint: Any, given: Any) -> Any:
    """`given`, a text or a value, as the type `hint`: a bool, int, float, str, Literal, or one of these or None."""
    hints = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    if type(None) in hints and (given is None or str(given).lower() == "none"):
        return None
    hint = next(part for part in hints if part is not type(None))
    text = str(given)
    if typing.get_origin(hint) is typing.Literal:
        for choice in typing.get_args(hint):
            if text == str(choice):
                return choice
    elif hint is bool:
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
    elif hint is int:
        if isinstance(given, (str, numbers.Integral)):
            with contextlib.suppress(ValueError):
                return int(given)
    elif hint is float:
        with contextlib.suppress(ValueError):
            if isinstance(given, (str, numbers.Real)) and not math.isnan(float(given)):
                return float(given)
    elif typing.get_origin(hint) is tuple:
        parts = text.strip("() ").split(",") if isinstance(given, str) else given
        with contextlib.suppress(UsageError, TypeError):
            return tuple(_value(key, typing.get_args(hint)[0], part) for part in parts)
    elif hint is not str or isinstance(given, str):
        return given
    raise UsageError(f"option {key}: {given!r} is not accepted; it takes {_describe(hints)}")


def _describe(hints: tuple[Any, ...]) -> str:
    return " | ".join("none" if hint is type(None) else _name(hint) for hint in hints)


def _name(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _describe(typing.get_args(hint))
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(map(str, typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        return f"{_name(typing.get_args(hint)[0])},..."
    return "true | false" if hint is bool else getattr(hint, "__name__", None) or str(hint).replace("typing.", "")
