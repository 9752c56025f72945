"""Files: written whole or not at all, read with errors that name the file; gzip is transparent."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from corl.errors import InputError

__all__ = ["opened", "plain_name", "reading", "replacing", "writing"]

_GZIP = b"\x1f\x8b"  # the first bytes of every gzip file (RFC 1952)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Return a context for reading a file: a failure is an InputError that names it. Refuses pipes and devices at once."""
    try:
        if path.exists() and not path.is_file():
            raise InputError("not a regular file", file=str(path))
        yield
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except ValueError as error:  # raised by NumPy's and Python's own readers
        raise InputError(f"cannot be read: {error}", file=str(path)) from error


def plain_name(path: str | Path) -> Path:
    """Return the path without the ending .gz: its `stem` and `suffix` are those of the file inside."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, uncompressed if its content is gzip's. Raises InputError if that is damaged."""
    with open(path, "rb") as stream:
        if stream.peek(2)[:2] != _GZIP:
            yield stream
            return
        try:
            with gzip.open(stream) as inside:
                yield cast(BinaryIO, inside)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise InputError(f"damaged gzip data ({error}); accepted: a whole file", file=str(path)) from error


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[TextIO]:
    """Open a file for writing UTF-8 text, line ends as LF, compressed if the name ends in .gz (the same bytes every time)."""
    if Path(path).suffix.lower() != ".gz":
        with open(path, "w", encoding="utf-8", newline="\n") as text:
            yield text
        return
    with open(path, "wb") as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text:
            yield text


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to, of the same name; the written file replaces `path` at the end, whole or not at all.

    It keeps the mode of the replaced file; a new file gets the default mode, whatever mode its writer set.
    """
    target = Path(os.path.realpath(path))  # links are followed and kept
    try:
        if path.exists() and not path.is_file():  # a pipe, /dev/stdout
            yield path
            return
        with tempfile.TemporaryDirectory(prefix=".corl-", dir=target.parent) as folder:
            partial, usual = Path(folder) / target.name, Path(folder) / f"{target.name}.mode"
            usual.touch()
            yield partial
            partial.chmod(stat.S_IMODE((target if target.exists() else usual).stat().st_mode))
            os.replace(partial, target)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror or error}", str(path)) from error
