"""`kernel`: numba's njit with a disk cache that can be trusted.

numba's own cache looks at the file of the decorated function alone: an edited helper in another file keeps returning its
old values. Here the cache folder's name is a digest of all sources that a kernel could call, so an edit starts afresh.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
from numba.core import config

__all__ = ["cache_folder", "kernel"]

_F = TypeVar("_F", bound=Callable[..., Any])
_KEPT = 6  # digests kept on disk, the latest used ones
_IN_USE = 3600.0  # seconds after its start that a process may still add to its folder
_lock = threading.Lock()


@overload
def kernel(function: _F, /) -> _F: ...
@overload
def kernel(
    *, inline: bool = False, fastmath: bool = False, borrow: bool = False, nogil: bool = False
) -> Callable[[_F], _F]: ...
def kernel(
    function: _F | None = None, /, *, inline: bool = False, fastmath: bool = False, borrow: bool = False, nogil: bool = False
) -> _F | Callable[[_F], _F]:
    """Compile `function` with numba at its first call and keep the machine code on disk.

    `inline` asks LLVM to inline it at every call (small helpers); `fastmath` lets it reorder floating-point sums. `borrow` is for
    helpers that take a NamedTuple of many arrays and run for less than a microsecond: they and what they call count no references
    to arrays, which costs 10 ns an array and call, and can therefore neither make arrays nor assign to slices.
    `nogil` lets other threads of Python run meanwhile.
    numba's settings are changed only while decorating, so that a user's own kernels are untouched.
    """

    def decorate(function: _F) -> _F:
        options: dict[str, Any] = {"fastmath": fastmath, "error_model": "numpy"}
        if inline:
            options["forceinline"] = True
        if borrow:
            options["_nrt"] = False
        if nogil:
            options["nogil"] = True
        folder = cache_folder(function.__module__.partition(".")[0])
        with _lock:
            before, config.CACHE_DIR = config.CACHE_DIR, str(folder or "")  # type: ignore[attr-defined]
            try:
                compiled = numba.njit(cache=folder is not None, **options)(function)
            finally:
                config.CACHE_DIR = before  # type: ignore[attr-defined]
        if folder is not None:
            _forgive(compiled)
        return cast(_F, compiled)

    return decorate if function is None else decorate(function)


@cache
def cache_folder(package: str) -> Path | None:
    """The folder for the kernels of a package: `<user cache>/corl/<digest of the sources of corl and of the package>`.

    None, and then kernels are compiled in every process, where no folder can be written or no source can be read (a zip
    file): numba's own choice would be a folder beside the source, which is not to be trusted (above).
    """
    digest = hashlib.sha256(f"{sys.version} numba {numba.__version__}".encode())
    try:
        for name in dict.fromkeys(["corl", package]):
            _digest_sources(name, digest)
        base = _user_cache() / "corl"
        folder = base / digest.hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # as numba tries it
            pass
        os.utime(folder)
        with contextlib.suppress(OSError):  # another process is at it
            _prune(base)
        return folder
    except (OSError, RuntimeError):  # RuntimeError: Path.home() of a user who has none
        return None


def _forgive(compiled: Any) -> None:
    """Let a cache index that cannot be read count as empty.

    The index names the classes that a kernel was called with. One of a plug-in that has gone since (a test's, a notebook's)
    cannot be unpickled, and numba would raise ModuleNotFoundError at the kernel's next call with anything.
    """
    file = compiled._cache._cache_file
    load = file._load_index

    def load_or_forget() -> dict[Any, Any]:
        try:
            return dict(load())
        except Exception:
            return {}

    file._load_index = load_or_forget


def _digest_sources(package: str, digest: Any) -> None:
    """Feed the .py sources of a package (for corl: also of problems and solvers, which lie beside it) to `digest`."""
    origin = getattr(sys.modules.get(package), "__file__", None)
    if origin is None:  # a notebook or __main__: numba's own check of the one function is all there is
        return
    if Path(origin).name != "__init__.py":
        files = [Path(origin)]
    else:
        home = Path(origin).resolve().parent
        folders = [home]
        if package == "corl" and not (home / "problems").is_dir():  # a source checkout
            folders += [home.parent / "problems", home.parent / "solvers"]
        files = sorted(file for folder in folders for file in folder.rglob("*.py"))
        if not files:
            raise OSError("no sources")
    for file in files:
        digest.update(file.name.encode())
        digest.update(file.read_bytes())


def _user_cache() -> Path:
    if given := os.environ.get("CORL_CACHE"):
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _prune(base: Path) -> None:
    """Remove the folders of earlier sources, but the latest few and those that a running process may still use."""
    folders = sorted(((folder.stat().st_mtime, folder) for folder in base.iterdir()), reverse=True)
    for used, folder in folders[_KEPT:]:
        if time.time() - used > _IN_USE:
            shutil.rmtree(folder, ignore_errors=True)
