"""Processors for pinned runs. File locks keep all benchmarks of a user on a machine apart, and end with their process."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from corl.processes.processors import available

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["claimed"]

_POLL = 0.02  # seconds between two attempts
_lock = threading.Lock()
_taken: set[int] = set()  # processors that this process has reserved


@contextlib.contextmanager
def claimed(count: int) -> Iterator[tuple[int, ...]]:
    """Wait until `count` processors are free, and reserve them within the context.

    A call reserves all its processors at once or none, so that two calls cannot wait for each other.
    """
    cores, locks = _attempt(count)
    while not cores:
        time.sleep(_POLL)
        cores, locks = _attempt(count)
    try:
        yield cores
    finally:
        _release(cores, locks)


def _attempt(count: int) -> tuple[tuple[int, ...], list[int]]:
    """Return `count` processors that are now reserved, and the descriptors of their lock files; empty if too few are free."""
    cores: list[int] = []
    locks: list[int] = []
    with _lock:
        for core in available():
            if len(cores) < count and core not in _taken and _locked(core, locks):
                cores.append(core)
        if len(cores) == count:
            _taken.update(cores)
            return tuple(cores), locks
    _release((), locks)
    return (), []


def _locked(core: int, locks: list[int]) -> bool:
    """Try to lock the file of a processor, and append its descriptor to `locks`.

    Return whether the processor is free; True if locks are not available.
    """
    if fcntl is None:
        return True
    folder = Path(tempfile.gettempdir()) / f"corl-cores-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(folder / str(core), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # without a folder for locks, only the runs of this process are kept apart
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return False
    locks.append(descriptor)
    return True


def _release(cores: tuple[int, ...], locks: list[int]) -> None:
    with _lock:
        _taken.difference_update(cores)
        for descriptor in locks:
            os.close(descriptor)
