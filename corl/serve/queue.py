"""Queue: the SQLite file of jobs. Each change is one transaction, so that a killed server loses no job and no result."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from corl.database import Database
from corl.errors import CorlError, UsageError
from corl.files.json_values import from_json, to_json
from corl.serve.limits import Limits

__all__ = ["ENDED", "STATES", "Event", "Job", "Queue", "QueueFull"]

STATES = {
    "queued": "it waits for a worker",
    "preparing": "a worker reads the instance and compiles kernels",
    "running": "the clock of the solver runs",
    "done": "the solver has ended; the result says what it found",
    "cancelled": "it was cancelled; there is a result if a solution was found before",
    "failed": "there is no result; the reason says why",
}
ENDED = ("done", "cancelled", "failed")
"""The states in which a job remains."""
_ENDED = "('done', 'cancelled', 'failed')"
_MAX_ATTEMPTS = 3  # of a job whose worker is lost
_POLL = 0.5  # seconds between two looks for jobs, in case a notification is missed


@dataclass(frozen=True)
class Job:
    """One job, without its request, its solution and its result."""

    id: str
    state: str
    """One of STATES."""
    problem: str
    instance: str
    """The instance's name."""
    sense: str
    solver: str
    time_limit: float
    submitted: float
    """Seconds since 1970, as are `started` and `ended`."""
    started: float | None
    """When the clock of the solver started for the last time."""
    ended: float | None
    objective: float | None
    bound: float | None
    reason: str
    attempts: int
    """How often a worker began it."""
    cancelled: bool
    """Whether a client has asked to cancel it."""


class Event(NamedTuple):
    """An event of a job."""

    number: int
    kind: str
    values: dict[str, Any]


class QueueFull(CorlError):
    """There are too many jobs that have not ended."""


