"""Interruption: Ctrl-C asks a run to end, and what it has by then is kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["Interruptible", "heard", "interruptible"]

_heard = 0


class Interruptible(Protocol):
    """What Ctrl-C can end gently: a Run, a Training."""

    interrupted: bool

    def interrupt(self) -> None:
        """Ask it to end."""


def heard() -> int:
    """How many Ctrl-C's have come in blocks of `interruptible`, also those that were too late to end anything."""
    return _heard


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

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
