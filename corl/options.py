"""Options: the fields of a frozen dataclass (a Solver, a Recipe), each declared with its help and its range by `option`.

    @dataclass(frozen=True)
    class Annealing(Solver):
        begin: Literal["greedy", "random"] = option("greedy", "The first solution.")
        moves: int = option(0, "Moves of a round; 0: automatic.", low=100, special=0, scale="log")
        hot: float = option(1.0, "First temperature.", above=0, scale="log")
        cold: float = option(0.01, "Last temperature, at most `hot`.", above=0, scale="log")

        def __post_init__(self) -> None:  # only if options depend on each other
            super().__post_init__()
            if self.cold > self.hot:
                raise UsageError(f"option cold is {self.cold}; accepted: a number up to hot, {self.hot}")

The help says what an option does and what its special values mean. Type, range and default are added by the commands that show it
(`corl list solvers --verbose`, `corl solve FILE --solver NAME --help`). Ranges are checked when an object is created.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import numbers
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from corl.deprecation import renamed
from corl.errors import UsageError, unknown
from corl.fields import Number

__all__ = [
    "OptionSpec", "Options", "Row", "arguments", "build", "call", "checked", "declarations", "defaults", "named",
    "option", "option_table", "parse_pairs", "values", "with_default",
]  # fmt: skip

_T = TypeVar("_T")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_NOUNS = {
    bool: ("true or false", ""), int: ("an integer", "integers"), float: ("a number", "numbers"), str: ("a text", "texts"),
}  # fmt: skip
_PLAIN = (str, int, float, bool, tuple, list, dict, type(None))
_ANY = Number()
_MAX_SHOWN = 80  # characters of a value in a message
_hints = functools.lru_cache(maxsize=512)(typing.get_type_hints)


@dataclass(frozen=True)
class OptionSpec:
    """The declaration of an option, besides its type and default: the arguments of `option`, where they are explained."""

    help: str = ""
    range: Number = _ANY
    special: object = None
    choices: Iterable[str] | Callable[[], Iterable[str]] = ()
    scale: Literal["linear", "log"] = "linear"
    accepted: str = ""
    tuning: tuple[float, float] | None = None

    @property
    def texts(self) -> list[str]:
        """The accepted texts; empty if the option has no `choices`."""
        return list(self.choices() if callable(self.choices) else self.choices)

    def holds(self, value: Any) -> bool:
        """Return whether a value of the option's type is in the range or among the choices."""
        if value is None or (self.special is not None and value == self.special):
            return True
        if isinstance(value, tuple):
            return all(map(self.holds, value))
        if isinstance(value, str):
            return not (texts := self.texts) or value in texts
        return self.range == _ANY or not isinstance(value, (int, float)) or (math.isfinite(value) and self.range.holds(value))


def option(
    default: _T,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    special: object = None,
    choices: Iterable[str] | Callable[[], Iterable[str]] = (),
    scale: Literal["linear", "log"] = "linear",
    accepted: str = "",
    tuning: tuple[float, float] | None = None,
    also: object = None,
) -> _T:
    """Declare an option: return the default of a dataclass field, whose annotation is the option's type.

    Args:
        default: The option's default.
        help: The effect of the option. Blanks and line ends in a row count as one space.
        low: The least value. Bounds apply to each item of a tuple; a number with any bound must be finite.
        high: The greatest value.
        above: An exclusive lower bound.
        below: An exclusive upper bound.
        special: A value accepted outside the range, such as 0 if it means "automatic".
        choices: The accepted texts, or a function that returns them; not needed if the annotation is a Literal.
        scale: "log" if equal factors of the value, not equal differences, have similar effects: tuning then draws values on a
            logarithmic scale.
        accepted: The accepted values in words, for messages, if the words made from the type and the range do not suffice.
        tuning: The range that `corl tune` searches, for an option without a greatest value; see corl.tuning.space.
        also: The old name of `special`; deprecated.
    """
    if also is not None:
        warnings.warn("option(also=...) is now called special; also will be removed", DeprecationWarning, stacklevel=2)
        special = also
    bounds = {"low": low, "high": high, "above": above, "below": below}
    spec = OptionSpec(
        " ".join(help.split()), Number(**{name: bound for name, bound in bounds.items() if bound is not None}),
        special, choices, scale, accepted, tuning,
    )  # fmt: skip
    field: Any = dataclasses.field(default=default, metadata={"option": spec})
    return field  # type: ignore[no-any-return]


def with_default(kind: type[Any], name: str, default: _T) -> _T:
    """Declare a base class's option again, with another default: return the default of the dataclass field.

    Args:
        kind: The base class.
        name: The option.
        default: The new default.
    """
    field: Any = dataclasses.field(default=default, metadata=kind.__dataclass_fields__[name].metadata)
    return field  # type: ignore[no-any-return]


