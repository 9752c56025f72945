"""Announcements of compilations that take noticeable time: a logging record, or a line on standard error.

The record has level INFO and is from the logger "corl.compilation". It goes to the handlers even if no level was set. If there
is no handler, the line is printed instead. `logging.getLogger("corl").setLevel(logging.WARNING)` silences both.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator

from numba.core import event

from corl.compilation.cache import Cache

__all__ = ["NOTICED", "Watch", "announce", "announced_by_caller"]

NOTICED = 1.0  # shorter compilations, in seconds, are not announced
_log = logging.getLogger("corl.compilation")
_announced = False  # whether this process has announced compilations


def announce(text: str) -> None:
    """Announce that kernels are compiled, unless the user has silenced such records."""
    global _announced
    _announced = True
    level = _log.level or logging.getLogger("corl").level or logging.INFO
    if max(level, _log.manager.disable + 1) > logging.INFO or _log.disabled:
        return
    record = _log.makeRecord(_log.name, logging.INFO, __file__, 0, text, (), None)
    if _has_handler():
        _log.handle(record)
    elif sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # standard error is closed
            print(f"corl: {text}", file=sys.stderr, flush=True)


def _has_handler() -> bool:
    """Return whether a handler accepts records of level INFO."""
    logger: logging.Logger | None = _log
    while logger is not None:
        if any(not isinstance(each, logging.NullHandler) and each.level <= logging.INFO for each in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


@contextlib.contextmanager
def announced_by_caller() -> Iterator[None]:
    """Run the block without announcements, because its caller announces the compilations."""
    global _announced
    before, _announced = _announced, True
    try:
        yield
    finally:
        _announced = before


class Watch(event.Listener):
    """Announces once per process that kernels of corl are compiled, when their compilations have taken NOTICED seconds in all."""

    def __init__(self) -> None:
        self._depth = 0  # kernels being compiled: a compilation starts those of the kernels that it calls
        self._begun, self._spent = 0.0, 0.0  # the start of the outermost compilation; seconds of earlier ones

    def on_start(self, found: event.Event) -> None:
        if _is_corl_kernel(found):
            if self._depth == 0:
                self._begun = time.perf_counter()
            self._depth += 1
            self._check()

    def on_end(self, found: event.Event) -> None:
        if _is_corl_kernel(found):
            self._check()
            self._depth -= 1
            if self._depth == 0:
                self._spent += time.perf_counter() - self._begun

    def _check(self) -> None:
        if not _announced and self._spent + time.perf_counter() - self._begun >= NOTICED:
            announce("compiling kernels once for this machine")


def _is_corl_kernel(found: event.Event) -> bool:
    return isinstance(found.data["dispatcher"]._cache, Cache)
