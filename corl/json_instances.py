"""What readers of instances in JSON share: faults that name their line or key, and the keys that every problem has."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from corl.errors import InputError
from corl.files import from_json
from corl.text import Text

__all__ = ["read_object", "texts"]

_T = TypeVar("_T")


def read_object(text: Text, read: Callable[[dict[str, Any]], _T]) -> _T:
    """What `read` makes of the JSON object in a text. Raises InputError with the file, and the line of what is no JSON."""
    try:
        value = from_json(text.content, file=text.file)
    except InputError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        raise text.error(error.reason, line=line) from None
    if not isinstance(value, dict):
        raise text.error("accepted: a JSON object", line=text.first_line)
    try:
        return read(value)
    except InputError as error:
        raise text.error(error.reason, field=error.field) from None


def texts(value: Mapping[str, Any], problem: str, keys: Collection[str]) -> dict[str, str]:
    """The texts "name" and "comment" of an instance, "" where missing.

    Raises InputError for keys that are not among `keys`, another "problem", and a name or comment that is no text.
    """
    if unknown := [key for key in value if key not in keys]:
        raise InputError(f"there is no key {str(unknown[0])[:40]!r}; accepted: {', '.join(keys)}")
    if value.get("problem", problem) != problem:
        raise InputError(f"{value['problem']!r} is not accepted; accepted: {problem!r}"[:200], field="problem")
    found = {key: value.get(key, "") for key in ("name", "comment")}
    for key, given in found.items():
        if not isinstance(given, str):
            raise InputError("accepted: a text", field=key)
    return found
