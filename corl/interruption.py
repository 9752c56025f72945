"""Interruption: Ctrl-C asks a run to end, and its results are kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["Interruptible", "heard", "interruptible", "keeping"]

_heard = 0
_open: list[Interruptible] = []


class Interruptible(Protocol):
    """An object that Ctrl-C can end gently: a Run, a Training."""

    interrupted: bool

    def interrupt(self) -> None:
        """Ask it to end."""


def heard() -> int:
    """Return the number of Ctrl-C's in blocks of `interruptible`, including those that came too late to end anything."""
    return _heard


def keeping() -> bool:
    """Return whether a current block may have results to be kept."""
    return any(getattr(each, "begun", True) for each in _open)


@contextlib.contextmanager
def interruptible(run: Interruptible) -> Iterator[None]:
    """Run the block; Ctrl-C in it asks `run` to stop, and a second one raises KeyboardInterrupt. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: Any) -> None:
        global _heard
        _heard += 1
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
