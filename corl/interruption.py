"""Interruption: Ctrl-C asks a run to end, and its results are kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["Interruptible", "has_results", "interrupt_count", "interruptible"]

_count = 0
_open: list[Interruptible] = []


class Interruptible(Protocol):
    """An object that Ctrl-C can end gently: a Run, a Training."""

    interrupted: bool

    def interrupt(self) -> None:
        """Ask it to end."""


def interrupt_count() -> int:
    """Return how often Ctrl-C was pressed in blocks of `interruptible`, including too late to end anything."""
    return _count


def has_results() -> bool:
    """Return whether a current block of `interruptible` may have results that must be kept."""
    return any(getattr(each, "begun", True) for each in _open)


@contextlib.contextmanager
def interruptible(run: Interruptible) -> Iterator[None]:
    """Run the block: Ctrl-C asks `run` to stop, and a second one raises KeyboardInterrupt. In the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: Any) -> None:
        global _count
        _count += 1
        if run.interrupted:
            raise KeyboardInterrupt
        run.interrupt()

    _open.append(run)
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        _open.pop()
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
