"""Database: an SQLite file of this program, with tables that are created once and transactions that survive a kill."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

from corl.errors import InputError, UsageError

__all__ = ["Database"]

_Self = TypeVar("_Self", bound="Database")
_PATIENCE = 30.0  # seconds to wait for another process that writes


class Database:
    """A context manager around the file. Raises InputError for a file that is missing, damaged, too new or of another program.

    Threads may share it: one at a time reads or writes. Other processes may read the file at the same time (SQLite's write-ahead
    log). A subclass declares the class variables.
    """

    noun: ClassVar[str]
    """The word for such a file in messages, such as "store"."""
    maker: ClassVar[str]
    """The command that creates such a file."""
    application: ClassVar[int]
    """The number in the header of the file (SQLite's application_id) by which it is recognised."""
    version: ClassVar[int]
    """The number of the tables' layout; a file with a higher one is refused."""
    tables: ClassVar[str]
    """The SQL statements that create the tables, each ended by a semicolon."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path)
        if not create and not self.path.exists():
            raise self._error(f"there is no such {self.noun}; {self.maker} makes one")
        if self.path.exists() and not self.path.is_file():
            raise self._error(f"not a regular file; accepted: a {self.noun} made by {self.maker}")
        self._lock = threading.RLock()
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
        return sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)

    def _check(self) -> None:
        """Create the tables in an empty file; refuse a file that is not such a database."""
        # One statement, so that all three facts are of one moment: another process may be creating the tables.
        header = "(SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version)"
        application, version, tables = self._rows(f"SELECT {header}, (SELECT count(*) FROM sqlite_master)")[0]
        if not (application or version or tables):
            self._write_ahead()
            statements = f"{self.tables} PRAGMA application_id = {self.application}; PRAGMA user_version = {self.version};"
            with contextlib.suppress(_CreatedMeanwhile):
                with self._transaction():
                    if self._pragma("application_id"):  # another process has created the tables
                        raise _CreatedMeanwhile
                    for statement in statements.split(";"):
                        self._connection.execute(statement)
        elif application != self.application:
            raise self._error(f"an SQLite file of another program; accepted: a {self.noun} made by {self.maker}")
        elif version > self.version:
            raise self._error(f"written by a newer corl (schema {version}; this one reads up to {self.version}); update corl")

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

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all of the block or nothing of it. A block within another one is a part of it."""
        with self._lock, self._readable():
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock, self._readable():
            return self._connection.execute(query, values).fetchall()

    def _pragma(self, name: str) -> int:
        return int(self._rows(f"PRAGMA {name}")[0][0])

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Raise SQLite's errors as InputError or UsageError with the name of the file."""
        try:
            yield
        except sqlite3.OperationalError as error:  # locked, full, not writable
            raise UsageError(f"{self.path}: the {self.noun} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            message = f"damaged, or no {self.noun} at all ({error}); accepted: a {self.noun} made by {self.maker}"
            raise self._error(message) from error
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise self._error(f"damaged: {error}") from error

    def _error(self, message: str) -> InputError:
        return InputError(message, file=str(self.path))


class _CreatedMeanwhile(Exception):
    """Another process created the tables of a new file first."""
