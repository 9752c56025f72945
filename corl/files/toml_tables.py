"""Table: a TOML table. Its errors name the file and the path of the key; a key that the program does not read is an error."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

from corl import fields
from corl.errors import InputError
from corl.fields import Array, Either, Integer, Kind, Number, String, Worded
from corl.files.opening import reading

__all__ = ["Table", "read_toml"]

_MOST_SEEDS = 10_000  # if seeds are given by their number
_TEXT = Worded(String("."), "a text")
_TEXTS = Worded(Either(String(), Array(String(), 1)), "a text or a list of texts")
_NUMBERS = Worded(Either(Number(above=0), Array(Number(above=0), 1)), "a number above 0, or a list of these")
_SEEDS = Worded(
    Either(Integer(1, _MOST_SEEDS), Array(Integer(0, math.inf), 1)),
    f"their number, up to {_MOST_SEEDS}, or a list of integers from 0 up",
)
_TABLE = Worded(fields.Table(fields.Anything()), "a table")
_LINE = re.compile(r" \(at line (\d+), column \d+\)")


def read_toml(path: Path) -> Table:
    """Return the table of a whole file. Raises InputError, with the line number if the file is not TOML."""
    with reading(path):
        content = path.read_bytes()
    try:
        return Table(tomllib.loads(content.decode("utf-8")), str(path))
    except UnicodeDecodeError as error:
        line_number = content.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8; accepted: UTF-8 text", file=str(path), line=line_number) from error
    except ValueError as error:  # of tomllib, or of Python for an integer of more than 4,300 digits
        line = _LINE.search(str(error))
        message = f"not TOML: {_LINE.sub('', str(error))}"
        raise InputError(message, file=str(path), line=int(line[1]) if line else None) from error


class Table:
    """A table whose keys are taken one by one; finally, `close` raises InputError if any is left."""

    def __init__(self, values: dict[str, Any], file: str, path: str = "") -> None:
        """Create a table; `path`: the keys that lead to it from the file's top, such as "solvers[2].options"."""
        self._values, self.file, self._path = dict(values), file, path
        self._accepted: list[str] = []

    def error(self, key: str, message: str) -> InputError:
        """Return the InputError for a fault in the value of `key` ("" for the table itself)."""
        return InputError(message, file=self.file, field=".".join(part for part in (self._path, key) if part) or None)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def holds_text(self, key: str) -> bool:
        """Return whether the value of a key is a text."""
        return isinstance(self._values.get(key), str)

    def take(self, key: str, kind: Kind, default: Any = None) -> Any:
        """Return the value of a key, or `default` if the key is missing. Raises InputError if the value is not of this kind."""
        self._accepted.append(key)
        if key not in self._values:
            return default
        value = self._values.pop(key)
        if not kind.fits(value):
            raise self.error(key, f"{_short(value)} is not accepted; accepted: {kind.words}")
        return value

    def text(self, key: str, default: str = "") -> str:
        """Return a text; it must not be empty if the key is given."""
        return str(self.take(key, _TEXT, default))

    def number(self, key: str, default: float) -> float:
        """Return a number, which must be above 0."""
        return float(self.take(key, Number(above=0), default))

    def numbers(self, key: str) -> list[float]:
        """Return a list of numbers above 0; the value may also be one number."""
        value = self.take(key, _NUMBERS, [])
        return [float(each) for each in (value if isinstance(value, list) else [value])]

    def integer(self, key: str, default: int | None) -> int | None:
        """Return an integer, which must be at least 1."""
        value: int | None = self.take(key, Integer(1), default)
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of texts; the value may also be one text."""
        value = self.take(key, _TEXTS, [])
        return [value] if isinstance(value, str) else value

    def seeds(self, key: str, default: list[int]) -> list[int]:
        """Return seeds without repetition; the value is a list, or the number of seeds: 3 means 0, 1 and 2."""
        value = self.take(key, _SEEDS, default)
        return list(range(value)) if isinstance(value, int) else list(dict.fromkeys(value))

    def table(self, key: str) -> Table:
        """Return a nested table, empty if the key is missing."""
        value = self.take(key, _TABLE, {})
        return Table(value, self.file, ".".join(part for part in (self._path, key) if part))

    def tables(self, key: str, least: int = 1) -> list[Table]:
        """Return the tables of `[[key]]`. Raises InputError if there are fewer than `least`, 0 or 1."""
        kind = Worded(Array(_TABLE), f"at least one [[{key}]]" if least else f"tables [[{key}]]")
        values = self.take(key, kind, [])
        if len(values) < least:
            raise self.error(key, f"missing; accepted: {kind.words}")
        return [Table(value, self.file, f"{key}[{k}]") for k, value in enumerate(values, 1)]

    def rest(self) -> dict[str, Any]:
        """Take all keys that are left; return them with their values."""
        values, self._values = self._values, {}
        return values

    def close(self) -> None:
        """Raise InputError if a key was not taken, because it may be mistyped."""
        for key in self._values:
            raise self.error(key, f"not a known key; accepted: {', '.join(self._accepted)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
