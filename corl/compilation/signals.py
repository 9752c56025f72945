"""Signals are delayed while a kernel is compiled, because LLVM swallows exceptions of signal handlers (see corl.jit)."""

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

_holding = False  # whether signals are delayed now
_safe_points = 0  # the number of ends of `held` and calls of `deliver` so far: delayed signals are handled there
_waiting: dict[int, FrameType | None] = {}  # delayed signals by number: a repeated signal counts once, as in Unix


@dataclass(frozen=True)
class _StandIn:
    """The replacement of a signal handler: while signals are delayed it records the signal, otherwise it calls the handler."""

    handler: _Handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _holding:
            _waiting.setdefault(number, frame)
        else:
            self.handler(number, frame)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Delay the signals with a Python handler until the block ends. In the main thread only, where handlers run.

    Blocks nest, as compilations do: a signal waits for the end of the innermost one, which may take a minute (corl.cli.ending).
    A handler sees, and may change, the handlers that are set outside of all blocks. An exception that a handler raises is
    raised at the end of that innermost block.
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
        global _safe_points
        _safe_points += 1
        if outermost:
            _release()
        elif _waiting:
            deliver()


def deliver() -> None:
    """Call the handlers of the delayed signals; the caller is at a point where exceptions are harmless."""
    global _safe_points
    _safe_points += 1
    if _waiting and threading.current_thread() is threading.main_thread():
        try:
            _release()
        finally:
            _hold()


def stuck(seconds: float) -> bool:
    """Wait until signals are not delayed, or are handled; return True if that takes longer than `seconds`.

    Called in a thread other than the main thread.
    """
    before, deadline = _safe_points, time.monotonic() + seconds
    while _holding and before == _safe_points:
        if time.monotonic() >= deadline:
            return True
        time.sleep(0.02)
    return False


def _hold() -> None:
    """Replace all Python handlers by stand-ins, which delay signals."""
    global _holding
    _holding = True
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler) and not isinstance(handler, _StandIn):
            signal.signal(number, _StandIn(handler))


def _release() -> None:
    """Restore the handlers, then call those of the delayed signals: all of them, even if one raises an exception."""
    global _holding
    with contextlib.ExitStack() as raised:
        for number in signal.valid_signals():
            while isinstance(handler := signal.getsignal(number), _StandIn):
                try:
                    signal.signal(number, handler.handler)
                except BaseException as error:  # a signal has just arrived whose handler was restored already
                    raised.callback(_raise, error)
        _holding = False
        for waiting in reversed(_waiting.items()):
            raised.callback(_call, *waiting)
        _waiting.clear()


def _call(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(number)
    if callable(handler):
        handler(number, frame)
    else:  # another handler has restored the action of the operating system
        signal.raise_signal(number)


def _raise(error: BaseException) -> None:
    raise error
