"""Kinds of values in JSON and TOML files. A kind checks values, and yields words for messages and a JSON schema.

    CLIENT = Object({"demand": Number(0, LARGEST)}, {"name": String(), "window": Array(Number(), 2, 2)})
    INSTANCE = Object({"clients": Array(CLIENT, 1)}, {"problem": Constant("vrp"), "name": String()})

A reader of files receives a value with its kind (`corl.files.json_instances.Field`) and converts the value: `number()`,
`entries()`. The kind checks keys, ranges and lengths; the reader checks dependencies between fields. So a reader refuses
everything that the schema refuses, and more.
"""

from __future__ import annotations

import abc
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

__all__ = [
    "LARGEST", "Anything", "Array", "Choice", "Constant", "Either", "Flag", "Integer", "Kind", "Null", "Number", "Object", "Row",
    "Schema", "String", "Table", "Worded", "document", "generator_call",
]  # fmt: skip

Schema: TypeAlias = dict[str, Any]
LARGEST = 2**53
"""Integers up to this size are exact as floats. A bound of at least this size means no bound: messages and schemas omit it."""


class Kind(abc.ABC):
    """The description of accepted values."""

    words: str
    """The accepted values in words, for messages: they follow "accepted: "."""

    @property
    @abc.abstractmethod
    def schema(self) -> Schema:
        """The JSON schema (2020-12) of such values."""

    @abc.abstractmethod
    def fits(self, value: Any) -> bool:
        """Return whether this is such a value."""

    @cached_property
    def alternatives(self) -> tuple[Kind, ...]:
        """The kinds of which a value must fit at least one: this kind alone, except for Either and Worded."""
        return (self,)

    @cached_property
    def entries(self) -> Kind:
        """The kind of the entries, if the value is a list."""
        entry_kinds = [kind.of for kind in self.alternatives if isinstance(kind, Array)]
        return entry_kinds[0] if len(entry_kinds) == 1 else Either(*entry_kinds)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The alternatives that are lists with a separate kind for each entry."""
        return tuple(kind for kind in self.alternatives if isinstance(kind, Row))

    @cached_property
    def lengths(self) -> tuple[int | None, int]:
        """The exact length of a list (None: not fixed) and its least length; (None, 0) if several kinds of lists are accepted."""
        lists = [kind for kind in self.alternatives if isinstance(kind, (Array, Row))]
        if len(lists) != 1:
            return None, 0
        only = lists[0]
        if isinstance(only, Row):
            return len(only.of), 0
        return (only.most if only.most == only.least else None), only.least


@dataclass(frozen=True)
class Number(Kind):
    """A finite number in low..high, greater than `above` and less than `below`."""

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    noun = "a number"

    @property
    def words(self) -> str:  # type: ignore[override]
        """Such as "a number from 0 to 1,000", without trivial bounds."""
        return self.noun + self.limits

    @property
    def limits(self) -> str:
        """The range in words that follow the noun: " from 0 to 1", " above 0 and below 1"; "" if there is no bound."""
        first = f" from {_bound(self.low)}" if self.low > -LARGEST else ""
        last = f" {'to' if first else 'up to'} {_bound(self.high)}" if self.high < LARGEST else ""
        if self.above > -LARGEST:
            first, last = f" above {_bound(self.above)}", f" and{last}" if last else ""
        last = f"{' and' if first else ''} below {_bound(self.below)}" if self.below < LARGEST else last
        return first + last

    @property
    def schema(self) -> Schema:
        limits = {"minimum": self.low, "maximum": self.high, "exclusiveMinimum": self.above, "exclusiveMaximum": self.below}
        return {"type": "number"} | {key: limit for key, limit in limits.items() if abs(limit) < LARGEST}

    def fits(self, value: Any) -> bool:
        return _is_number(value) and self.holds(value)

    def holds(self, value: float) -> bool:
        """Return whether a number is in the range."""
        return self.low <= value <= self.high and self.above < value < self.below


@dataclass(frozen=True)
class Integer(Number):
    """An integer in low..high."""

    low: float = -LARGEST
    high: float = LARGEST
    noun = "an integer"

    @property
    def schema(self) -> Schema:
        return super().schema | {"type": "integer"}

    def fits(self, value: Any) -> bool:
        return type(value) is int and self.holds(value)


@dataclass(frozen=True)
class String(Kind):
    """A text, possibly empty; if there is a pattern (a regular expression), one that matches it."""

    pattern: str = ""
    words = "a text"

    @property
    def schema(self) -> Schema:
        return {"type": "string"} | ({"pattern": self.pattern} if self.pattern else {})

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and (not self.pattern or re.search(self.pattern, value) is not None)


@dataclass(frozen=True)
class Flag(Kind):
    """A boolean."""

    words = "true or false"

    @property
    def schema(self) -> Schema:
        return {"type": "boolean"}

    def fits(self, value: Any) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True)
class Null(Kind):
    """Null. A key with this value counts as absent."""

    words = "null"

    @property
    def schema(self) -> Schema:
        return {"type": "null"}

    def fits(self, value: Any) -> bool:
        return value is None


@dataclass(frozen=True)
class Anything(Kind):
    """Any value."""

    words = "any JSON value"

    @property
    def schema(self) -> Schema:
        return {}

    def fits(self, value: Any) -> bool:
        return True


@dataclass(frozen=True)
class Choice(Kind):
    """One of the given texts."""

    of: Collection[str]

    @property
    def words(self) -> str:  # type: ignore[override]
        """The texts."""
        return ", ".join(self.of)

    @property
    def schema(self) -> Schema:
        return {"enum": list(self.of)}

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.of


@dataclass(frozen=True)
class Constant(Kind):
    """A given value, and no other."""

    value: str | int

    @property
    def words(self) -> str:  # type: ignore[override]
        """The value."""
        return str(self.value)

    @property
    def schema(self) -> Schema:
        return {"const": self.value}

    def fits(self, value: Any) -> bool:
        return type(value) is type(self.value) and bool(value == self.value)


@dataclass(frozen=True)
class Array(Kind):
    """A list of `least` to `most` values of one kind."""

    of: Kind
    least: int = 0
    most: int | None = None
    words = "a list"

    @property
    def schema(self) -> Schema:
        limits = {} if self.most is None else {"maxItems": self.most}
        return {"type": "array", "items": self.of.schema, "minItems": self.least} | limits

    def fits(self, value: Any) -> bool:
        most = math.inf if self.most is None else self.most
        return isinstance(value, list) and self.least <= len(value) <= most and all(map(self.of.fits, value))


@dataclass(frozen=True, init=False)
class Row(Kind):
    """A list of fixed length, with a separate kind for each entry."""

    of: tuple[Kind, ...]

    def __init__(self, *of: Kind) -> None:
        object.__setattr__(self, "of", of)

    @property
    def words(self) -> str:  # type: ignore[override]
        """The list's length."""
        return f"a list of {len(self.of)}"

    @property
    def schema(self) -> Schema:
        return {"type": "array", "prefixItems": [each.schema for each in self.of], "items": False, "minItems": len(self.of)}

    def fits(self, value: Any) -> bool:
        return isinstance(value, list) and len(value) == len(self.of) and all(k.fits(each) for k, each in zip(self.of, value))


