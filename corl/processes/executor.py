"""Executors: they answer numbered payloads in parallel, by threads of this process (Threads) or on Ray (corl.processes.ray).

In training (corl.processes.workers), benchmarks (corl.benchmark.running.supervisor) and solves by several workers
(corl.processes.team), each thread of an executor passes payloads to a child process and waits for its answers.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

__all__ = ["WAKE", "Executor", "Lane", "Outcome", "Threads"]

WAKE = 1.0  # seconds after which a wait is interrupted and repeated: on some systems Ctrl-C does not end a wait without limit

Outcome: TypeAlias = tuple[Any, ...]
"""The outcome of a payload: ("answer", value), ("failed", exception), or ("lost", CorlError) if the worker is gone.

The outcomes of a Team (corl.processes.team) are the messages of its workers instead.
"""

Lane: TypeAlias = Callable[[Iterator[tuple[int, Any]]], Iterator[tuple[int, Outcome]]]
"""The function of one thread: it takes (number, payload) until there are no more, yields (number, outcome), and never raises."""


class Executor(Protocol):
    """Answers payloads, in any order."""

    def submit(self, number: int, payload: Any, cores: int = 1) -> None:
        """Queue a payload for the next free worker; `cores`: the number of processors that a cluster reserves for it."""

    def take(self, number: int | None = None, timeout: float = WAKE) -> tuple[int, Outcome] | None:
        """Wait for the outcome of payload `number` (None: of any payload).

        Returns:
            (number, outcome), or None if there is no outcome within `timeout` seconds.
        """

    def close(self) -> None:
        """End the workers immediately, even if they are busy."""


class Threads:
    """An Executor with one thread per lane; a lane usually waits for a child process of its own."""

    def __init__(self, lanes: Iterable[Lane], end: Callable[[], object]) -> None:
        """Start the threads; `end` kills the processes that the lanes wait for, and is called by `close`."""
        self._end = end
        self._payloads: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self._outcomes: deque[tuple[int, Outcome]] = deque()
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._work, args=(lane,), daemon=True) for lane in lanes]
        for thread in self._threads:
            thread.start()

    def submit(self, number: int, payload: Any, cores: int = 1) -> None:
        self._payloads.put((number, payload))

    def take(self, number: int | None = None, timeout: float = WAKE) -> tuple[int, Outcome] | None:
        with self._changed:
            found = self._changed.wait_for(lambda: self._first(number), timeout)
            if found is not None:
                self._outcomes.remove(found)
        return found

    def close(self) -> None:
        for _ in self._threads:
            self._payloads.put(None)
        self._end()

    def _first(self, number: int | None) -> tuple[int, Outcome] | None:
        """Return (number, outcome) of payload `number`, or the first of all if it is None; None if there is none yet."""
        return next((each for each in self._outcomes if number in (None, each[0])), None)

    def _work(self, lane: Lane) -> None:
        for outcome in lane(iter(self._payloads.get, None)):
            with self._changed:
                self._outcomes.append(outcome)
                self._changed.notify_all()
