"""Text with line numbers for the parsers of all problem families: every error names its line."""

from __future__ import annotations

import contextlib
import logging
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.opening import opened

__all__ = ["LARGEST_FILE", "Entry", "Text", "keyword_parts", "number_of", "quoted"]

_log = logging.getLogger(__name__)

LARGEST_FILE = 2**30
"""Bytes of the largest text file that is read; a matrix of 15,000 cities or 20 million coordinate lines."""
_DENSE, _SMALL = 100, 2**26
"""Limits of a gzipped file's content: this many times its size, or this many bytes. Instances compress to a third or a tenth."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?", re.ASCII)  # D: Fortran's exponent
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_LINE = re.compile(r"\S[^\n]*+")  # of a line that is not blank, what begins with its first character
_BLANK, _LINE_END = re.compile(r"\s"), re.compile(r"\n")
_DIGITS = 18  # characters of a whole number, with a sign or a blank, that fit into an int64
_CHUNK = 2**20  # characters


def quoted(token: str, longest: int = 40) -> str:
    """Return `token` for a message of one line: quoted, escaped, shortened."""
    return repr(token if len(token) <= longest else token[: longest - 3] + "...")


def number_of(token: str) -> float:
    """Return the float64 of a numeral, including Fortran's (`1.5D+02`). Raises ValueError."""
    return float(token.replace("D", "e").replace("d", "e"))


class Text:
    """A text file, or consecutive lines of one, with line numbers.

    Lines end with LF, CRLF or CR; a byte-order mark is dropped.
    """

    def __init__(self, content: str, file: str | None = None, first_line: int = 1) -> None:
        if "\r" in content:
            content = content.replace("\r\n", "\n").replace("\r", "\n")
        self.content, self.file, self.first_line = content, file, first_line

    @classmethod
    def read(cls, path: str | Path, largest: int = LARGEST_FILE) -> Text:
        """Read the UTF-8 text in a file, gzipped or not.

        Raises InputError if it is empty, binary, not UTF-8, over `largest` bytes, or unpacks to too many times its size; OSError.
        """
        file = str(path)
        most = min(largest, max(_SMALL, _DENSE * Path(path).stat().st_size))  # what is not packed is no larger than itself
        with opened(path) as stream:
            data = stream.read(1 << 16)
            if b"\0" not in data:  # so that no endless binary device is read to the limit
                data += stream.read(max(0, most + 1 - len(data)))
        if len(data) > most:
            unpacked = "" if most == largest else f", or {_DENSE} times the size of the packed file"
            raise InputError(f"the file is too large; accepted: text of at most {most:,} bytes{unpacked}", file=file)
        data = data.removeprefix(b"\xef\xbb\xbf")
        if (zero := data.find(b"\0")) >= 0:
            raise InputError("a zero byte; accepted: UTF-8 text", file=file, line=data.count(b"\n", 0, zero) + 1)
        try:
            content = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(f"byte 0x{data[error.start]:02x} is not UTF-8; accepted: UTF-8 text", file=file, line=line) from None
        if not content or content.isspace():
            raise InputError("the file is empty", file=file, line=1)
        return cls(content, file)

    # ---------------------------------------------------------------- places
    def error(self, message: str, *, line: int | None = None, field: str | None = None) -> InputError:
        """Return the InputError to raise for a fault in this file."""
        return InputError(message, file=self.file, line=line, field=field)

    def line_at(self, position: int) -> int:
        """Return the line number of a position in `content`."""
        return self.first_line + self.content.count("\n", 0, position)

    @property
    def last_line(self) -> int:
        """The number of the last line that is not blank (the first line's if there is none)."""
        return self.line_at(len(self.content.rstrip()))

    def part(self, start: int, end: int, line: int | None = None) -> Text:
        """Return the lines in content[start:end]; `line` is the number of the first, counted here if it is not given."""
        return Text(self.content[start:end], self.file, self.line_at(start) if line is None else line)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (number, line without surrounding blanks) of every line that is not blank."""
        number, counted = self.first_line, 0
        for match in _LINE.finditer(self.content):
            number += self.content.count("\n", counted, match.start())
            counted = match.start()
            yield number, match[0].rstrip()

    def tokens(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, token) of every token, separated by blanks."""
        for number, line in self.lines():
            for token in line.split():
                yield number, token

    def row_line(self, row: int) -> int:
        """Return the line number of the row-th (0..) line that is not blank, for the message of an error."""
        return next(islice((line for line, _ in self.lines()), max(0, row), None), self.last_line)

    def token_line(self, token: int) -> int:
        """Return the line number of the token-th (0..) token, for the message of an error."""
        return next(islice((line for line, _ in self.tokens()), token, None), self.last_line)

    # ---------------------------------------------------------------- one value
    def number(self, token: str, field: str, line: int | None, low: float = -math.inf, high: float = math.inf) -> float:
        """Return `token` as a finite float64 in low..high. Raises InputError."""
        accepted = "a number" if math.isinf(low) and math.isinf(high) else f"a number from {low:g} to {high:g}"
        value = number_of(token) if _NUMBER.fullmatch(token) else math.nan
        if not (low <= value <= high and math.isfinite(value)):
            raise self.error(f"{quoted(token)} is not accepted; accepted: {accepted}", line=line, field=field)
        return value

    def integer(self, token: str, field: str, line: int | None, low: int = -(2**53), high: int = 2**53) -> int:
        """Return `token` as an integer in low..high. Raises InputError."""
        value = int(token) if len(token) < 30 and _INTEGER.fullmatch(token) else None
        if value is None or not low <= value <= high:
            accepted = f"an integer from {low:,} to {high:,}" if abs(low) < 2**53 else "an integer"
            raise self.error(f"{quoted(token)} is not accepted; accepted: {accepted}", line=line, field=field)
        return value

    # ---------------------------------------------------------------- many values
    def numbers(self, field: str) -> NDArray[np.float64]:
        """Return all numbers of this text, wrapped over lines in any way: float64 [count], finite."""
        with contextlib.suppress(ValueError):
            flat = _joined(map(_values, self._chunks(_BLANK)))
            if np.isfinite(flat).all():
                return flat
        return np.array([self.number(token, field, line) for line, token in self.tokens()], np.float64)  # raises at the fault

    def table(self, field: str, columns: int) -> NDArray[np.float64]:
        """Return one row per line that is not blank, each of exactly `columns` numbers: float64 [rows, columns], finite."""
        with contextlib.suppress(ValueError):
            flat = _joined(_row_values(chunk, columns) for chunk in self._chunks(_LINE_END))
            if np.isfinite(flat).all():
                return flat.reshape(-1, columns)
        rows = [self._row(row, field, line, columns) for line, row in self.lines()]  # raises at the fault
        return np.array(rows, np.float64).reshape(-1, columns)

    def _row(self, row: str, field: str, line: int, columns: int) -> list[float]:
        tokens = row.split(None, columns)
        if len(tokens) != columns:
            raise self.error(f"{quoted(row)} is not accepted; accepted: {columns} numbers on a line", line=line, field=field)
        return [self.number(token, field, line) for token in tokens]

    def _chunks(self, cut: re.Pattern[str]) -> Iterator[str]:
        """Yield the content in pieces of about a megabyte that end where `cut` matches, to limit the memory for tokens.

        Raises ValueError for numerals that `float` accepts but files must not hold: 1_000, digits of other scripts.
        """
        if "_" in self.content or not self.content.isascii():
            raise ValueError
        start = 0
        while start < len(self.content):
            match = cut.search(self.content, start + _CHUNK)
            end = match.end() if match else len(self.content)
            yield self.content[start:end]
            start = end


