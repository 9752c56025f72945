"""Store: the SQLite file of finished runs, one transaction per run, so that a killed process loses none of them.

    with Store(path) as store:                 # an existing file; InputError if it is not a store
        for record in store.records("smoke"):  # without their solutions, 10,000 in well under a second
            tour = store.solution(record)      # in the problem's JSON form, read on request

`Store(path, create=True)` creates the file if it does not exist. Training runs keep their curves in the same file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from corl.database import Database
from corl.files import json_values
from corl.record import Record, check_types

__all__ = ["Key", "Store", "key_of"]

Key: TypeAlias = tuple[str, str, str, int, float | None, int | None]
"""(suite, instance, solver, seed, time_limit, iterations): the identity of a run."""

_JSON = ("options", "facts", "cores")  # fields of a Record that are stored as JSON; its trace is packed, see `_packed`
_SHARED = ("versions", "machine", "commit")  # fields that are equal in most runs: stored once, in the table `circumstances`
_FIELDS = [field.name for field in dataclasses.fields(Record)]
_COLUMNS = [name for name in _FIELDS if name not in (*_SHARED, "solution")]
_TYPES = {"seed": "INTEGER", "iterations": "INTEGER", "peak_bytes": "INTEGER", "trace": "BLOB"} | dict.fromkeys(
    ("time_limit", "objective", "bound", "reference", "runtime", "setup_seconds", "wall_seconds", "cpu_seconds"), "REAL"
)
_KEY = ("suite", "instance", "solver", "seed", "time_limit", "iterations")
_HAS_KEY = " AND ".join(f"{name} IS ?" for name in _KEY)  # IS, because = is not true for two NULLs

_SCHEMA = f"""
CREATE TABLE circumstances (id INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    circumstances INTEGER NOT NULL REFERENCES circumstances,
    {", ".join(f'"{name}" {_TYPES.get(name, "TEXT")}' for name in _COLUMNS)}
);
CREATE UNIQUE INDEX runs_key ON runs (suite, instance, solver, seed, ifnull(time_limit, -1), ifnull(iterations, -1));
CREATE TABLE solutions (run INTEGER PRIMARY KEY REFERENCES runs, json TEXT NOT NULL);
CREATE TABLE suites (suite TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE commands (id INTEGER PRIMARY KEY, suite TEXT NOT NULL, command TEXT NOT NULL, UNIQUE (suite, command));
CREATE TABLE trainings (run TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE curves (run TEXT, name TEXT, step REAL, value REAL, PRIMARY KEY (run, name, step)) WITHOUT ROWID;
"""


def key_of(record: Record) -> Key:
    """Return the key that identifies a run in a store."""
    return (record.suite, record.instance, record.solver, record.seed, record.time_limit, record.iterations)


class Store(Database):
    """The file of finished runs and training runs."""

    noun, maker = "store", "corl bench"
    application, version, tables = 0x636F726C, 1, _SCHEMA  # "corl"

    # ---------------------------------------------------------------- runs
    def add(self, record: Record) -> bool:
        """Add a run, in one transaction. Return False, and change nothing, if a run with its key is stored already."""
        shared = json_values.to_json({name: getattr(record, name) for name in _SHARED})
        values = [_column(name, getattr(record, name)) for name in _COLUMNS]
        names, marks = ", ".join(f'"{name}"' for name in _COLUMNS), ", ".join("?" * len(values))
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO circumstances (json) VALUES (?)", (shared,))
            (circumstances,) = connection.execute("SELECT id FROM circumstances WHERE json = ?", (shared,)).fetchone()
            insert = f"INSERT OR IGNORE INTO runs (circumstances, {names}) VALUES (?, {marks})"
            done = connection.execute(insert, (circumstances, *values))
            if done.rowcount == 0:
                return False
            if record.solution is not None:
                solution = json_values.to_json(record.solution)
                connection.execute("INSERT INTO solutions (run, json) VALUES (?, ?)", (done.lastrowid, solution))
        return True

    def records(self, suite: str | None = None) -> list[Record]:
        """Return all runs, or those of a suite, in the order in which they were stored; without solutions (see `solution`)."""
        with self._readable():
            read = functools.cache(self._json)  # most JSON texts occur in many runs
            shared = {number: read("circumstances", text) for number, text in self._rows("SELECT id, json FROM circumstances")}
            names = ", ".join(f'"{name}"' for name in _COLUMNS)
            where, values = ("WHERE suite = ?", (suite,)) if suite is not None else ("", ())
            rows = self._rows(f"SELECT circumstances, {names} FROM runs {where} ORDER BY id", values)
            with _without_collection():
                found = [_record(row, shared[row[0]], read) for row in rows]
                check_types(found)
                return found

    def solution(self, record: Record) -> Any:
        """Return the solution of a stored run in the problem's JSON form; None if none was found or kept."""
        query = f"SELECT json FROM solutions WHERE run = (SELECT id FROM runs WHERE {_HAS_KEY})"
        found = self._rows(query, key_of(record))
        return self._json("solution", found[0][0]) if found else None

    def done_keys(self, suite: str | None = None) -> set[Key]:
        """Return the keys of the stored runs, whatever their outcome."""
        where, values = ("WHERE suite = ?", (suite,)) if suite is not None else ("", ())
        return {tuple(row) for row in self._rows(f"SELECT {', '.join(_KEY)} FROM runs {where}", values)}

    # ---------------------------------------------------------------- suites
    def suites(self) -> dict[str, Any]:
        """Return suite name -> its definition (its problem, solvers with options, instances), as given to `add_suite`."""
        return self._objects("SELECT suite, json FROM suites ORDER BY rowid")

    def add_suite(self, suite: str, definition: Mapping[str, Any], command: str = "") -> None:
        """Store the definition of a suite, and a command that ran it; the latest definition is kept."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO suites VALUES (?, ?)", (suite, json_values.to_json(definition)))
            if command:
                connection.execute("INSERT OR IGNORE INTO commands (suite, command) VALUES (?, ?)", (suite, command))

    def commands(self, suite: str) -> list[str]:
        """Return the commands that ran a suite, in order."""
        found = [text for (text,) in self._rows("SELECT command FROM commands WHERE suite = ? ORDER BY id", (suite,))]
        if wrong := [text for text in found if not isinstance(text, str)]:
            raise self._error(f"damaged: {wrong[0]!r} is no command")
        return found

    # ---------------------------------------------------------------- training runs
    def add_training(self, run: str, facts: Mapping[str, Any]) -> None:
        """Store a training run: its parameters, seeds, versions. A second call replaces the facts, not the curves."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO trainings VALUES (?, ?)", (run, json_values.to_json(facts)))

    def trainings(self) -> dict[str, Any]:
        """Return name of a training run -> its facts."""
        return self._objects("SELECT run, json FROM trainings ORDER BY rowid")

    def add_curve(self, run: str, step: float, name: str, value: float) -> None:
        """Add a point to a training run's curve `name`; a repeated step (after a restart) is replaced."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO curves VALUES (?, ?, ?, ?)", (run, name, step, value))

    def curves(self) -> dict[str, dict[str, list[tuple[float, float | None]]]]:
        """Return name of a training run -> curve name -> [(step, value)] by rising step; a value that was not finite is None."""
        found: dict[str, dict[str, list[tuple[float, float | None]]]] = {}
        for run, name, step, value in self._rows("SELECT run, name, step, value FROM curves ORDER BY run, name, step"):
            texts = isinstance(run, str) and isinstance(name, str)
            if not (texts and json_values.is_number(step) and (value is None or json_values.is_number(value))):
                raise self._error(f"damaged: {step!r}, {value!r} is no point of a curve")
            found.setdefault(run, {}).setdefault(name, []).append((step, value))
        return found

    def _objects(self, query: str) -> dict[str, Any]:
        """Return name -> JSON object from a query whose rows are a name and a JSON text."""
        with self._readable():
            found = {name: self._json(str(name), text) for name, text in self._rows(query)}
            for name, value in found.items():
                if not isinstance(name, str) or not isinstance(value, dict):
                    raise ValueError(f"{name!r} is no text with a JSON object")
            return found

    def _json(self, field: str, text: Any) -> Any:
        return json_values.from_json(text, file=str(self.path), field=field)


def _column(name: str, value: Any) -> Any:
    """Return a field of a Record as SQLite stores it."""
    return _packed(value) if name == "trace" else json_values.to_json(value) if name in _JSON else value


def _record(row: tuple[Any, ...], shared: Mapping[str, Any], read: Callable[[str, Any], Any]) -> Record:
    values = dict(zip(_COLUMNS, row[1:]), **shared)
    for name in _JSON:
        values[name] = read(name, values[name])
    values["trace"] = _unpacked(values["trace"])
    values["cores"] = tuple(values["cores"])
    return Record(**values)


def _packed(trace: Iterable[tuple[float, float | None, float | None]]) -> bytes:
    """Return a trace as little-endian float64, three per point, NaN for unknown. (JSON would take five times as long to read.)"""
    numbers = [math.nan if number is None else number for point in trace for number in point]
    return struct.pack(f"<{len(numbers)}d", *numbers)


def _unpacked(trace: bytes) -> tuple[tuple[float, float | None, float | None], ...]:
    """Return the trace that `_packed` was given. Raises ValueError for invalid numbers."""
    numbers = struct.unpack(f"<{len(trace) // 8}d", trace)
    times = numbers[::3]
    if times and not (math.isfinite(sum(times)) and min(times) >= 0.0):
        raise ValueError("the times of a trace are not all from 0 up")
    if math.inf in numbers or -math.inf in numbers:
        raise ValueError("a value of a trace is not finite")
    return tuple(zip(times, _known(numbers[1::3]), _known(numbers[2::3])))


def _known(numbers: Sequence[float]) -> Sequence[Any]:
    """Return the numbers with None in place of NaN."""
    unknown = sum(map(math.isnan, numbers))
    if unknown in (0, len(numbers)):
        return (None,) * len(numbers) if unknown else numbers
    return [None if math.isnan(number) else number for number in numbers]


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Disable the garbage collector in the block, where it would traverse a million long-lived tuples many times."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
