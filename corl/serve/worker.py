"""A worker of a server, `python -P -m corl.serve.worker FOLDER`: a process that solves jobs, one after the other.

The parent sends ("solve", body of the request, limits), and perhaps "cancel" while the job is solved. The worker sends
("started",) when the clock of the solver starts, ("note", text), and ("improved", seconds, objective, bound, solution in JSON or
None). Its last message about a job is ("ended", state, reason, result in JSON or None, facts), as for `Queue.finish`.
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import logging
import os
import pickle
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from corl.errors import CorlError, described, shortened
from corl.files.json_values import to_json
from corl.interruption import has_results
from corl.networks.checkpoints import SHIPPED_ONLY
from corl.processes.child import at_parents_end, connect
from corl.processes.pipes import send
from corl.run import Improvement
from corl.serve.limits import Limits, limit_memory
from corl.serve.request import Request, read_request

__all__ = ["Ended", "Worker", "confine", "main", "solved"]

_EVERY = 0.1  # seconds between two messages about improvements
_SOLUTION_EVERY = 1.0  # seconds between two messages with a solution
_SHARE = 0.02  # share of the time that these messages may take
_NICE = 5  # below the server, so that it answers at once while all processors solve
_POLL = 0.02  # seconds between two looks whether the clock has started


class Ended(NamedTuple):
    """The end of a job, as for `Queue.finish`."""

    state: str
    reason: str = ""
    result: str | None = None
    facts: Mapping[str, Any] | None = None


def main() -> None:
    """Solve jobs until the parent is gone."""
    folder = confine(sys.argv[1])
    messages, outbox = connect()
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICE)
    worker = Worker(partial(send, outbox), folder)
    threading.Thread(target=worker.listen, args=(messages,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        while True:
            worker.solve(*worker.jobs.get())


def confine(folder: str) -> Path:
    """Let this process accept no files by name, in whatever data of clients; return its new current folder, which is empty.

    `folder`: that folder, which belongs to this process and is removed when the parent is gone. The last process of a server also
    removes the folder around it.
    """
    os.environ[SHIPPED_ONLY] = "1"
    os.environ.pop("CORL_DATA", None)  # of a generator that reads files
    own = Path(folder)
    shutil.rmtree(own, ignore_errors=True)  # of a process that was killed before
    own.mkdir()
    at_parents_end(partial(_remove, own))
    os.chdir(own)
    return own


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.rmdir()


class Worker:
    """The state of a process that solves jobs: at most one current job."""

    def __init__(self, send: Callable[[tuple[Any, ...]], object], folder: Path) -> None:
        """Create a worker.

        Args:
            send: Sends a message to the parent.
            folder: An empty folder, to which instances are written while they are read.
        """
        self.jobs: queue.SimpleQueue[tuple[bytes, Limits]] = queue.SimpleQueue()
        self._send, self._folder = send, folder
        self._sending, self._busy = threading.Lock(), False
        self._started = self._cancelled = False

    def send(self, *message: Any) -> None:
        with self._sending:
            self._send(message)

    def _report(self, *message: Any) -> None:
        """Send a message of the current job's run, and before the first one that the clock has started."""
        self._clock_started()
        self.send(*message)

    def _clock_started(self) -> None:
        """Send once that the clock has started, but not after the end of the job: the parent would take it for the next one's."""
        with self._sending:
            if self._busy and not self._started:
                self._started = True
                self._send(("started",))

    def listen(self, messages: queue.SimpleQueue[bytes]) -> None:
        """Pass jobs to the main thread; report when the clock starts; cancel the current job on request; return on "end"."""
        while True:
            try:
                message = pickle.loads(messages.get(timeout=_POLL if self._busy and not self._started else None))
            except queue.Empty:
                if has_results():
                    self._clock_started()
                continue
            if message == "end":
                return
            if message == "cancel":
                if self._busy and not self._cancelled:
                    self._cancelled = True
                    _thread.interrupt_main(signal.SIGINT)  # also if the process blocks the signal, as Ray's do
            else:
                self._started = self._cancelled = False
                self._busy = True
                self.jobs.put(message[1:])

    def solve(self, body: bytes, limits: Limits) -> None:
        """Solve one job, and send its end."""
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            with _notes(self.send), _memory_limited(limits.max_memory):
                ended = solved(read_request(body, limits, self._folder), self._report)
        except KeyboardInterrupt:
            ended = Ended("cancelled", "before there was a solution")
        except MemoryError:
            ended = Ended("failed", f"it needs more memory than {limits.max_memory} MiB")
        except CorlError as error:
            ended = Ended("failed", _reason(error, limits))
        except Exception as error:
            ended = Ended("failed", f"internal error: {described(error)}")
        finally:
            signal.signal(signal.SIGINT, before)
            with self._sending:
                self._busy = False
        gc.collect()
        self.send("ended", *ended)

    def _interrupt(self, number: int, frame: Any) -> None:
        """End a job whose clock has not started; later, `corl.solve` handles the signal, until it returns its result."""
        if not self._started:
            raise KeyboardInterrupt


class _Reporter:
    """The function `on_improvement` of a job: it sends improvements, so rarely that they take little of the job's time."""

    def __init__(self, request: Request, send: Callable[..., None]) -> None:
        self._request, self._send = request, send
        self._due = self._solution_due = 0.0
        self._best: float | None = None  # the objective value of the last solution that was sent

    def __call__(self, news: Improvement) -> None:
        before = time.monotonic()
        if before < self._due:
            return
        solution = None
        if news.solution is not None and news.objective != self._best and before >= self._solution_due:
            solution = to_json(self._request.problem.to_json(self._request.instance, news.solution))
            self._best = news.objective
        self._send("improved", news.runtime, news.objective, news.bound, solution)
        after = time.monotonic()
        self._due = after + max(_EVERY, (after - before) / _SHARE)
        if solution is not None:
            self._solution_due = after + max(_SOLUTION_EVERY, (after - before) / _SHARE)


def _reason(error: CorlError, limits: Limits) -> str:
    """Return the message of an error, with the limit if memory is the cause."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, MemoryError):
        cause = cause.__cause__
    is_memory = cause is not None or "MemoryError" in str(error)  # the message alone, if a process of the job raised it
    return f"{error} (limit: {limits.max_memory} MiB)" if is_memory else str(error)


def solved(request: Request, send: Callable[..., None]) -> Ended:
    """Solve a request; `send` receives the worker's messages "started" and "improved"."""
    from corl.solving import solve

    result = solve(request.instance, on_improvement=_Reporter(request, send), **request.arguments)
    facts = {"objective": result.objective, "bound": result.bound, "solver": result.solver}
    state = "cancelled" if result.limit == "interrupted" else "done"
    return Ended(state, result.reason, result.to_json(), facts)


@contextlib.contextmanager
def _notes(send: Callable[..., None]) -> Iterator[None]:
    """Send the log of the package as notes: warnings, and announcements of compilations."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send("note", shortened(" ".join(record.getMessage().split())))

    handler = Handler(logging.INFO)
    logging.getLogger("corl").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("corl").removeHandler(handler)


@contextlib.contextmanager
def _memory_limited(mib: int) -> Iterator[None]:
    """Limit the memory that the block may allocate."""
    limit_memory(mib)
    try:
        yield
    finally:
        limit_memory(None)


if __name__ == "__main__":
    main()
