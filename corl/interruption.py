"""Interruption: Ctrl-C asks a run to end, and what it has by then is kept."""

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
    """What Ctrl-C can end gently: a Run, a Training."""

    interrupted: bool

    def interrupt(self) -> None:
        """Ask it to end."""


def heard() -> int:
    """How many Ctrl-C's have come in blocks of `interruptible`, also those that were too late to end anything."""
    return _heard


def keeping() -> bool:
    """Whether what is going on may have something that is to be kept."""
    return any(getattr(each, "begun", True) for each in _open)


@contextlib.contextmanager
def interruptible(run: Interruptible) -> Iterator[None]:
    """While the block runs, Ctrl-C asks `run` to stop; a second one raises KeyboardInterrupt. Main thread only."""
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
