"""Signals are delayed while a kernel is compiled."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeAlias

__all__ = ["deliver", "held", "stuck"]

_Handler: TypeAlias = Callable[[int, FrameType | None], Any]

_holding = False
_passed = 0  # the number of safe points so far: ends of blocks, and calls of `deliver`
_waiting: dict[int, FrameType | None] = {}  # by number: a repeated signal waits once, as in the operating system


@dataclass(frozen=True)
class _StandIn:
    """The replacement of a handler while signals are held; at other times it calls the handler."""

    handler: _Handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _holding:
            _waiting.setdefault(number, frame)
        else:
            self.handler(number, frame)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Delay the signals that Python handles until the block ends: those of the main thread, where handlers run.

    Compilations nest; a signal waits for the innermost one, which may take a minute (corl.cli.ending). Handlers can read and
    change the handlers outside of all blocks; what they raise ends the block that has ended, and those around it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    outermost = not _holding
    try:
        if outermost:
            _hold()
        yield
    finally:
        global _passed
        _passed += 1
        if outermost:
            _let_go()
        elif _waiting:
            deliver()


def deliver() -> None:
    """Call the handlers of the waiting signals, at a point where the caller tolerates their exceptions."""
    global _passed
    _passed += 1
    if _waiting and threading.current_thread() is threading.main_thread():
        try:
            _let_go()
        finally:
            _hold()


def stuck(seconds: float) -> bool:
    """Return whether signals have been held without a safe point for this many seconds.

    Called in a thread other than the main one.
    """
    passed, until = _passed, time.monotonic() + seconds
    while _holding and passed == _passed:
        if time.monotonic() >= until:
            return True
        time.sleep(0.02)
    return False


def _hold() -> None:
    global _holding
    _holding = True
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler) and not isinstance(handler, _StandIn):
            signal.signal(number, _StandIn(handler))


def _let_go() -> None:
    """Restore the handlers, and then call those of the waiting signals: all of them, even if one raises."""
    global _holding
    with contextlib.ExitStack() as raised:
        for number in signal.valid_signals():
            while isinstance(handler := signal.getsignal(number), _StandIn):
                try:
                    signal.signal(number, handler.handler)
                except BaseException as error:  # of a handler that was restored already: a signal has just arrived
                    raised.callback(_raise, error)
        _holding = False
        for waiting in reversed(_waiting.items()):
            raised.callback(_call, *waiting)
        _waiting.clear()


def _call(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(number)
    if callable(handler):
        handler(number, frame)
    else:  # another handler has restored the system's own action
        signal.raise_signal(number)


def _raise(error: BaseException) -> None:
    raise error
