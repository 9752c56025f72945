"""Kinds of values in JSON and TOML, each declared once: what is accepted, in words and as a JSON schema (2020-12).

    CLIENT = Object({"demand": Number(0, LARGEST)}, {"name": String(), "window": Array(Number(), 2, 2)})
    INSTANCE = Object({"clients": Array(CLIENT, 1)}, {"problem": Constant("vrp"), "name": String()})

A reader is given a value with its kind (`corl.files.json_instances.Field`), and asks for it as what it is: `number()`,
`entries()`. Keys, ranges and lengths are those of the kind; what one field asks of another the reader says itself. So what a
schema refuses, the reader refuses; the reader refuses more.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

__all__ = [
    "LARGEST", "Anything", "Array", "Choice", "Constant", "Either", "Flag", "Integer", "Kind", "Null", "Number", "Object", "Row",
    "Schema", "Table", "String", "document", "generator_call",
]  # fmt: skip

Schema: TypeAlias = dict[str, Any]
LARGEST = 2**53
"""Integers up to this size are floats, too; a bound that is no nearer says nothing."""


class Kind(abc.ABC):
    """What is accepted as a value."""

    words: str
    """In a message, after "accepted: "."""

    @property
    @abc.abstractmethod
    def schema(self) -> Schema:
        """The JSON schema of such values."""

    @cached_property
    def alternatives(self) -> tuple[Kind, ...]:
        """The kinds of which a value may be."""
        return (self,)

    @cached_property
    def entries(self) -> Kind:
        """The kind of a list's entries, where all are of one kind."""
        inside = [kind.of for kind in self.alternatives if isinstance(kind, Array)]
        return inside[0] if len(inside) == 1 else Either(*inside)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Those of the alternatives that are lists with a kind for each place."""
        return tuple(kind for kind in self.alternatives if isinstance(kind, Row))

    @cached_property
    def lengths(self) -> tuple[int | None, int]:
        """How many entries a list has, None where that is not one number, and how many at least; of several kinds of lists nothing."""
        lists = [kind for kind in self.alternatives if isinstance(kind, (Array, Row))]
        if len(lists) != 1:
            return None, 0
        only = lists[0]
        if isinstance(only, Row):
            return len(only.of), 0
        return (only.most if only.most == only.least else None), only.least


@dataclass(frozen=True)
class Number(Kind):
    """A finite number in low..high."""

    low: float = -math.inf
    high: float = math.inf
    noun = "a number"

    @property
    def words(self) -> str:  # type: ignore[override]
        """Such as "a number from 0 to 1,000", without a bound that says nothing."""
        bottom = "" if self.low <= -LARGEST else f" from {_bound(self.low)}"
        return self.noun + bottom + ("" if self.high >= LARGEST else f" {'to' if bottom else 'up to'} {_bound(self.high)}")

    @property
    def schema(self) -> Schema:
        limits = {"minimum": self.low, "maximum": self.high}
        return {"type": "number"} | {key: limit for key, limit in limits.items() if abs(limit) < LARGEST}


@dataclass(frozen=True)
class Integer(Number):
    """An integer in low..high."""

    low: int = -LARGEST
    high: int = LARGEST
    noun = "an integer"

    @property
    def schema(self) -> Schema:
        return super().schema | {"type": "integer"}


@dataclass(frozen=True)
class String(Kind):
    """A text, perhaps an empty one; one that has a pattern (a regular expression) where there is one."""

    pattern: str = ""
    words = "a text"

    @property
    def schema(self) -> Schema:
        return {"type": "string"} | ({"pattern": self.pattern} if self.pattern else {})


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    words = "true or false"

    @property
    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Null(Kind):
    """Nothing. Of a key it is as good as none."""

    words = "null"

    @property
    def schema(self) -> Schema:
        return {"type": "null"}


@dataclass(frozen=True)
class Anything(Kind):
    """Any value."""

    words = "any JSON value"

    @property
    def schema(self) -> Schema:
        return {}


@dataclass(frozen=True)
class Choice(Kind):
    """One of some words."""

    of: Collection[str]

    @property
    def words(self) -> str:  # type: ignore[override]
        """The words."""
        return ", ".join(self.of)

    @property
    def schema(self) -> Schema:
        return {"enum": list(self.of)}


@dataclass(frozen=True)
class Constant(Kind):
    """This value alone."""

    value: str | int

    @property
    def words(self) -> str:  # type: ignore[override]
        """The value."""
        return str(self.value)

    @property
    def schema(self) -> Schema:
        return {"const": self.value}


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


@dataclass(frozen=True, init=False)
class Row(Kind):
    """A list with a value of each of these kinds, in this order."""

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


@dataclass(frozen=True)
class Table(Kind):
    """An object with any keys and values of one kind."""

    of: Kind
    words = "an object"

    @property
    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.of.schema}


@dataclass(frozen=True)
class Object(Kind):
    """An object with these keys alone, where it is not `open` to others; an optional one that is null is as good as missing."""

    required: Mapping[str, Kind]
    optional: Mapping[str, Kind] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Keys that others' files may have, and what is not supported then."""
    open: bool = False

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


@dataclass(frozen=True, init=False)
class Either(Kind):
    """What one of several kinds takes."""

    of: tuple[Kind, ...]

    def __init__(self, *of: Kind) -> None:
        object.__setattr__(self, "of", of)

    @property
    def words(self) -> str:  # type: ignore[override]
        """What each takes."""
        return " or ".join(each.words for each in self.of)

    @property
    def schema(self) -> Schema:
        return {"anyOf": [each.schema for each in self.of]}

    @cached_property
    def alternatives(self) -> tuple[Kind, ...]:
        """Those of each."""
        return tuple(kind for each in self.of for kind in each.alternatives)


def document(title: str, kind: Kind) -> Schema:
    """The schema of a whole file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **kind.schema}


def generator_call(problem: str, generators: Collection[str]) -> Object:
    """The call of a generator in place of what it makes (corl.files.json_instances.generated)."""
    optional = {"problem": Constant(problem), "name": String(), "comment": String(), "parameters": Table(Anything())}
    return Object({"generator": Choice(tuple(generators))}, optional)


def _bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
