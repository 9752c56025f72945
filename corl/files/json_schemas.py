"""JSON schemas (2020-12) put together from what corl.files.json_instances reads: a function here for each method of a Field.

    SCHEMAS = {
        "instance": document("corl knapsack instance", record(
            {"values": array(number(0, LARGEST)), ...},                    # must be there
            {"problem": constant("knapsack"), "name": TEXT, ...})),        # may be
        "solution": document("corl knapsack solution", array(integer())),
    }

What a schema refuses, the reader refuses; the reader refuses more, as a schema cannot hold one field against another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

__all__ = [
    "FLAG", "TEXT", "Schema", "array", "choice", "constant", "document", "either", "generated", "integer", "number", "record",
    "table",
]  # fmt: skip

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}


def document(title: str, schema: Schema) -> Schema:
    """A schema that stands by itself."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def number(low: float | None = None, high: float | None = None) -> Schema:
    """A number in low..high."""
    limits = {"minimum": low, "maximum": high}
    return {"type": "number"} | {key: limit for key, limit in limits.items() if limit is not None}


def integer(low: int | None = None, high: int | None = None) -> Schema:
    """An integer in low..high."""
    return number(low, high) | {"type": "integer"}


def choice(words: Collection[str]) -> Schema:
    """One of some words."""
    return {"enum": list(words)}


def constant(value: str | int) -> Schema:
    """This value alone."""
    return {"const": value}


def array(entries: Schema, least: int = 0, most: int | None = None) -> Schema:
    """A list of `least` to `most` entries of one kind."""
    limits = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": entries, "minItems": least} | limits


def either(*schemas: Schema) -> Schema:
    """What one of the schemas takes."""
    return {"anyOf": list(schemas)}


def record(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these keys alone; an optional one that is null is as good as missing."""
    nullable = {key: either(schema, {"type": "null"}) for key, schema in (optional or {}).items()}
    return {
        "type": "object",
        "properties": {**required, **nullable},
        "required": list(required),
        "additionalProperties": False,
    }


def table(values: Schema) -> Schema:
    """An object with any keys and values of one kind."""
    return {"type": "object", "additionalProperties": values}


def generated(problem: str, generators: Collection[str]) -> Schema:
    """The call of a generator in place of what it makes (json_instances.generated)."""
    optional = {"problem": constant(problem), "name": TEXT, "comment": TEXT, "parameters": {"type": "object"}}
    return record({"generator": choice(generators)}, optional)
