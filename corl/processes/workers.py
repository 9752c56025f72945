"""Workers: processes that answer payloads, on this machine or on a Ray cluster.

with Workers(4, make, size) as workers:          # make(size) -> function(payload) -> answer, called once in each worker
    answers = workers.map(payloads)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

from corl.errors import CorlError, UsageError, described
from corl.processes.child import Child, end
from corl.processes.executor import WAKE, Executor, Outcome, Threads
from corl.processes.pipes import pickled

__all__ = ["EXECUTORS", "Maker", "Workers"]

Maker: TypeAlias = Callable[..., Callable[[Any], Any]]
"""A function of an importable module; called once in each worker, it returns the function from payload to answer."""

EXECUTORS = ("processes", "ray")
"""The names of executors: processes of this machine, or actors of a Ray cluster (extra "distributed")."""
_POLL_EVERY = 0.01  # seconds between two calls of `poll`


class Workers:
    """Workers that answer payloads by `make(*arguments)(payload)`; a context manager that ends its processes.

    Arguments, payloads and answers must be picklable. `take`, `next` and `map` raise the exceptions of workers: a CorlError
    unchanged, any other exception as a CorlError that names it.
    """

    def __init__(self, count: int, make: Maker, *arguments: Any, executor: str = "processes") -> None:
        """Start the workers. Raises UsageError or CorlError.

        Args:
            count: The number of workers; 0: this process computes an answer when it is taken.
            make: Returns the function from payload to answer.
            *arguments: The arguments of `make`.
            executor: One of EXECUTORS.
        """
        self.count = count
        self._submitted = self._taken = 0
        self._executor = _executor(count, make, arguments, executor)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._executor.close()

    def submit(self, payload: Any) -> int:
        """Queue a payload and return its number, for `take`."""
        self._executor.submit(self._submitted, payload)
        self._submitted += 1
        return self._submitted - 1

    def take(self, number: int) -> Any:
        """Return the answer to the payload `number`; possible once per payload. Do not mix `take` with `next` or `map`."""
        return self._answer(number, None)

    def next(self, poll: Callable[[], object] | None = None) -> Any:
        """Return the answer to the first payload whose answer was not returned yet.

        `poll` is called about every 10 ms while no worker has answered; an exception that it raises ends the wait.
        """
        if self._taken == self._submitted:
            raise UsageError("next() returns the answer to a payload that was submitted before; all have been returned")
        self._taken += 1
        return self._answer(self._taken - 1, poll)

    def map(self, payloads: Iterable[Any]) -> list[Any]:
        """Return the answers to all of `payloads`, in their order."""
        before = self._submitted
        for payload in payloads:
            self.submit(payload)
        return [self.next() for _ in range(self._submitted - before)]

    def _answer(self, number: int, poll: Callable[[], object] | None) -> Any:
        while (found := self._executor.take(number, WAKE if poll is None else _POLL_EVERY)) is None:
            if poll is not None:
                poll()
        kind, value = found[1]
        if kind == "answer":
            return value
        raise value if isinstance(value, CorlError) else CorlError(f"a worker failed: {described(value)}")


def _executor(count: int, make: Maker, arguments: tuple[Any, ...], executor: str) -> Executor:
    if count == 0:
        return _InThisProcess(make, arguments)
    task = pickled((make, arguments), "a maker and arguments")
    if executor == "ray":
        from corl.processes.ray import Ray

        return Ray.actors(count, task)
    children: list[Child] = []
    try:
        for _ in range(count):
            children.append(Child("corl.processes.task_worker", threads=1))
    except OSError as error:
        end(children)
        raise CorlError(f"a worker cannot be started: {error}") from error
    return Threads([partial(_lane, k, child, task) for k, child in enumerate(children)], partial(end, children))


class _InThisProcess:
    """The executor without workers: this process computes an answer when it is taken."""

    def __init__(self, make: Maker, arguments: tuple[Any, ...]) -> None:
        self._answer = make(*arguments)
        self._waiting: dict[int, Any] = {}

    def submit(self, number: int, payload: Any, cores: int = 1) -> None:
        self._waiting[number] = payload

    def take(self, number: int | None = None, timeout: float = WAKE) -> tuple[int, Outcome]:
        number = next(iter(self._waiting)) if number is None else number
        return number, ("answer", self._answer(self._waiting.pop(number)))

    def close(self) -> None:
        self._waiting.clear()


def _lane(k: int, child: Child, task: bytes, payloads: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Outcome]]:
    """Send worker k, a child process, its task and then payloads; if the process ends, all remaining payloads are lost."""
    number = -1
    try:
        child.send_bytes(task)
        for number, payload in payloads:
            child.send(payload)
            yield number, child.receive()
        return
    except (EOFError, OSError):
        lost = CorlError(f"worker {k} {child.ending()}")
    except Exception as error:
        lost = CorlError(f"worker {k} sent a message that cannot be read: {described(error)}")
    finally:
        child.close()
    yield number, ("lost", lost)
    for number, _ in payloads:
        yield number, ("lost", lost)
