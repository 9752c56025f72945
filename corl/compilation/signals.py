"""Signals wait while a kernel is compiled."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

__all__ = ["deliver", "held"]

_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}  # of the signals that are held
_waiting: list[tuple[int, FrameType | None]] = []


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Keep the signals that Python handles waiting until the block ends: those of the main thread, where handlers run.

    Compilations nest; a signal waits for the innermost one, a few seconds at the most.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    outermost = not _handlers
    if outermost:
        found = {number: signal.getsignal(number) for number in signal.valid_signals()}
        _handlers.update((number, handler) for number, handler in found.items() if callable(handler))
        for number in _handlers:
            signal.signal(number, _hold)
    try:
        yield
    finally:
        handlers = dict(_handlers)
        if outermost:
            _handlers.clear()
            for number, handler in handlers.items():
                signal.signal(number, handler)
        _deliver(handlers)


def deliver() -> None:
    """Call the handlers of the signals that wait, where the caller can bear what they raise."""
    if threading.current_thread() is threading.main_thread():
        _deliver(_handlers)


def _deliver(handlers: dict[int, Callable[[int, FrameType | None], Any]]) -> None:
    while _waiting:
        number, frame = _waiting.pop(0)
        handlers[number](number, frame)


def _hold(number: int, frame: FrameType | None) -> None:
    _waiting.append((number, frame))
