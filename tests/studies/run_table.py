"""A table of runs as a CSV file that an interrupted study continues."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["RunTable", "rows_of"]


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with file.open(newline="", encoding="utf-8") as table:
        return list(csv.DictReader(table))


class RunTable:
    """Rows that are in the file as soon as their run has ended: a study that was interrupted goes on with what is missing.

    Attributes:
        rows: What the file had at first.
    """

    def __init__(self, file: Path, fields: Sequence[str], keys: Sequence[str]) -> None:
        """Read which runs the file has.

        Args:
            file: The CSV file. It is made by the first row.
            fields: The names of the columns.
            keys: Those that identify a run.
        """
        self.file, self.fields, self.keys = file, tuple(fields), tuple(keys)
        self.rows = rows_of(file) if file.exists() else []
        if self.rows and tuple(self.rows[0]) != self.fields:
            raise SystemExit(f"{file}: its columns are {', '.join(self.rows[0])}; accepted: {', '.join(self.fields)}")
        self._done = {self._key(row) for row in self.rows}

    def has(self, *values: object) -> bool:
        """Whether there is a run of these values of the keys, in the order of `keys`."""
        return tuple(map(str, values)) in self._done

    def append(self, row: Mapping[str, Any] | Sequence[Any]) -> None:
        """Write a row, given by names or in the order of the columns, at once."""
        line = dict(row) if isinstance(row, Mapping) else dict(zip(self.fields, row, strict=True))
        new = not self.file.exists() or self.file.stat().st_size == 0
        with self.file.open("a", newline="", encoding="utf-8") as table:
            writer = csv.DictWriter(table, self.fields, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(line)
        self._done.add(self._key(line))

    def _key(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self.keys)
