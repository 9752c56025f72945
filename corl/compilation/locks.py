"""Locks for compilations: one process compiles a kernel; others wait until it is in the cache, and load it.

A claim to a kernel is a lock on one byte of a file in the folder of the kernel's module; it ends with its process, however that
ends. Kernels that call each other can make two processes wait for each other: after the waiting time both compile.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: processes that need the same kernel at once all compile it
    fcntl = None  # type: ignore[assignment]

__all__ = ["possible", "released", "take", "taken"]

_PATIENCE = 60.0  # seconds that a process waits for another one, which may have been suspended
_LOOK_EVERY = 0.02  # seconds between two attempts
_BYTES = 2**62  # possible positions of the byte of a kernel; the file itself stays empty
_files: dict[Path, int] = {}  # open for as long as this process lives: closing one would end all claims in it
_held: list[tuple[Path, int]] = []

possible = fcntl is not None
"""Whether this system supports claims."""


def take(folder: Path, kernel: str, meanwhile: Callable[[], object]) -> None:
    """Claim a kernel; wait while another process has the claim, calling `meanwhile` every 20 ms."""
    claim = (folder, _byte(kernel))
    given_up = time.monotonic() + _PATIENCE
    while claim not in _held and not _lock(*claim) and time.monotonic() < given_up:
        time.sleep(_LOOK_EVERY)
        meanwhile()
    _held.append(claim)


def taken(folder: Path, kernel: str) -> bool:
    """Return whether another process has the claim to a kernel."""
    claim = (folder, _byte(kernel))
    if claim in _held:
        return False
    if _lock(*claim):
        _unlock(*claim)
        return False
    return True


@contextlib.contextmanager
def released() -> Iterator[None]:
    """Release, at the end of the block, the claims that were taken in it."""
    before = len(_held)
    try:
        yield
    finally:
        while len(_held) > before:
            claim = _held.pop()
            if claim not in _held:
                _unlock(*claim)


def _byte(kernel: str) -> int:
    return int.from_bytes(hashlib.sha256(kernel.encode()).digest()[:8], "little") % _BYTES


def _lock(folder: Path, byte: int) -> bool:
    """Return whether this process now has the byte; also True if locks are impossible (no support, a read-only folder)."""
    if fcntl is None:
        return True
    try:
        if folder not in _files:
            _files[folder] = os.open(folder / "claims", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.lockf(_files[folder], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError as error:
        return folder not in _files or error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


def _unlock(folder: Path, byte: int) -> None:
    if fcntl is not None and folder in _files:
        with contextlib.suppress(OSError):
            fcntl.lockf(_files[folder], fcntl.LOCK_UN, 1, byte)