class Options:
    """The base class of a frozen dataclass whose fields are options: the constructor checks those declared by `option`."""

    def __post_init__(self) -> None:
        for name, (hint, spec) in declarations(type(self)).items():
            if spec is not None:
                value = getattr(self, name)
                converted = _converted(name, hint, spec, value)
                if not _equal(converted, value):  # a number is not accepted as a text, such as "10"
                    raise _refusal(name, hint, spec, value)
                if hasattr(value, "dtype") or isinstance(value, tuple):  # NumPy's numbers become Python's
                    object.__setattr__(self, name, converted)


def declarations(cls: type) -> dict[str, tuple[Any, OptionSpec | None]]:
    """Return option name -> (type, declaration) of a class; the declaration is None for a field without `option`."""
    if not dataclasses.is_dataclass(cls):
        return {}
    hints = _hints(cls)
    return {field.name: (hints[field.name], field.metadata.get("option")) for field in dataclasses.fields(cls)}


def parse_pairs(pairs: list[str], argument: str = "--option") -> dict[str, str]:
    """Return ["a=1", "b=x"] as {"a": "1", "b": "x"}; dashes in a key count as underscores.

    Raises UsageError for anything else, and for a repeated key; `argument` is the name for its message.
    """
    result: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{argument} takes KEY=VALUE, not {pair!r}")
        name = key.strip().replace("-", "_")
        if name in result:
            raise UsageError(f"{argument} {name} is given twice, with {result[name]!r} and {value.strip()!r}")
        result[name] = value.strip()
    return result


@contextlib.contextmanager
def named(owner: str) -> Iterator[None]:
    """Begin the message of each UsageError raised inside with a name that users know: of a solver, a recipe, a generator."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{owner}: {error}") from error


def build(cls: type[_T], options: Mapping[str, Any], others: Iterable[str] = ()) -> _T:
    """Return `cls(**options)`, with texts converted to the fields' types.

    Raises UsageError for an unknown name, listing the options and suggesting a similar name. Suggestions may also come from
    `others`, the names of the caller's own arguments.
    """
    needed = [row.name for row in option_table(cls) if row.default == "required"]
    return cls(**_arguments(declarations(cls), needed, options, others))


def checked(cls: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return some options of a class as values of their types. Raises as `build`, but not for options that are missing."""
    return _arguments(declarations(cls), (), options)


def call(function: Callable[..., _T], options: Mapping[str, Any]) -> _T:
    """Return `function(**options)`, with the conversions and errors of `build`. For generators: a `seed` is an integer from 0."""
    parameters = inspect.signature(function).parameters
    needed = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    return function(**arguments(function, options, needed))


def arguments(function: Callable[..., Any], options: Mapping[str, Any], needed: Iterable[str] = ()) -> dict[str, Any]:
    """Return `options`, converted to the types of a function's parameters. Raises as `build`, and if one of `needed` lacks."""
    hints = typing.get_type_hints(function)
    names = inspect.signature(function).parameters
    specs = {name: (hints.get(name, object), OptionSpec(range=Number(0)) if name == "seed" else None) for name in names}
    return _arguments(specs, needed, options)


def values(owner: Any) -> dict[str, Any]:
    """Return the options of a solver or a recipe as JSON values; an object, such as a policy, becomes "a CLASS"."""
    return {name: _plain(getattr(owner, name)) for name in declarations(type(owner))}


def defaults(cls: type) -> dict[str, Any]:
    """Return option name -> default, in the form of `values`, for the options of a class that have a default."""
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return {field.name: _plain(field.default) for field in fields if field.default is not dataclasses.MISSING}


def _plain(value: Any) -> Any:
    if isinstance(value, type):
        return getattr(value, "architecture", value.__name__)
    return value if isinstance(value, _PLAIN) else f"a {type(value).__name__}"


class Row(NamedTuple):
    """One row of the table of options."""

    name: str
    type: str
    default: str
    accepted: str
    help: str


