"""Table: a TOML table whose errors name the file and the path of the key, and which refuses keys that nobody reads."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corl.errors import InputError
from corl.files.json_values import is_number
from corl.files.opening import reading

__all__ = ["Table", "read_toml"]

_SEEDS = 10_000  # one number may stand for
_LINE = re.compile(r" \(at line (\d+), column \d+\)")


def read_toml(path: Path) -> Table:
    """The whole file. Raises InputError, with the line for what is no TOML."""
    with reading(path):
        content = path.read_bytes()
    try:
        return Table(tomllib.loads(content.decode("utf-8")), str(path))
    except UnicodeDecodeError as error:
        line_number = content.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8; accepted: UTF-8 text", file=str(path), line=line_number) from error
    except ValueError as error:  # tomllib's own, or Python's of an integer of more than 4,300 digits
        line = _LINE.search(str(error))
        message = f"not TOML: {_LINE.sub('', str(error))}"
        raise InputError(message, file=str(path), line=int(line[1]) if line else None) from error


class Table:
    """Take every key once, then `close`."""

    def __init__(self, values: dict[str, Any], file: str, path: str = "") -> None:
        self._values, self.file, self._path = dict(values), file, path
        self._known: list[str] = []

    def error(self, key: str, message: str) -> InputError:
        """The InputError for a fault in the value of `key` ("" for the table itself)."""
        return InputError(message, file=self.file, field=".".join(part for part in (self._path, key) if part) or None)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def take(self, key: str, accepted: str, fits: Callable[[Any], bool], default: Any = None) -> Any:
        """The value of a key, or `default`. Raises InputError unless it `fits`, naming what is `accepted`."""
        self._known.append(key)
        if key not in self._values:
            return default
        value = self._values.pop(key)
        if not fits(value):
            raise self.error(key, f"{_short(value)} is not accepted; accepted: {accepted}")
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text that is not empty."""
        return str(self.take(key, "a text", lambda value: isinstance(value, str) and bool(value), default))

    def number(self, key: str, default: float) -> float:
        """A number above 0."""
        return float(self.take(key, "a number above 0", lambda value: is_number(value) and value > 0, default))

    def integer(self, key: str, default: int | None) -> int | None:
        """An integer from 1 up."""
        value: int | None = self.take(key, "an integer from 1 up", lambda value: type(value) is int and value > 0, default)
        return value

    def texts(self, key: str) -> list[str]:
        """A text or a list of them, as a list."""
        value = self.take(key, "a text or a list of texts", lambda value: _listed(value, lambda item: isinstance(item, str)), [])
        return [value] if isinstance(value, str) else value

    def seeds(self, key: str, default: list[int]) -> list[int]:
        """How many (then 0, 1, 2 ...), or which, without repetition."""
        accepted = f"how many, up to {_SEEDS}, or a list of integers from 0 up"
        fits: Callable[[Any], bool] = lambda value: _listed(value, lambda item: type(item) is int and item >= 0)  # noqa: E731
        few: Callable[[Any], bool] = lambda value: not isinstance(value, int) or 0 < value <= _SEEDS  # noqa: E731
        value = self.take(key, accepted, lambda value: fits(value) and few(value), default)
        return list(range(value)) if isinstance(value, int) else list(dict.fromkeys(value))

    def table(self, key: str) -> Table:
        """A table, empty if it is not there."""
        value = self.take(key, "a table", lambda value: isinstance(value, dict), {})
        return Table(value, self.file, ".".join(part for part in (self._path, key) if part))

    def tables(self, key: str) -> list[Table]:
        """The tables of `[[key]]`, at least one."""
        accepted = f"at least one [[{key}]]"
        fits: Callable[[Any], bool] = lambda value: isinstance(value, list) and all(isinstance(t, dict) for t in value)  # noqa: E731
        values = self.take(key, accepted, fits, [])
        if not values:
            raise self.error(key, f"missing; accepted: {accepted}")
        return [Table(value, self.file, f"{key}[{k}]") for k, value in enumerate(values, 1)]

    def rest(self) -> dict[str, Any]:
        """All that nobody has taken."""
        values, self._values = self._values, {}
        return values

    def close(self) -> None:
        """Refuse what nobody has taken: a mistyped key must not pass in silence."""
        for key in self._values:
            raise self.error(key, f"not a known key; accepted: {', '.join(self._known)}")


def _listed(value: Any, fits: Callable[[Any], bool]) -> bool:
    """One value that fits, or a list of them that is not empty."""
    return all(map(fits, value)) and bool(value) if isinstance(value, list) else fits(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