def _row_values(chunk: str, columns: int) -> NDArray[np.float64]:
    """Return the numbers of a run of lines; ValueError unless every line that is not blank holds `columns`."""
    if len(chunk) > 2 * _CHUNK:  # a line of more than a megabyte is not a row
        raise ValueError
    characters = np.frombuffer(chunk.encode("ascii"), np.uint8)
    blank = characters <= ord(" ")
    begins = np.append(~blank[:1], blank[:-1] & ~blank[1:])  # where a token begins
    lines = np.append(0, np.flatnonzero(characters[:-1] == ord("\n")) + 1)
    counts = np.add.reduceat(begins.view(np.uint8), lines, dtype=np.int64)
    if ((counts != columns) & (counts != 0)).any():
        raise ValueError
    return _values(chunk)


def _values(chunk: str) -> NDArray[np.float64]:
    """Return the numbers of a text. Raises ValueError for other tokens. Whole numbers, the usual case, are ten times as fast."""
    characters = chunk.encode("ascii")
    if not characters.translate(None, b"0123456789- \t\r\n") and b"-0" not in characters:
        read = np.frombuffer(b" " + characters + b" ", np.uint8)
        blank, sign = read <= ord(" "), np.flatnonzero(read == ord("-"))
        begins = np.flatnonzero(blank[:-1] & ~blank[1:])
        fits = len(begins) and np.diff(begins, append=len(blank)).max() <= _DIGITS
        if fits and (blank[sign - 1] & (read[sign + 1] >= ord("0"))).all():
            return np.fromstring(chunk, np.int64, sep=" ").astype(np.float64)
    return np.fromiter(map(float, chunk.split()), np.float64)


