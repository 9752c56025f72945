"""JSON: values to text and back; values that JSON lacks become null or text, malformed JSON is an InputError."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from corl.errors import InputError

__all__ = ["FLAT", "dumps", "from_json", "is_number", "to_json"]

_DEEPEST = 100  # levels of lists and objects in JSON, so that readers may recurse
FLAT = frozenset((int, float, str, bool, type(None)))
"""The types of JSON values other than lists and objects."""


def to_json(value: Any) -> str:
    """Return JSON on one line: tuples as lists, NumPy values as Python's, infinities and NaN as null, other objects as text."""
    return json.dumps(_plain(value), allow_nan=False)


def dumps(value: Any) -> str:
    """Return JSON on one line, NumPy's values as Python's, numbers unchanged: for the writers of instances."""
    return json.dumps(value, default=lambda each: each.tolist())


def from_json(text: str, *, file: str | None = None, field: str | None = None) -> Any:
    """Return the value in a JSON text. Raises InputError for anything else, including NaN and infinities."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise ValueError(f"the key {json.dumps(key)} is given twice in an object")
        return found

    try:
        value = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=file, field=field) from error
    if _deep(value):
        raise InputError(f"lists or objects nested too deeply; accepted: up to {_DEEPEST} levels", file=file, field=field)
    return value


def _deep(value: Any) -> bool:
    """Return whether lists and objects are nested too deeply."""
    level = [value]
    for _ in range(_DEEPEST):
        inside = [part.values() if type(part) is dict else part for part in level if type(part) in (dict, list)]
        level = [each for entries in inside if not FLAT.issuperset(map(type, entries)) for each in entries]
        if not level:
            return False
    return True


def is_number(value: Any) -> bool:
    """Return whether `value` is a number that a float can hold."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, (str, int)) else str(value)
