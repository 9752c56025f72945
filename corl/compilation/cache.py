"""The disk cache of the machine code of kernels: `<user cache>/corl/<module>/<digest>`.

numba's own cache considers only the file of the decorated function: after an edit of a helper in another file it returns
outdated code. Here the digest covers every file whose functions a module's kernels could call. So an edit recompiles the kernels
that depend on it and no others. The location of the files makes no difference.

numba stores pickles, which execute code when they are read. So a folder is used only if its owner is the user or root and
nobody else can write to it. A file is used only if it is intact: it begins with the digest of its name and of its content.
Otherwise kernels are compiled again, and a warning says so once per process.
"""

# mypy: allow-untyped-calls
# numba's own functions have no types.

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from corl.compilation import companion, locks, shared_code, signals
from corl.compilation.sources import digest, modules, reached

__all__ = ["Cache", "bare", "cache_folder", "kernel_cache", "package_folder", "sources_digest"]

_KEPT_DIGESTS = 6  # the most folders of a module on disk: those used last
_IN_USE = 3600.0  # seconds since a folder was last used, within which a running process may still add to it
_SEAL_BYTES = hashlib.sha256().digest_size  # length of the digest at the beginning of a file
_NOT_CACHED = "kernels cannot be cached ({}): they are compiled in every process"
_log = logging.getLogger(__name__)


def kernel_cache(function: Callable[..., Any]) -> Any:
    """Return numba's cache of a kernel; None if there is no folder for it, so that the kernel is compiled in every process."""
    folder = _module_folder(function.__module__)
    return None if folder is None else Cache(function)


def bare(cache: Any) -> Any:
    """Return the cache of the bare form of a kernel, without wrapper and machine code (corl.compilation.bitcode_only)."""
    return _BareCache(cache) if isinstance(cache, Cache) else cache


def cache_folder() -> Path:
    """Return the folder of this user's kernels, which need not exist. Raises RuntimeError if the user has no home folder."""
    return _user_cache() / "corl"


@cache
def package_folder(package: str) -> Path | None:
    """Return a folder for data that are valid until a source of corl or of the package changes; None if it cannot be used."""
    return _folder(package, lambda: digest(file for name in dict.fromkeys(["corl", package]) for file in modules(name).values()))


@cache
def _module_folder(module: str) -> Path | None:
    """Return the folder for the kernels of a module; None if it cannot be used or the source cannot be read (in a zip file).

    numba would then use a folder next to the source, but others might be able to write there.
    """
    return _folder(module, lambda: sources_digest(module))


@cache
def sources_digest(module: str) -> str:
    """Return the digest of the files on which the kernels of a module depend. Raises OSError if a file cannot be read."""
    return digest(reached(module))