def _joined(parts: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate([np.zeros(0), *parts])


@dataclass(frozen=True)
class Entry:
    """The value of a keyword in a header, and its line."""

    value: str
    line: int


_REMARK = re.compile(r"^[^\S\n]*#[^\n]*", re.MULTILINE)
_CLOSE = 0.7
"""The least similarity (`difflib`) of a mistyped keyword to a known one: TYPO, CAPACITIES, DISTANCE_LIMIT."""
_KEYWORD = re.compile(
    r"^[^\S\n]*+(?!(?:nan|inf|infinity)(?:\s|\Z))([a-z_]\w*+)[^\S\n]*+:?", re.ASCII | re.IGNORECASE | re.MULTILINE
)


def keyword_parts(
    text: Text, accepted: Collection[str], refused: Mapping[str, str], repeatable: Collection[str] = ("COMMENT",)
) -> tuple[dict[str, Entry], dict[str, Text]]:
    """Return header and sections of a file in TSPLIB's format: `KEYWORD : value` lines, and `NAME_SECTION` lines with data.

    A section's data ends before the next line that begins with a letter; EOF ends the file. Lines that begin with # are comments.
    A header line whose keyword is neither `accepted` nor similar to one that is, is skipped with a warning in the log.

    Args:
        text: The file.
        accepted: The accepted keywords, in upper case.
        refused: Keyword -> the reason why it is not supported.
        repeatable: Keywords that may be repeated; their values are joined by line ends.

    Returns:
        Keyword -> Entry, and section -> its data; keywords in upper case.

    Raises:
        InputError: A refused keyword, another one that is not accepted, a repeated one, or data outside a section.
    """
    if "#" in text.content:
        text = Text(_REMARK.sub("", text.content), text.file, text.first_line)
    content, values, sections = text.content, {}, {}  # type: str, dict[str, list[str]], dict[str, Text]
    line, counted, first = text.first_line, 0, {}  # type: int, int, dict[str, int]
    for match, following in pairwise(chain([None], _KEYWORD.finditer(content), [None])):
        start, end = match.end() if match else 0, following.start() if following else len(content)
        if match:
            line += content.count("\n", counted, match.start())
            counted = match.start()
            keyword = match[1].upper()
            if keyword == "EOF":
                break
            line_end = content.find("\n", start, end)
            skipped = _skipped(content[match.start() : end if line_end < 0 else line_end], keyword, accepted, refused)
            if skipped:
                _log.warning("%s:%d: %s: not a known keyword; the line is skipped", text.file, line, keyword[:40])
            else:
                _check_keyword(text, keyword, line, accepted, refused, None if keyword in repeatable else first.get(keyword))
                first.setdefault(keyword, line)
            if keyword.endswith("_SECTION"):
                sections[keyword] = text.part(start, end, line)
                continue
            start, value_at = end if line_end < 0 else line_end, start
            if not skipped:
                values.setdefault(keyword, []).append(content[value_at:start].strip())
        for at, data in text.part(start, end, line).lines():
            message = f"{quoted(data)} is not accepted; accepted: KEYWORD : value, or a section's name before its data"
            raise text.error(message, line=at)
    return {keyword: Entry("\n".join(lines), first[keyword]) for keyword, lines in values.items()}, sections


def _skipped(line: str, keyword: str, accepted: Collection[str], refused: Mapping[str, str]) -> bool:
    """Return whether a line with an unknown keyword is an additional header to skip, not a mistyped keyword."""
    if keyword in accepted or keyword in refused or keyword.endswith("_SECTION") or ":" not in line:
        return False
    headers = [known for known in accepted if not known.endswith("_SECTION")]
    parts = (known.startswith(f"{keyword}_") or known.endswith(f"_{keyword}") for known in accepted)
    return not get_close_matches(keyword, headers, 1, _CLOSE) and not any(parts)


def _check_keyword(
    text: Text, keyword: str, line: int, accepted: Collection[str], refused: Mapping[str, str], before: int | None
) -> None:
    if keyword in refused:
        raise text.error(refused[keyword], line=line, field=keyword)
    if keyword not in accepted:
        near = get_close_matches(keyword, sorted(accepted), 5, 0.0)
        raise text.error(f"not a known keyword; the nearest that are: {', '.join(near)}", line=line, field=keyword[:40])
    if before is not None:
        raise text.error(f"given twice, first in line {before}", line=line, field=keyword)