def option_table(cls: type) -> list[Row]:
    """Return a row for every option of a solver or a recipe."""
    fields = {field.name: field for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    return [
        Row(name, _name(hint), _default(fields[name]), _accepted(hint, spec or OptionSpec()), spec.help if spec else "")
        for name, (hint, spec) in declarations(cls).items()
    ]


def _default(field: dataclasses.Field[Any]) -> str:
    if isinstance(field.default, tuple):
        return ",".join(map(str, field.default))
    if field.default is not dataclasses.MISSING:
        return str(field.default).lower() if isinstance(field.default, (bool, type(None))) else str(field.default)
    return "required" if field.default_factory is dataclasses.MISSING else str(field.default_factory())


def _arguments(
    specs: Mapping[str, tuple[Any, OptionSpec | None]],
    needed: Iterable[str],
    options: Mapping[str, Any],
    others: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the options as values of their types. Raises UsageError for unknown names, wrong values and missing options."""
    for name in options:
        if name not in specs:
            raise UsageError(unknown("no option", name, specs, others))
    values = {name: _converted(name, *specs[name], value) for name, value in options.items()}
    for name in needed:
        if name not in values:
            hint, spec = specs[name]
            raise UsageError(f"option {name} is missing; accepted: {_accepted(hint, spec or OptionSpec())}")
    return values


def _converted(name: str, hint: Any, spec: OptionSpec | None, given: Any) -> Any:
    """Return `given`, a text or a value, as a value of the option's type and in its range. Raises UsageError."""
    spec = spec or OptionSpec()
    value = given
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if spec.holds(value := _read(hint, given)):
            return value
    raise _refusal(name, hint, spec, value)


def _equal(converted: Any, value: Any) -> bool:
    """Return whether two values are equal; False for arrays, which have no truth value."""
    try:
        return bool(converted == value)
    except (TypeError, ValueError):
        return False


def _refusal(name: str, hint: Any, spec: OptionSpec, given: Any) -> UsageError:
    if isinstance(given, numbers.Number):
        shown = str(given)
    else:
        shown = repr(given) if isinstance(given, _PLAIN) else f"of type {type(given).__name__}"  # its repr may have many lines
    shown = shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 3] + "..."
    return UsageError(f"option {name} is {shown}; accepted: {_accepted(hint, spec)}")


def _read(hint: Any, given: Any) -> Any:
    """Return `given` as a value of the type `hint`: bool, int, float, str, Literal, tuple, or one of these or None.

    Raises ValueError if this is not possible.
    """
    hints, text = _parts(hint), str(given)
    if type(None) in hints and (given is None or text.lower() == "none"):
        return None
    if any(_is_object(kind) and isinstance(given, kind) for kind in hints[1:]):  # str | Policy: a name, or the object itself
        return given
    hint = next(part for part in hints if part is not type(None))
    if typing.get_origin(hint) is Literal:
        choices = {str(choice): choice for choice in typing.get_args(hint)}
        if text in choices:
            return choices[text]
    elif hint is bool:
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
    elif hint is int:
        if isinstance(given, (str, numbers.Integral)):
            return int(given)
    elif hint is float:
        if isinstance(given, (str, numbers.Real)) and not math.isnan(float(given)):
            return float(given)
    elif typing.get_origin(hint) is tuple:
        items = text.strip("() ").split(",") if isinstance(given, str) else given
        return tuple(_read(typing.get_args(hint)[0], item) for item in items)
    elif hint is not str or isinstance(given, str):
        return given
    raise ValueError


def _accepted(hint: Any, spec: OptionSpec) -> str:
    """Return the values that an option accepts, in words."""
    if spec.accepted:
        return spec.accepted
    hints = _parts(hint)
    hint = next(part for part in hints if part is not type(None))
    many = typing.get_origin(hint) is tuple
    item = typing.get_args(hint)[0] if many else hint
    if typing.get_origin(item) is Literal:
        words = ", ".join(map(str, typing.get_args(item)))
    elif texts := spec.texts:
        words = ", ".join(texts)
    else:
        one, several = _NOUNS.get(item, (_name(item), _name(item)))
        words = (several if many else one) + spec.range.limits
    words += "".join(f" or a {_name(kind)}" for kind in hints if _is_object(kind) and kind is not hint)
    extra = [text for text, there in (("none", type(None) in hints), (str(spec.special), spec.special is not None)) if there]
    return ", ".join([*extra, f"or {words}" if extra else words]) + (", separated by commas" if many else "")


def _is_object(kind: Any) -> bool:
    """Return whether options of this type are objects, which have no text form."""
    return isinstance(kind, type) and kind not in (*_NOUNS, type(None))


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _name(hint: Any) -> str:
    """Return a type as the table shows it."""
    if len(parts := _parts(hint)) > 1:
        return " | ".join("none" if part is type(None) else _name(part) for part in parts)
    if typing.get_origin(hint) is Literal:
        return " | ".join(map(str, typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        return f"{_name(typing.get_args(hint)[0])},..."
    if hint is type:
        return "class"
    return "true | false" if hint is bool else getattr(hint, "__name__", None) or str(hint).replace("typing.", "")


if not TYPE_CHECKING:
    __getattr__ = renamed(__name__, {"Declared": "OptionSpec", "changed": "with_default"})
