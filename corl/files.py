"""Files and JSON: written whole or not at all, read with errors that name the file; gzip seen through."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from corl.errors import InputError

__all__ = ["from_json", "is_number", "opened", "plain_name", "reading", "replacing", "to_json", "writing"]

_GZIP = b"\x1f\x8b"  # what every gzip file begins with (RFC 1952)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Around the reading of a file: what cannot be read is an InputError that names it. Refuses pipes and devices at once."""
    try:
        if path.exists() and not path.is_file():
            raise InputError("not a regular file", file=str(path))
        yield
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except ValueError as error:  # what NumPy's and Python's own readers raise, in problems that are built on them
        raise InputError(f"cannot be read: {error}", file=str(path)) from error


def plain_name(path: str | Path) -> Path:
    """A path without the ending .gz: its `stem` and `suffix` are those of the file inside."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """A file open to be read as bytes, uncompressed where its content is gzip's. Raises InputError where that is damaged."""
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
    """A UTF-8 text to write into a file, line ends as LF, compressed where the name ends in .gz (the same bytes every time)."""
    if Path(path).suffix.lower() != ".gz":
        with open(path, "w", encoding="utf-8", newline="\n") as text:
            yield text
        return
    with open(path, "wb") as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text:
            yield text


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, of the same name; the file written takes the place of `path` at the end, whole or not at all."""
    if path.exists() and not path.is_file():  # a pipe, /dev/stdout
        yield path
        return
    target = Path(os.path.realpath(path))  # through links, which stay
    try:
        with tempfile.TemporaryDirectory(prefix=".corl-", dir=target.parent) as folder:
            yield Path(folder) / target.name
            os.replace(Path(folder) / target.name, target)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror or error}", str(path)) from error


def to_json(value: Any) -> str:
    """JSON on one line: tuples as lists, NumPy values as Python's, infinities and NaN as null, what JSON lacks as its text."""
    return json.dumps(_plain(value), allow_nan=False)


def from_json(text: str, *, file: str | None = None, field: str | None = None) -> Any:
    """The value in a JSON text. Raises InputError for anything else, NaN and infinities among it."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=file, field=field) from error


def is_number(value: Any) -> bool:
    """A number that a float can hold."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, (str, int)) else str(value)