@dataclass(frozen=True)
class Table(Kind):
    """An object with any keys and values of one kind."""

    of: Kind
    words = "an object"

    @property
    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.of.schema}

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and all(map(self.of.fits, value.values()))


@dataclass(frozen=True)
class Object(Kind):
    """An object with given keys. An optional key whose value is null counts as absent."""

    required: Mapping[str, Kind]
    optional: Mapping[str, Kind] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Key -> its meaning, for keys in other programs' files that are not supported; the reader's message names the meaning."""
    open: bool = False
    """Whether other keys are accepted, too."""

    @cached_property
    def keys(self) -> dict[str, Kind]:
        """All keys with their kinds."""
        return {**self.required, **self.optional}

    @property
    def words(self) -> str:  # type: ignore[override]
        """The keys."""
        return f"an object with the keys {', '.join(self.keys)}"

    @property
    def schema(self) -> Schema:
        nullable = {key: Either(kind, Null()).schema for key, kind in self.optional.items()}
        found: Schema = {"type": "object", "properties": {key: kind.schema for key, kind in self.required.items()} | nullable}
        found["required"] = list(self.required)
        return found if self.open else found | {"additionalProperties": False}

    def fits(self, value: Any) -> bool:
        if not isinstance(value, dict) or (not self.open and not value.keys() <= self.keys.keys()):
            return False
        checked_keys = {key for key in self.optional if value.get(key) is not None} | self.required.keys()
        return all(key in value and self.keys[key].fits(value[key]) for key in checked_keys)


@dataclass(frozen=True, init=False)
class Either(Kind):
    """A value of one of several kinds."""

    of: tuple[Kind, ...]

    def __init__(self, *of: Kind) -> None:
        object.__setattr__(self, "of", of)

    @property
    def words(self) -> str:  # type: ignore[override]
        """The words of all kinds."""
        return " or ".join(each.words for each in self.of)

    @property
    def schema(self) -> Schema:
        return {"anyOf": [each.schema for each in self.of]}

    def fits(self, value: Any) -> bool:
        return any(each.fits(value) for each in self.of)

    @cached_property
    def alternatives(self) -> tuple[Kind, ...]:
        """The alternatives of all kinds."""
        return tuple(kind for each in self.of for kind in each.alternatives)


@dataclass(frozen=True)
class Worded(Kind):
    """A kind with other `words` for messages."""

    of: Kind
    words: str

    @property
    def schema(self) -> Schema:
        return self.of.schema

    def fits(self, value: Any) -> bool:
        return self.of.fits(value)

    @cached_property
    def alternatives(self) -> tuple[Kind, ...]:
        """The alternatives of the kind itself."""
        return self.of.alternatives


def document(title: str, kind: Kind) -> Schema:
    """Return the schema of a whole file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **kind.schema}


def generator_call(problem: str, generators: Collection[str]) -> Object:
    """Return the kind of a generator call: an object that names a generator and its parameters in place of an instance's data.

    See `corl.files.json_instances.generated`.
    """
    optional = {"problem": Constant(problem), "name": String(), "comment": String(), "parameters": Table(Anything())}
    return Object({"generator": Choice(tuple(generators))}, optional)


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that a float can hold."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