# -------------------------------------------------------------------- subclasses of numba's cache
class _Locator(caching._CacheLocator):
    """Gives numba the folder of corl. The folder's name is a digest of the sources, so numba's stamp of the source is empty."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._function, self._folder = function, folder
        self._py_file = function.__code__.co_filename  # numba reads it for warnings

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return str(self._function.__code__.co_firstlineno)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        folder = _module_folder(py_func.__module__)
        return None if folder is None else cls(py_func, folder)


class _Serialiser(caching.CompileResultCacheImpl):
    """numba's serialiser of compiled kernels, with only the locator above."""

    _locator_classes = [_Locator]  # noqa: RUF012

    def reduce(self, cres: Any) -> Any:
        """Return what is stored of a compiled kernel: the shared kernels that it calls, and numba's data."""
        return shared_code.needed_by(cres.library), super().reduce(cres)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return the stored kernel; None, as if it were not stored, if a shared kernel that it calls does not exist."""
        symbols, data = payload
        try:
            shared_code.provide(symbols)
        except (ImportError, AttributeError):
            return None
        found = super().rebuild(target_context, data)
        if symbols:
            found.library.symbols = dict.fromkeys(symbols)
        return found


class _File(caching.IndexDataCacheFile):
    """The files of a kernel: an index (signature -> name of a data file), and one data file per signature."""

    def save(self, key: Any, data: Any) -> None:
        """Save one entry; a lock keeps other processes from changing the index between its reading and writing."""
        with _locked(Path(self._cache_path) / "lock"):
            super().save(key, (str(key[0]), data))

    def load(self, key: Any) -> Any:
        """Return the stored entry; None if there is none, or if the file holds the entry of another signature."""
        stored = super().load(key)
        return stored[1] if stored is not None and stored[0] == str(key[0]) else None

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_seal(name, content) + content)

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        """Open a file for writing; only its owner may write it later, whatever the umask."""
        with super()._open_for_write(filepath) as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & 0o755)
            yield file

    def _load_data(self, name: str) -> Any:
        """Return the content of a data file.

        Raises OSError if the file is damaged or another kernel's; `load` then returns None, as for a missing file.
        """
        path = Path(self._data_path(name))
        content = path.read_bytes()
        if not self._is_trusted(path):
            raise OSError
        if content[:_SEAL_BYTES] != _seal(name, content[_SEAL_BYTES:]):
            _warn(f"{path.parents[2]} has damaged files: their kernels are compiled again")
            raise OSError
        return pickle.loads(content[_SEAL_BYTES:])

    def _load_index(self) -> dict[Any, Any]:
        """Return the index; {} if it cannot be read. Entries of another kernel are skipped.

        The index names the classes that a kernel was called with. If such a class no longer exists (from a test or a notebook),
        the index cannot be unpickled, and numba would raise ModuleNotFoundError at every further call of the kernel.
        """
        own_prefix = self._index_name.removesuffix("nbi")
        try:
            found = super()._load_index() if self._is_trusted(Path(self._index_path)) else {}
            return {key: name for key, name in found.items() if name.removeprefix(own_prefix).removesuffix(".nbc").isdigit()}
        except Exception:
            return {}

    def _is_trusted(self, path: Path) -> bool:
        return _is_private(path)


class _CompanionFile(_File):
    """The files of a kernel in an installed package (corl.compilation.companion); Python trusts them as it does their code."""

    def _is_trusted(self, path: Path) -> bool:
        return True


def _seal(name: str, content: bytes) -> bytes:
    """Return the digest at the beginning of a file."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


class Cache(caching.FunctionCache):
    """numba's cache of a kernel in the folder of corl; one process compiles the kernel, others wait."""

    _impl_class = _Serialiser

    def __init__(self, function: Callable[..., Any], kind: str = "") -> None:
        super().__init__(function)
        self._folder, self._file_name = Path(self._cache_path), self._impl.filename_base + kind
        self._cache_file = _File(self._cache_path, self._file_name, self._impl.locator.get_source_stamp())
        shipped = companion.folder_of(function.__module__, sources_digest(function.__module__))
        self._companion = None if shipped is None else _CompanionFile(str(shipped), self._file_name, "")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the stored code; None if the caller must compile the kernel.

        In this case the caller has the claim to the compilation (see corl.compilation.locks), until the current block of
        `locks.released` ends.
        """
        found = self.find(sig, target_context)
        if found is None:
            locks.take(self._folder, self._claim(sig), signals.deliver)
            found = self.find(sig, target_context)
        return found

    def find(self, sig: Any, target_context: Any) -> Any:
        """Return the stored code, of the user's cache or of the companion package; None if there is none."""
        found = super().load_overload(sig, target_context)
        if found is None and self._companion is not None:
            stored = self._companion.load(self._index_key(sig, companion.Target))
            found = None if stored is None else self._impl.rebuild(target_context, stored)
        return found

    def size(self, sig: Any, codegen: Any) -> int:
        """Return the size in bytes of the file that is stored for a signature; 0 if there is none."""
        for file, target in ((self._cache_file, codegen), (self._companion, companion.Target)):
            if file is not None and (name := file._load_index().get(self._index_key(sig, target))) is not None:
                with contextlib.suppress(OSError):
                    return Path(file._data_path(name)).stat().st_size
        return 0

    def copy(self, sig: Any, folder: Path) -> None:
        """Copy the code that is stored for the companion package's target to a folder. Raises KeyError if there is none."""
        folder.mkdir(parents=True, exist_ok=True)
        key, copied = self._index_key(sig, companion.Target), _CompanionFile(str(folder), self._file_name, "")
        name = self._cache_file._load_index()[key]
        shutil.copyfile(self._cache_file._data_path(name), copied._data_path(name))
        copied._save_index(copied._load_index() | {key: name})

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store machine code; do nothing if the folder cannot be written or the disk is full."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            if os.access(self._folder, os.W_OK):  # a folder without write permission is read-only on purpose
                _warn(f"{self._folder.parents[2]}: {_NOT_CACHED.format(error.strerror)}")

    def is_claimed(self, sig: Any) -> bool:
        """Return whether another process is compiling the kernel for this signature."""
        return locks.taken(self._folder, self._claim(sig))

    def _claim(self, sig: Any) -> str:
        return f"{self._file_name} {sig}"


