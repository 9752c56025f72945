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
import os
import sqlite3
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias
from urllib.parse import quote

from corl.errors import InputError, UsageError
from corl.files import json_values
from corl.record import Record, check_types

__all__ = ["Key", "Store", "key_of"]

Key: TypeAlias = tuple[str, str, str, int, float | None, int | None]
"""(suite, instance, solver, seed, time_limit, iterations): the identity of a run."""

_APPLICATION = 0x636F726C  # "corl", in the header of the file
_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process that writes

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


class Store:
    """A context manager around the file. Raises InputError for a file that is missing, damaged, too new or of another program.

    A store is used from the thread that opened it. Other processes may read the file at the same time (SQLite's write-ahead log).
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path)
        if not create and not self.path.exists():
            raise self._error("there is no such store; corl bench makes one")
        if self.path.exists() and not self.path.is_file():
            raise self._error("not a regular file; accepted: a store made by corl bench")
        with self._readable():
            self._connection = self._connect()
            try:
                self._check()
            except BaseException:
                self._connection.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        address = "file:" + quote(str(self.path.absolute()))
        if self.path.exists() and not os.access(self.path, os.W_OK):
            address += "?mode=ro" + ("" if Path(f"{self.path}-wal").exists() else "&immutable=1")
        return sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)

    def _check(self) -> None:
        """Create the tables in an empty file; refuse a file that is not a store."""
        # One statement, so that all three facts are of one moment: another process may be creating the tables.
        header = "(SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version)"
        application, version, tables = self._rows(f"SELECT {header}, (SELECT count(*) FROM sqlite_master)")[0]
        if not (application or version or tables):
            self._write_ahead()
            statements = f"{_SCHEMA} PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
            with contextlib.suppress(_CreatedMeanwhile):
                with self._transaction():
                    if self._pragma("application_id"):  # another process has created the tables
                        raise _CreatedMeanwhile
                    for statement in statements.split(";"):
                        self._connection.execute(statement)
        elif application != _APPLICATION:
            raise self._error("an SQLite file of another program; accepted: a store made by corl bench")
        elif version > _VERSION:
            raise self._error(f"written by a newer corl (schema {version}; this one reads up to {_VERSION}); update corl")

    def _write_ahead(self) -> None:
        """Turn on SQLite's write-ahead log; try again if another process does so at the same time (SQLite does not wait then)."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

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

    # ---------------------------------------------------------------- SQLite
    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all of the block or nothing of it."""
        with self._readable():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

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

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._readable():
            return self._connection.execute(query, values).fetchall()

    def _pragma(self, name: str) -> int:
        return int(self._rows(f"PRAGMA {name}")[0][0])

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Raise SQLite's errors as InputError or UsageError with the name of the file."""
        try:
            yield
        except sqlite3.OperationalError as error:  # locked, full, not writable
            raise UsageError(f"{self.path}: the store cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            raise self._error(f"damaged, or no store at all ({error}); accepted: a store made by corl bench") from error
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise self._error(f"damaged: {error}") from error

    def _error(self, message: str) -> InputError:
        return InputError(message, file=str(self.path))


class _CreatedMeanwhile(Exception):
    """Another process created the tables of a new store first."""


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
