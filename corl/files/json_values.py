"""JSON: values to text and back. Values without a form in JSON become null or text; malformed JSON raises InputError."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from corl.errors import InputError

__all__ = ["FLAT", "dumps", "from_json", "is_number", "to_json"]

_MAX_LEVELS = 100  # of nested lists and objects, so that recursive readers do not exceed Python's limit
FLAT = frozenset((int, float, str, bool, type(None)))
"""The types of JSON values other than lists and objects."""


def to_json(value: Any) -> str:
    """Return JSON on one line. Tuples become lists, NumPy values Python's, infinities and NaN null, other objects text."""
    return json.dumps(_plain(value), allow_nan=False)


def dumps(value: Any) -> str:
    """Return JSON on one line for the writers of instances: NumPy values become Python's; numbers are not changed or checked."""
    return json.dumps(value, default=lambda each: each.tolist())


def from_json(text: str, *, file: str | None = None, field: str | None = None) -> Any:
    """Return the value in a JSON text. Raises InputError for anything else, including NaN and infinities."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a JSON number")

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
    if _is_too_deep(value):
        raise InputError(f"lists or objects nested too deeply; accepted: up to {_MAX_LEVELS} levels", file=file, field=field)
    return value


def _is_too_deep(value: Any) -> bool:
    """Return whether lists and objects are nested more than _MAX_LEVELS deep."""
    level = [value]
    for _ in range(_MAX_LEVELS):
        inside = [part.values() if type(part) is dict else part for part in level if type(part) in (dict, list)]
        level = [each for entries in inside if not FLAT.issuperset(map(type, entries)) for each in entries]
        if not level:
            return False
    return True


def is_number(value: Any) -> bool:
    """Return whether `value` is a finite number, not a bool, that a float can represent."""
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
