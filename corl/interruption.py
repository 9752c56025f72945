"""Interruption: Ctrl-C asks a run to end, so that its results are kept."""

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
    """Return how often Ctrl-C was pressed in blocks of `interruptible`, even if the run was about to end anyway."""
    return _count


def has_results() -> bool:
    """Return whether a current block of `interruptible` may have results that must be kept."""
    return any(getattr(each, "begun", True) for each in _open)


@contextlib.contextmanager
def interruptible(run: Interruptible) -> Iterator[None]:
    """Run the block; in it Ctrl-C asks `run` to end, and pressed again it raises KeyboardInterrupt.

    In other threads than the main one this has no effect, as they cannot handle signals.
    """
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
