"""Pool: the threads of a server that pass jobs from the queue to worker processes, and record what these report."""

from __future__ import annotations

import contextlib
import logging
import pickle
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

from corl.errors import described
from corl.processes.child import Child
from corl.processes.executor import WAKE
from corl.serve.limits import Limits
from corl.serve.queue import Job, Queue
from corl.serve.worker import Ended

__all__ = ["GRACE", "PREPARATION", "Pool", "late", "record"]

PREPARATION = 900.0
"""Seconds for reading the instance, imports and compilation, until the clock of the solver starts."""
GRACE = 10.0
"""Seconds by which a job may exceed its time limit, or take to end after it was cancelled."""
_JOBS = 500  # of one process, before a new one replaces it: what engines leak does not add up
_RESTART = 1.0  # seconds between two attempts to start a process
_log = logging.getLogger(__name__)


def record(queue: Queue, job: Job, kind: str, values: Sequence[Any]) -> None:
    """Record a message of a worker about its job, except its end."""
    if kind == "started":
        queue.start(job.id)
    elif kind == "note":
        queue.note(job.id, *values)
    elif kind == "improved":
        queue.improve(job.id, *values)


def late(job: Job) -> str:
    """Return the reason why a job fails that has exceeded its time limit."""
    return f"it exceeded its time limit of {job.time_limit:g} s by {GRACE:g} s"


class Pool:
    """A context manager: `count` workers, each a process and the thread that manages it.

    A worker that is killed from outside loses its job, which is queued again. One that exceeds a limit is killed, and its job
    fails; the job's best solution so far is kept.
    """

    def __init__(self, queue: Queue, limits: Limits, count: int, folder: str) -> None:
        """Create a pool without processes; `folder`: where workers have folders for instances that they read."""
        self._workers = [_Worker(queue, limits, f"{folder}/worker-{k}", k) for k in range(count)]

    def __enter__(self) -> Pool:
        for worker in self._workers:
            worker.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.thread.join()

    def cancel(self, job: str) -> None:
        """Ask the worker of a job, if there is one, to end it and to keep its best solution."""
        for worker in self._workers:
            worker.cancel(job)


class _Worker:
    """A process that solves one job after the other, and its thread."""

    def __init__(self, queue: Queue, limits: Limits, folder: str, number: int) -> None:
        self._queue, self._limits, self._folder = queue, limits, folder
        self._child: Child | None = None
        self._solved = 0  # jobs of this process
        self._job: Job | None = None  # the current one
        self._latest: Job | None = None  # the current or the last one
        self._lock = threading.Lock()  # of `_job`, and of sending
        self._closed = threading.Event()
        self._begun = False  # whether the process has received the current job
        self._late = ""  # why the process was killed
        self._timer: threading.Timer | None = None
        self.thread = threading.Thread(target=self._work, name=f"worker {number}", daemon=True)

    def close(self) -> None:
        """End the process at once; its job is queued again when the next server starts."""
        self._closed.set()
        with self._lock:
            if self._child is not None:
                self._child.kill()

    def cancel(self, job: str) -> None:
        with self._lock:
            if self._job is not None and self._job.id == job and self._child is not None:
                with contextlib.suppress(OSError, ValueError):
                    self._child.send("cancel")
                self._kill_after(GRACE, "it did not end when it was cancelled")

    def _work(self) -> None:
        """Solve jobs until the pool is closed."""
        while not self._closed.is_set():
            try:
                if self._child is not None and self._child.ended:  # killed while it had no job
                    self._end()
                if self._child is None and not self._start():
                    self._closed.wait(_RESTART)
                elif (job := self._queue.take(WAKE)) is not None:
                    self._solve(job)
            except Exception as error:  # the disk is full, or a fault of the server: no worker is lost by it
                _log.warning("a worker is replaced: %s", described(error))
                with contextlib.suppress(Exception):
                    self._end()
                with contextlib.suppress(Exception):
                    self._release(described(error))
                self._closed.wait(_RESTART)
        self._end()

    def _release(self, reason: str) -> None:
        """Queue the job of this worker again, if it has not ended."""
        if self._latest is not None:
            self._queue.release(self._latest.id, reason)

    def _start(self) -> bool:
        """Start a process; return whether this was possible."""
        with contextlib.suppress(OSError):
            child = Child("corl.serve.worker", self._folder, threads=1, group=True)
            with self._lock:
                self._child, self._solved = child, 0
            return True
        return False

    def _end(self) -> None:
        """End the process, and all processes that it started."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.reap()
            child.close()

    def _solve(self, job: Job) -> None:
        """Let the process solve one job, and record its end."""
        self._latest = job
        with self._lock:
            self._job, self._late, self._begun = job, "", False
            self._kill_after(PREPARATION, f"it was not prepared in {PREPARATION:g} s")
        try:
            ended = self._followed(job)
        finally:
            with self._lock:
                self._job = None
                self._kill_after(None, "")
        if ended is not None:
            self._queue.finish(job.id, ended.state, ended.reason, ended.result, **(ended.facts or {}))
            self._solved += 1
            if self._solved >= _JOBS:
                self._end()
        else:
            self._lose(job)

    def _followed(self, job: Job) -> Ended | None:
        """Send the job to the process and record its messages; return how it ended, None if the process is gone."""
        assert self._child is not None
        try:
            with self._lock:
                self._child.send(("solve", self._queue.request(job.id), self._limits))
                self._begun = True
            if self._is_cancelled(job):  # before this worker could be asked
                self.cancel(job.id)
            while True:
                kind, *values = self._child.receive()
                if kind == "ended":
                    return Ended(*values)
                self._record(job, kind, values)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            return None

    def _record(self, job: Job, kind: str, values: list[Any]) -> None:
        """Record a message of the process."""
        record(self._queue, job, kind, values)
        if kind == "started":
            cancelled = self._is_cancelled(job)
            with self._lock:
                if not cancelled:
                    self._kill_after(job.time_limit + GRACE, late(job))

    def _is_cancelled(self, job: Job) -> bool:
        found = self._queue.job(job.id)
        return found is not None and found.cancelled

    def _lose(self, job: Job) -> None:
        """Record that the process is gone, and replace it."""
        child = self._child
        assert child is not None
        self._end()
        if self._closed.is_set():
            self._queue.release(job.id, "the server was ended", counted=False)
        elif not self._late:
            reason = f"its worker {child.ending()}; a process may use {self._limits.max_memory} MiB"
            self._queue.release(job.id, reason, counted=self._begun)
        else:
            self._queue.finish(job.id, "cancelled" if self._is_cancelled(job) else "failed", self._late)

    def _kill_after(self, seconds: float | None, reason: str) -> None:
        """Kill the process after some seconds, None: never, instead of when it was planned before. The lock is held."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else threading.Timer(seconds, partial(self._kill, self._job, reason))
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def _kill(self, job: Job | None, reason: str) -> None:
        with self._lock:
            if self._job is job and self._child is not None:
                self._late = reason
                self._child.kill()
