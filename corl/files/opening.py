"""Files: atomic writing, reading with errors that name the file, and compression by gzip without a change for the caller."""

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
    """Run the block, which reads a file: errors in it become InputErrors that name the file. Pipes and devices raise at once."""
    try:
        if path.exists() and not path.is_file():
            raise InputError("not a regular file", file=str(path))
        yield
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except ValueError as error:  # from readers of NumPy and Python
        raise InputError(f"cannot be read: {error}", file=str(path)) from error


def plain_name(path: str | Path) -> Path:
    """Return the path without the ending .gz, so that its `stem` and `suffix` are those of the uncompressed file."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; content in gzip's format is uncompressed. Raises InputError if such content is damaged."""
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
    """Open a file for writing UTF-8 text with LF as line end, compressed if the name ends in .gz (without a time stamp)."""
    if Path(path).suffix.lower() != ".gz":
        with open(path, "w", encoding="utf-8", newline="\n") as text:
            yield text
        return
    with open(path, "wb") as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text:
            yield text


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path of the same name in a temporary folder; at the end, the file written there replaces `path` atomically.

    The new file has the mode of the replaced file, or the default mode if there was none. A pipe or device is written directly.
    """
    target = Path(os.path.realpath(path))  # links are followed and kept
    try:
        if path.exists() and not path.is_file():  # a pipe, /dev/stdout
            yield path
            return
        with tempfile.TemporaryDirectory(prefix=".corl-", dir=target.parent) as folder:
            partial, default = Path(folder) / target.name, Path(folder) / f"{target.name}.mode"
            default.touch()  # a file with the default mode
            yield partial
            partial.chmod(stat.S_IMODE((target if target.exists() else default).stat().st_mode))
            os.replace(partial, target)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror or error}", str(path)) from error
