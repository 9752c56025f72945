"""Workers: processes that make training data, in an order that does not depend on their speeds.

    with stream(training, make_batches, size) as batches:      # make_batches(size) -> function(i) -> batch i
        for batch in batches: ...                              # i = training.step, training.step + 1, ...

The maker is a function of an importable module, called once in each worker; what it returns must depend on its argument
alone (draw from `np.random.default_rng([seed, i])`), so that any number of workers gives the same batches, and a resumed run
goes on with the right one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

from corl import pipes
from corl.errors import CorlError, UsageError, described

if TYPE_CHECKING:
    from corl.learning.training import Training

__all__ = ["EXECUTORS", "Answering", "Workers", "stream"]

Maker: TypeAlias = Callable[..., Callable[[Any], Any]]

EXECUTORS = ("processes", "ray")
"""What can run workers: processes of this machine, or actors of a Ray cluster (extra "distributed")."""
_AHEAD = 2  # batches per worker that are made before they are asked for
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class _Executor(Protocol):
    def submit(self, number: int, payload: Any) -> None:
        """Have a payload answered by some worker."""

    def take(self, number: int) -> Any:
        """Wait for an answer. Raises what the worker raised, or CorlError for one that died."""

    def close(self) -> None:
        """End the workers."""


class Workers:
    """`count` workers that answer payloads, each by `make(*arguments)(payload)`; 0: this process does, when asked.

    A context manager that leaves no process behind. Arguments, payloads and answers must pickle. An exception in a worker
    is raised by `next` or `map`: a CorlError as it is, another as a CorlError that says what it was.
    """

    def __init__(self, count: int, make: Maker, *arguments: Any, executor: str = "processes") -> None:
        self.count = count
        self._submitted = self._taken = 0
        self._executor = _executor(count, make, arguments, executor)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._executor.close()

    def submit(self, payload: Any) -> None:
        """Have a payload answered."""
        self._executor.submit(self._submitted, payload)
        self._submitted += 1

    def next(self) -> Any:
        """The answer to the first payload whose answer was not taken yet."""
        if self._taken == self._submitted:
            raise UsageError("next() takes the answer to a payload that was submitted before")
        self._taken += 1
        return self._executor.take(self._taken - 1)

    def map(self, payloads: Iterable[Any]) -> list[Any]:
        """The answers to all of `payloads`, in their order."""
        before = self._submitted
        for payload in payloads:
            self.submit(payload)
        return [self.next() for _ in range(self._submitted - before)]


@contextlib.contextmanager
def stream(training: Training, make: Maker, *arguments: Any) -> Iterator[Iterator[Any]]:
    """The batches of a training run from its present step on, without end, made by its workers a few ahead."""
    with Workers(training.workers, make, *arguments, executor=training.executor) as workers:
        yield _numbered(workers, training.step)


def _numbered(workers: Workers, first: int) -> Iterator[Any]:
    ahead = _AHEAD * workers.count
    for i in range(first, first + ahead):
        workers.submit(i)
    while True:
        workers.submit(first + ahead)
        first += 1
        yield workers.next()


def _executor(count: int, make: Maker, arguments: tuple[Any, ...], executor: str) -> _Executor:
    if count == 0:
        return _Here(make, arguments)
    try:
        task = pickle.dumps((make, arguments), protocol=5)
    except Exception as error:
        raise UsageError(f"workers need a maker and arguments that pickle: {error}") from error
    if executor == "ray":
        from corl.learning.ray_workers import Actors

        return Actors(count, task)
    return _Processes(count, task)


class _Here:
    """No worker: payloads are answered in this process when the answer is taken."""

    def __init__(self, make: Maker, arguments: tuple[Any, ...]) -> None:
        self._answer = make(*arguments)
        self._waiting: deque[Any] = deque()

    def submit(self, number: int, payload: Any) -> None:
        self._waiting.append(payload)

    def take(self, number: int) -> Any:
        return self._answer(self._waiting.popleft())

    def close(self) -> None:
        self._waiting.clear()


class _Processes:
    """Child processes over pipes; a thread for each hands it the next payload when it has answered the last."""

    def __init__(self, count: int, task: bytes) -> None:
        self._payloads: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self._answers: dict[int, tuple[str, Any]] = {}
        self._changed = threading.Condition()
        self._children: list[subprocess.Popen[bytes]] = []
        try:
            for k in range(count):
                child = pipes.start("corl.learning.workers", **_ONE_THREAD)
                self._children.append(child)
                threading.Thread(target=self._talk, args=(k, child, task), daemon=True).start()
        except OSError as error:
            self.close()
            raise CorlError(f"a worker cannot be started: {error}") from error

    def submit(self, number: int, payload: Any) -> None:
        self._payloads.put((number, payload))

    def take(self, number: int) -> Any:
        with self._changed:
            while number not in self._answers and -1 not in self._answers:
                self._changed.wait()
            kind, value = self._answers.pop(number) if number in self._answers else self._answers[-1]
        if kind == "failed":
            raise value
        return value

    def close(self) -> None:
        for child in self._children:
            child.kill()
        for child in self._children:
            self._payloads.put(None)
            child.wait()

    def _talk(self, k: int, child: subprocess.Popen[bytes], task: bytes) -> None:
        """Send a worker its task, then payloads; number -1 stands for the end of a worker, which ends the run."""
        assert child.stdin and child.stdout
        number = -1
        try:
            pipes.send_bytes(child.stdin, task)
            while (item := self._payloads.get()) is not None:
                number, payload = item
                pipes.send(child.stdin, payload)
                self._put(number, pipes.receive(child.stdout))
        except (EOFError, OSError):
            died = CorlError(f"worker {k} died (exit code {pipes.exit_code(child)})")
            self._put(-1, ("failed", died))
        except Exception as error:
            self._put(-1, ("failed", CorlError(f"worker {k} sent what cannot be read: {described(error)}")))
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def _put(self, number: int, answer: tuple[str, Any]) -> None:
        with self._changed:
            self._answers[number] = answer
            self._changed.notify_all()


# -------------------------------------------------------------------- the child's side
def main() -> None:
    """Serve payloads from standard input until the parent closes it or is gone."""
    inbox, outbox = pipes.own_pipes()
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox, messages), daemon=True).start()
    answer = Answering(messages.get())
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        while True:
            pipes.send(outbox, answer(messages.get()))


def _listen(inbox: IO[bytes], messages: queue.SimpleQueue[Any]) -> None:
    """Pass on messages; the end of the parent ends the process, even in the middle of a batch."""
    try:
        while True:
            messages.put(pipes.receive_bytes(inbox))
    finally:
        os._exit(1)


class Answering:
    """A worker's work, whatever runs it: a pickled task, then a pickled payload -> ("answer", value) or ("failed", error)."""

    def __init__(self, task: bytes) -> None:
        self._task = task
        self._function: Callable[[Any], Any] | None = None

    def __call__(self, payload: bytes) -> tuple[str, Any]:
        try:
            if self._function is None:
                make, arguments = pickle.loads(self._task)
                self._function = make(*arguments)
            return "answer", self._function(pickle.loads(payload))
        except CorlError as error:
            return "failed", error
        except Exception as error:
            return "failed", CorlError(f"a worker failed: {described(error)}")


if __name__ == "__main__":
    main()
