"""Ray pool: jobs that are solved on a Ray cluster instead of this machine (extra "distributed").

A task of Ray solves one job. What it reports, and the requests to cancel jobs, pass through one actor, the Board.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue as queues
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from corl.networks.checkpoints import SHIPPED_ONLY
from corl.processes.executor import Outcome
from corl.processes.ray import Cluster, Ray
from corl.serve.limits import Limits
from corl.serve.pool import GRACE, PREPARATION, late, record
from corl.serve.queue import Job, Queue
from corl.serve.worker import Ended, Worker

__all__ = ["RayPool"]

_EVERY = 0.2  # seconds between two looks at the board


class Board:
    """An actor: the messages of tasks, and the jobs that are to be cancelled."""

    def __init__(self) -> None:
        self._messages: list[tuple[int, tuple[Any, ...]]] = []
        self._cancelled: set[int] = set()

    def put(self, number: int, message: tuple[Any, ...]) -> None:
        self._messages.append((number, message))

    def take(self) -> list[tuple[int, tuple[Any, ...]]]:
        """Return the messages since the last call."""
        found, self._messages = self._messages, []
        return found

    def cancel(self, number: int) -> None:
        self._cancelled.add(number)

    def is_cancelled(self, number: int) -> bool:
        return number in self._cancelled


class RayPool:
    """A context manager with the interface of a Pool. A job whose node is lost is queued again."""

    def __init__(self, queue: Queue, limits: Limits, address: str, jobs: int | None) -> None:
        """Connect to the cluster. Raises UsageError if there is none.

        Args:
            queue: The jobs.
            limits: The limits of each job.
            address: The cluster's address, as for `ray.init`.
            jobs: The most jobs at a time; None: one for each processor of the cluster.
        """
        cluster = Cluster(address, "--address")
        self._queue, self._limits, self._ray = queue, limits, cluster.ray
        self._count = jobs or cluster.processors
        self._board: Any = cluster.ray.remote(num_cpus=0)(Board).remote()
        task = cluster.ray.remote(max_retries=0)(_solved)
        self._executor = Ray(cluster, lambda payload, cores: task.options(num_cpus=cores).remote(payload))
        self._numbers = itertools.count()
        self._running: dict[int, Job] = {}
        self._deadlines: dict[int, tuple[float, str]] = {}  # number -> when the task is killed, and the reason
        self._closed, self._lock = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> RayPool:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._closed.set()
        self._thread.join()
        for job in self._running.values():
            self._queue.release(job.id, "the server was ended", counted=False)
        self._executor.close()

    def cancel(self, job: str) -> None:
        """Ask the task of a job, if there is one, to end it and to keep its best solution."""
        with self._lock:
            numbers = [number for number, each in self._running.items() if each.id == job]
        for number in numbers:
            self._board.cancel.remote(number)
            self._deadlines[number] = (time.monotonic() + GRACE, "it did not end when it was cancelled")

    def _work(self) -> None:
        """Start tasks and record what they report, until the pool is closed."""
        while not self._closed.is_set():
            while len(self._running) < self._count and (job := self._queue.take(0.0)) is not None:
                self._start(job)
            self._record()
            for number, (deadline, _) in list(self._deadlines.items()):
                if time.monotonic() > deadline:
                    self._executor.cancel(number)
            found = self._executor.take(timeout=_EVERY) if self._running else None
            if found is not None:
                self._record()
                self._end(*found)
            elif not self._running:
                self._closed.wait(_EVERY)

    def _start(self, job: Job) -> None:
        number = next(self._numbers)
        with self._lock:
            self._running[number] = job
        self._deadlines[number] = (time.monotonic() + PREPARATION, f"it was not prepared in {PREPARATION:g} s")
        self._executor.submit(number, (number, self._queue.request(job.id), self._limits, self._board), self._limits.max_workers)

    def _record(self) -> None:
        """Record the messages on the board."""
        with contextlib.suppress(self._ray.exceptions.RayError):  # the actor's node is lost: jobs end without messages
            for number, (kind, *values) in self._ray.get(self._board.take.remote()):
                if (job := self._running.get(number)) is not None:
                    record(self._queue, job, kind, values)
                    if kind == "started":
                        self._deadlines[number] = (time.monotonic() + job.time_limit + GRACE, late(job))

    def _end(self, number: int, outcome: Outcome) -> None:
        """Record the end of a task."""
        with self._lock:
            job = self._running.pop(number)
        deadline, reason = self._deadlines.pop(number)
        kind, value = outcome
        if kind == "answer":
            ended: Ended = value
            self._queue.finish(job.id, ended.state, ended.reason, ended.result, **(ended.facts or {}))
        elif time.monotonic() > deadline:
            self._queue.finish(job.id, "failed", reason)
        else:
            self._queue.release(job.id, str(value))


def _solved(payload: tuple[int, bytes, Limits, Any]) -> Outcome:
    """Solve a job within a task of Ray, which runs in the main thread of its process."""
    import ray

    number, body, limits, board = payload
    os.environ[SHIPPED_ONLY] = "1"
    os.environ.pop("CORL_DATA", None)
    ends: list[Ended] = []
    messages: queues.SimpleQueue[bytes] = queues.SimpleQueue()

    def send(message: tuple[Any, ...]) -> None:
        if message[0] == "ended":
            ends.append(Ended(*message[1:]))
        else:
            board.put.remote(number, message)

    def watch() -> None:
        with contextlib.suppress(ray.exceptions.RayError):
            while not ends and not ray.get(board.is_cancelled.remote(number)):
                time.sleep(_EVERY)
        messages.put(pickle.dumps("end" if ends else "cancel"))

    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(send, Path(folder))
        threading.Thread(target=worker.listen, args=(messages,), daemon=True).start()
        messages.put(pickle.dumps(("solve", body, limits)))
        job = worker.jobs.get()
        threading.Thread(target=watch, daemon=True).start()
        worker.solve(*job)
        messages.put(pickle.dumps("end"))
    return "answer", ends[0]