_FIELDS = [field.name for field in fields(Job)]
_TABLES = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, client TEXT NOT NULL, request BLOB NOT NULL,
    state TEXT NOT NULL, problem TEXT NOT NULL, instance TEXT NOT NULL, sense TEXT NOT NULL, solver TEXT NOT NULL,
    time_limit REAL NOT NULL, submitted REAL NOT NULL, started REAL, ended REAL, objective REAL, bound REAL,
    reason TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0, cancelled INTEGER NOT NULL DEFAULT 0,
    solution TEXT, result BLOB
);
CREATE INDEX jobs_state ON jobs (state, number);
CREATE INDEX jobs_open ON jobs (client) WHERE state NOT IN ('done', 'cancelled', 'failed');
CREATE TABLE events (
    job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE, number INTEGER NOT NULL, kind TEXT NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (job, number)
) WITHOUT ROWID;
"""


class Queue(Database):
    """The file of jobs; one server at a time uses it, with any number of threads. Raises as `Database` does."""

    noun, maker = "queue", "corl serve"
    application, version, tables = 0x636F726A, 1, _TABLES  # "corj"

    def __init__(self, path: str | os.PathLike[str], limits: Limits) -> None:
        """Open the file, or create it. Jobs that were running when the last server ended are queued again.

        Raises UsageError if another server uses the file.
        """
        self._owner = _claimed(Path(path))
        if not Path(path).exists():
            Path(path).touch(0o600)  # data of clients
        super().__init__(path, create=True)
        self._limits, self._changed = limits, threading.Condition()
        self._connection.execute("PRAGMA foreign_keys = ON")
        for (job,) in self._rows("SELECT id FROM jobs WHERE state IN ('preparing', 'running')"):
            self.release(job, "the server was ended")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        os.close(self._owner)

    # ---------------------------------------------------------------- clients
    def add(self, client: str, request: bytes, facts: Mapping[str, Any]) -> Job:
        """Add a job, and return it.

        Args:
            client: The client, whose open jobs are counted.
            request: The body of the request.
            facts: `Request.facts`.

        Raises:
            QueueFull: There are too many open jobs, of this client or of all.
        """
        job_id = secrets.token_urlsafe(16)
        new: dict[str, Any] = {"id": job_id, "client": client, "request": zlib.compress(request, 1), "state": "queued"}
        new |= {**facts, "submitted": time.time()}
        with self._transaction() as connection:
            self._check_room(client)
            names, marks = ", ".join(new), ", ".join("?" * len(new))
            connection.execute(f"INSERT INTO jobs ({names}) VALUES ({marks})", tuple(new.values()))
            self._note(job_id, "state", {"state": "queued"})
            job = self.job(job_id)
        self._notify()
        assert job is not None
        return job

    def _check_room(self, client: str) -> None:
        open_jobs = f"SELECT count(*) FROM jobs WHERE state NOT IN {_ENDED}"
        if self._rows(open_jobs)[0][0] >= (most := self._limits.max_waiting):
            raise QueueFull(f"{most} jobs have not ended; accepted: a job later")
        if self._rows(f"{open_jobs} AND client = ?", (client,))[0][0] >= (most := self._limits.max_per_client):
            raise QueueFull(f"{most} jobs of this client have not ended; accepted: a job later")

    def job(self, job: str) -> Job | None:
        """Return the job of that id; None if there is none."""
        found = self._rows(f"SELECT {', '.join(_FIELDS)} FROM jobs WHERE id = ?", (job,))
        if not found:
            return None
        values = dict(zip(_FIELDS, found[0]))
        return Job(**values | {"cancelled": bool(values["cancelled"])})

    def counts(self) -> dict[str, int]:
        """Return state -> number of jobs."""
        return dict.fromkeys(STATES, 0) | dict(self._rows("SELECT state, count(*) FROM jobs GROUP BY state"))

    def events(self, job: str, after: int = 0) -> list[Event]:
        """Return the events of a job whose number is above `after`, in order."""
        query = f"SELECT number, kind, json FROM events WHERE job = {_NUMBER} AND number > ? ORDER BY number"
        return [Event(number, kind, from_json(text)) for number, kind, text in self._rows(query, (job, after))]

    def last_event(self, job: str) -> int:
        """Return the number of the last event of a job."""
        return int(self._rows(f"SELECT ifnull(max(number), 0) FROM events WHERE job = {_NUMBER}", (job,))[0][0])

    def request(self, job: str) -> bytes:
        """Return the body of a job's request. Raises UsageError if the job has been deleted."""
        packed = self._value("request", job)
        if packed is None:
            raise UsageError("there is no such job any more")
        return zlib.decompress(packed)

    def solution(self, job: str) -> str | None:
        """Return the best solution so far, a JSON text; None if there is none."""
        found: str | None = self._value("solution", job)
        return found

    def result(self, job: str) -> bytes | None:
        """Return the result of a job, the JSON text of a `corl.Result`; None if there is none."""
        packed = self._value("result", job)
        return None if packed is None else zlib.decompress(packed)

    def _value(self, column: str, job: str) -> Any:
        """Return the value in a column of a job; None if there is none, or no such job."""
        found = self._rows(f"SELECT {column} FROM jobs WHERE id = ?", (job,))
        return found[0][0] if found else None

    def cancel(self, job: str) -> None:
        """Cancel a job: at once if it is queued; otherwise its worker must be asked to end it. Ended jobs remain as they are."""
        with self._transaction() as connection:
            connection.execute(f"UPDATE jobs SET cancelled = 1 WHERE id = ? AND state NOT IN {_ENDED}", (job,))
            if self._rows("SELECT 1 FROM jobs WHERE id = ? AND state = 'queued'", (job,)):
                self.finish(job, "cancelled", "before it began")

    # ---------------------------------------------------------------- workers
    def take(self, timeout: float) -> Job | None:
        """Wait for a queued job, and return the oldest, now "preparing"; None if there is none within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while (job := self._first()) is None and (left := deadline - time.monotonic()) > 0:
            with self._changed:
                self._changed.wait(min(left, _POLL))
        return job

    def _first(self) -> Job | None:
        with self._lock:
            query = "SELECT id FROM jobs WHERE state = 'queued' ORDER BY number LIMIT 1"
            if not (found := self._rows(query)):
                return None
            with self._transaction() as connection:
                connection.execute("UPDATE jobs SET attempts = attempts + 1 WHERE id = ?", found[0])
                self._move(found[0][0], "preparing")
                return self.job(found[0][0])

    def start(self, job: str) -> None:
        """Record that the clock of a job's solver has started."""
        with self._transaction() as connection:
            connection.execute("UPDATE jobs SET started = ? WHERE id = ?", (time.time(), job))
            self._move(job, "running")

    def note(self, job: str, text: str) -> None:
        """Add an event "note": a text, such as the announcement of a compilation."""
        with self._transaction():
            self._note(job, "note", {"text": text})

    def improve(self, job: str, seconds: float, objective: float | None, bound: float | None, solution: str | None) -> None:
        """Add an event "improved", and keep the best solution so far (a JSON text; None: as before)."""
        with self._transaction() as connection:
            update = "UPDATE jobs SET objective = ?, bound = ?, solution = ifnull(?, solution) WHERE id = ?"
            connection.execute(update, (objective, bound, solution, job))
            self._note(job, "improved", {"seconds": seconds, "objective": objective, "bound": bound})

    def finish(self, job: str, state: str, reason: str = "", result: str | None = None, **facts: Any) -> None:
        """End a job.

        Args:
            job: The id.
            state: One of ENDED.
            reason: Why there is no result, or no better one; "" if there is nothing to say.
            result: The JSON text of a `corl.Result`; None if there is none.
            **facts: The result's `objective`, `bound` and `solver`.
        """
        values = {"ended": time.time(), "reason": reason, **facts}
        if result is not None:
            values |= {"result": zlib.compress(result.encode(), 1), "solution": None}
        with self._transaction() as connection:
            columns = ", ".join(f"{name} = ?" for name in values)
            connection.execute(f"UPDATE jobs SET {columns} WHERE id = ?", (*values.values(), job))
            self._move(job, state, {"reason": reason} if reason else {})
            surplus = f"SELECT number FROM jobs WHERE state IN {_ENDED} ORDER BY number DESC LIMIT -1 OFFSET ?"
            connection.execute(f"DELETE FROM jobs WHERE number IN ({surplus})", (self._limits.keep,))

    def release(self, job: str, reason: str, counted: bool = True) -> None:
        """Queue a job again whose worker is lost; it fails, or is cancelled, if it was begun too often or is to be cancelled.

        `counted`: whether this attempt counts, because the job may be the reason why the worker is lost.
        """
        with self._transaction() as connection:
            if not counted:
                connection.execute("UPDATE jobs SET attempts = attempts - 1 WHERE id = ?", (job,))
            found = self.job(job)
            if found is None or found.state in ENDED:
                return
            if found.cancelled:
                self.finish(job, "cancelled", reason)
            elif found.attempts >= _MAX_ATTEMPTS:
                self.finish(job, "failed", f"{reason}, after {found.attempts} attempts")
            else:
                self._move(job, "queued", {"reason": reason})
        self._notify()

    # ---------------------------------------------------------------- parts of transactions
    def _move(self, job: str, state: str, more: Mapping[str, Any] | None = None) -> None:
        """Change the state of a job, and add the event."""
        self._connection.execute("UPDATE jobs SET state = ? WHERE id = ?", (state, job))
        self._note(job, "state", {"state": state, **(more or {})})

    def _note(self, job: str, kind: str, values: Mapping[str, Any]) -> None:
        """Add an event."""
        following = f"SELECT ifnull(max(number), 0) + 1 FROM events WHERE job = {_NUMBER}"
        self._connection.execute(
            f"INSERT INTO events VALUES ({_NUMBER}, ({following}), ?, ?)", (job, job, kind, to_json(values))
        )  # fmt: skip

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify()


_NUMBER = "(SELECT number FROM jobs WHERE id = ?)"


def _claimed(path: Path) -> int:
    """Lock the file beside a queue that marks its server; return the descriptor that holds the lock. Raises UsageError."""
    lock = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{path}: the queue cannot be used: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise UsageError(f"{path}: another corl serve uses this queue; accepted: another --store") from None
    return descriptor
