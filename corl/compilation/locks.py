"""Locks for compilations: one process compiles a kernel; others wait until the kernel is in the cache, and load it.

A claim to a kernel is a lock on one byte of a file in the folder of the kernel's module. It ends with its process, even if the
process is killed. Two processes may wait for each other if their kernels call each other: after a minute both compile.
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

_MAX_WAIT = 60.0  # seconds that a process waits for another process, which may have been suspended
_POLL_EVERY = 0.02  # seconds between two attempts
_POSITIONS = 2**62  # number of possible positions of a kernel's byte; the file itself stays empty
_files: dict[Path, int] = {}  # folder -> descriptor of its lock file, never closed: that would end all claims in the file
_held: list[tuple[Path, int]] = []  # (folder, position of the byte) of each claim of this process

possible = fcntl is not None
"""Whether this system supports claims."""


def take(folder: Path, kernel: str, meanwhile: Callable[[], object]) -> None:
    """Claim a kernel; while another process has the claim, wait up to a minute and call `meanwhile` every 20 ms."""
    claim = (folder, _byte(kernel))
    deadline = time.monotonic() + _MAX_WAIT
    while claim not in _held and not _lock(*claim) and time.monotonic() < deadline:
        time.sleep(_POLL_EVERY)
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
    """At the end of the block, release the claims that were taken within it."""
    before = len(_held)
    try:
        yield
    finally:
        while len(_held) > before:
            claim = _held.pop()
            if claim not in _held:
                _unlock(*claim)


def _byte(kernel: str) -> int:
    """Return the position of a kernel's byte."""
    return int.from_bytes(hashlib.sha256(kernel.encode()).digest()[:8], "little") % _POSITIONS


def _lock(folder: Path, byte: int) -> bool:
    """Try to lock a byte; return whether it is locked now. True if locks are not possible (no support, a read-only folder)."""
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