class _BareCache(Cache):
    """The cache of the bare form of a kernel, in separate files; if there is no bare form, the whole one is used."""

    def __init__(self, whole: Cache) -> None:
        super().__init__(whole._py_func, ".bare")
        self._whole = whole

    def find(self, sig: Any, target_context: Any) -> Any:
        found = super().find(sig, target_context)
        return self._whole.find(sig, target_context) if found is None else found


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: if two processes write at once, the last entry remains, and the other kernel is compiled again
        yield
        return
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# -------------------------------------------------------------------- folders
def _folder(name: str, sources: Callable[[], str]) -> Path | None:
    """Return the folder for the digest of some sources, created if missing; None if it or a source cannot be used."""
    checks = numba.config.BOUNDSCHECK  # type: ignore[attr-defined]  # not part of numba's own key
    checked = " with checks of indices" if checks else ""
    try:
        full = hashlib.sha256(f"{sys.version} numba {numba.__version__}{checked} {sources()}".encode())
        root = _user_cache()
        levels = [root / "corl", root / "corl" / name, folder := root / "corl" / name / full.hexdigest()[:16]]
        try:
            root.mkdir(parents=True, exist_ok=True)
            for level in levels:
                level.mkdir(mode=0o755, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):  # numba tests in this way whether it can write
                pass
            os.utime(folder)
            with contextlib.suppress(OSError):  # another process is pruning
                _prune(folder.parent)
        except OSError as error:
            if not folder.is_dir():
                _warn(f"{root}: {_NOT_CACHED.format(error.strerror)}")
                raise
            # otherwise the folder exists already and can be read
        return folder if all(map(_is_private, levels)) else None
    except (OSError, RuntimeError):  # RuntimeError: from Path.home() if the user has no home folder
        return None


def _is_private(path: Path) -> bool:
    """Return whether the owner of a file or folder is the user or root, and nobody else can write to it; True on Windows.

    Raises OSError if it does not exist.
    """
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    if status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022:
        return True
    _warn(f"{path} is not used, others may write there: kernels are compiled in every process; accepted: your own, chmod go-w")
    return False


@cache
def _warn(message: str) -> None:
    """Log a warning, each message once per process."""
    _log.warning("%s", message)


def _user_cache() -> Path:
    if given := os.environ.get("CORL_CACHE"):
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _prune(base: Path) -> None:
    """Remove folders of earlier sources, except those used last and those that a running process may still use."""
    folders = sorted(((folder.stat().st_mtime, folder) for folder in base.iterdir()), reverse=True)
    for used, folder in folders[_KEPT_DIGESTS:]:
        if time.time() - used > _IN_USE:
            shutil.rmtree(folder, ignore_errors=True)
