"""Workers: processes that answer payloads, on this machine or on a Ray cluster.

with Workers(4, make, size) as workers:          # make(size) -> function(payload) -> answer, called once in each worker
    answers = workers.map(payloads)
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from corl.errors import CorlError, UsageError, described
from corl.processes.child import Child, end
from corl.processes.pipes import pickled

__all__ = ["EXECUTORS", "Maker", "Workers"]

Maker: TypeAlias = Callable[..., Callable[[Any], Any]]
"""A function of an importable module: what each worker is made of."""

EXECUTORS = ("processes", "ray")
"""What can run workers: processes of this machine, or actors of a Ray cluster (extra "distributed")."""
_LOOK_EVERY = 0.01  # seconds


class _Executor(Protocol):
    def submit(self, number: int, payload: Any) -> None:
        """Have a payload answered by some worker."""

    def take(self, number: int, look: Callable[[], object] | None) -> Any:
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

    def submit(self, payload: Any) -> int:
        """Have a payload answered; its number, for `take`."""
        self._executor.submit(self._submitted, payload)
        self._submitted += 1
        return self._submitted - 1

    def take(self, number: int) -> Any:
        """The answer to the payload of that number, once. Whoever takes by number does not call `next` or `map`."""
        return self._executor.take(number, None)

    def next(self, look: Callable[[], object] | None = None) -> Any:
        """The answer to the first payload whose answer was not taken yet.

        look: called every 10 ms or so while a process of this machine has not answered; what it raises ends the wait.
        """
        if self._taken == self._submitted:
            raise UsageError("next() takes the answer to a payload that was submitted before")
        self._taken += 1
        return self._executor.take(self._taken - 1, look)

    def map(self, payloads: Iterable[Any]) -> list[Any]:
        """The answers to all of `payloads`, in their order."""
        before = self._submitted
        for payload in payloads:
            self.submit(payload)
        return [self.next() for _ in range(self._submitted - before)]


def _executor(count: int, make: Maker, arguments: tuple[Any, ...], executor: str) -> _Executor:
    if count == 0:
        return _Here(make, arguments)
    task = pickled((make, arguments), "a maker and arguments")
    if executor == "ray":
        from corl.processes.ray import Actors

        return Actors(count, task)
    return _Processes(count, task)


class _Here:
    """No worker: payloads are answered in this process when the answer is taken."""

    def __init__(self, make: Maker, arguments: tuple[Any, ...]) -> None:
        self._answer = make(*arguments)
        self._waiting: dict[int, Any] = {}

    def submit(self, number: int, payload: Any) -> None:
        self._waiting[number] = payload

    def take(self, number: int, look: Callable[[], object] | None) -> Any:
        return self._answer(self._waiting.pop(number))

    def close(self) -> None:
        self._waiting.clear()


class _Processes:
    """Child processes over pipes; a thread for each hands it the next payload when it has answered the last."""

    def __init__(self, count: int, task: bytes) -> None:
        self._payloads: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self._answers: dict[int, tuple[str, Any]] = {}
        self._changed = threading.Condition()
        self._children: list[Child] = []
        try:
            for k in range(count):
                child = Child("corl.processes.answering", threads=1)
                self._children.append(child)
                threading.Thread(target=self._talk, args=(k, child, task), daemon=True).start()
        except OSError as error:
            self.close()
            raise CorlError(f"a worker cannot be started: {error}") from error

    def submit(self, number: int, payload: Any) -> None:
        self._payloads.put((number, payload))

    def take(self, number: int, look: Callable[[], object] | None) -> Any:
        with self._changed:
            while number not in self._answers and -1 not in self._answers:
                self._changed.wait(None if look is None else _LOOK_EVERY)
                if look is not None:
                    look()
            kind, value = self._answers.pop(number) if number in self._answers else self._answers[-1]
        if kind == "failed":
            raise value
        return value

    def close(self) -> None:
        for _ in self._children:
            self._payloads.put(None)
        end(self._children)

    def _talk(self, k: int, child: Child, task: bytes) -> None:
        """Send a worker its task, then payloads; number -1 stands for the end of a worker, which ends the run."""
        try:
            child.send_bytes(task)
            while (item := self._payloads.get()) is not None:
                number, payload = item
                child.send(payload)
                self._put(number, child.receive())
        except (EOFError, OSError):
            self._put(-1, ("failed", CorlError(f"worker {k} {child.ending()}")))
        except Exception as error:
            self._put(-1, ("failed", CorlError(f"worker {k} sent what cannot be read: {described(error)}")))
        child.close()

    def _put(self, number: int, answer: tuple[str, Any]) -> None:
        with self._changed:
            self._answers[number] = answer
            self._changed.notify_all()
