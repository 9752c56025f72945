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
"""The largest text file that is read, in bytes: about a matrix of 15,000 cities, or 20 million lines of coordinates."""
_MAX_RATIO, _SMALL_BYTES = 100, 2**26
"""A gzipped file's content may be _MAX_RATIO times as large as the file, and always _SMALL_BYTES; usual ratios are 3 to 10."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?", re.ASCII)  # D: Fortran's exponent
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_LINE = re.compile(r"\S[^\n]*+")  # a line that is not blank, from its first character that is not a blank
_BLANK, _LINE_END = re.compile(r"\s"), re.compile(r"\n")
_INT64_CHARACTERS = 18  # the most characters of an integer, with a sign or a blank, that surely fits into an int64
_CHUNK = 2**20  # characters that are converted at a time


def quoted(token: str, longest: int = 40) -> str:
    """Return `token` quoted, escaped and shortened to `longest` characters, for a message of one line."""
    return repr(token if len(token) <= longest else token[: longest - 3] + "...")


def number_of(token: str) -> float:
    """Return the value of a numeral, which may have Fortran's exponent (`1.5D+02`). Raises ValueError."""
    return float(token.replace("D", "e").replace("d", "e"))


class Text:
    """A text file, or consecutive lines of a text file, with line numbers.

    Lines end with LF, CRLF or CR; a byte-order mark is dropped.
    """

    def __init__(self, content: str, file: str | None = None, first_line: int = 1) -> None:
        """Create a text; `file` is the name for errors, `first_line` the number of the first line."""
        if "\r" in content:
            content = content.replace("\r\n", "\n").replace("\r", "\n")
        self.content, self.file, self.first_line = content, file, first_line

    @classmethod
    def read(cls, path: str | Path, largest: int = LARGEST_FILE) -> Text:
        """Read the UTF-8 text in a file, gzipped or not.

        Raises:
            InputError: The text is empty, binary, not UTF-8, larger than `largest` bytes, or compressed more than is plausible.
            OSError: The file cannot be read.
        """
        file = str(path)
        # An uncompressed file never exceeds the ratio: only `largest` limits its size.
        most = min(largest, max(_SMALL_BYTES, _MAX_RATIO * Path(path).stat().st_size))
        with opened(path) as stream:
            data = stream.read(1 << 16)
            if b"\0" not in data:  # a binary file is not read further: it may be an endless device
                data += stream.read(max(0, most + 1 - len(data)))
        if len(data) > most:
            unpacked = "" if most == largest else f", or {_MAX_RATIO} times the size of the packed file"
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
        """Return the InputError for a fault in this file."""
        return InputError(message, file=self.file, line=line, field=field)

    def line_at(self, position: int) -> int:
        """Return the line number of a position in `content`."""
        return self.first_line + self.content.count("\n", 0, position)

    @property
    def last_line(self) -> int:
        """The number of the last line that is not blank, or of the first line if all are blank."""
        return self.line_at(len(self.content.rstrip()))

    def part(self, start: int, end: int, line: int | None = None) -> Text:
        """Return the lines in content[start:end]; `line` is the number of the first line; None: it is counted."""
        return Text(self.content[start:end], self.file, self.line_at(start) if line is None else line)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, line without surrounding blanks) for every line that is not blank."""
        number, counted = self.first_line, 0
        for match in _LINE.finditer(self.content):
            number += self.content.count("\n", counted, match.start())
            counted = match.start()
            yield number, match[0].rstrip()

    def tokens(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, token) for every token; tokens are separated by blanks."""
        for number, line in self.lines():
            for token in line.split():
                yield number, token

    def row_line(self, row: int) -> int:
        """Return the line number of row `row`, counted from 0 among the lines that are not blank; for messages of errors."""
        return next(islice((line for line, _ in self.lines()), max(0, row), None), self.last_line)

    def token_line(self, token: int) -> int:
        """Return the line number of token `token`, counted from 0 in this text; for messages of errors."""
        return next(islice((line for line, _ in self.tokens()), token, None), self.last_line)

    # ---------------------------------------------------------------- one value
    def number(self, token: str, field: str, line: int | None, low: float = -math.inf, high: float = math.inf) -> float:
        """Return `token` as a finite number in low..high. Raises InputError, which names `field` and `line`."""
        accepted = "a number" if math.isinf(low) and math.isinf(high) else f"a number from {low:g} to {high:g}"
        value = number_of(token) if _NUMBER.fullmatch(token) else math.nan
        if not (low <= value <= high and math.isfinite(value)):
            raise self.error(f"{quoted(token)} is not accepted; accepted: {accepted}", line=line, field=field)
        return value

    def integer(self, token: str, field: str, line: int | None, low: int = -(2**53), high: int = 2**53) -> int:
        """Return `token` as an integer in low..high. Raises InputError, which names `field` and `line`."""
        value = int(token) if len(token) < 30 and _INTEGER.fullmatch(token) else None
        if value is None or not low <= value <= high:
            accepted = f"an integer from {low:,} to {high:,}" if abs(low) < 2**53 else "an integer"
            raise self.error(f"{quoted(token)} is not accepted; accepted: {accepted}", line=line, field=field)
        return value

    # ---------------------------------------------------------------- many values
    def numbers(self, field: str) -> NDArray[np.float64]:
        """Return all numbers of this text, however they are split into lines: float64 [count], finite. Raises InputError."""
        with contextlib.suppress(ValueError):
            flat = _joined(map(_values, self._chunks(_BLANK)))
            if np.isfinite(flat).all():
                return flat
        return np.array([self.number(token, field, line) for line, token in self.tokens()], np.float64)  # raises InputError

    def table(self, field: str, columns: int) -> NDArray[np.float64]:
        """Return the numbers of each line that is not blank: float64 [rows, columns], finite. Raises InputError."""
        with contextlib.suppress(ValueError):
            flat = _joined(_row_values(chunk, columns) for chunk in self._chunks(_LINE_END))
            if np.isfinite(flat).all():
                return flat.reshape(-1, columns)
        rows = [self._row(row, field, line, columns) for line, row in self.lines()]  # raises InputError
        return np.array(rows, np.float64).reshape(-1, columns)

    def _row(self, row: str, field: str, line: int, columns: int) -> list[float]:
        tokens = row.split(None, columns)
        if len(tokens) != columns:
            raise self.error(f"{quoted(row)} is not accepted; accepted: {columns} numbers on a line", line=line, field=field)
        return [self.number(token, field, line) for token in tokens]

    def _chunks(self, cut: re.Pattern[str]) -> Iterator[str]:
        """Yield the content in pieces of about a megabyte, each ending where `cut` matches, to limit the memory for tokens.

        Raises ValueError for numerals that `float` would accept but files must not have: 1_000, digits of other scripts.
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
    """Return the numbers of some lines, float64 [n]. Raises ValueError unless each line has `columns` tokens or is blank."""
    if len(chunk) > 2 * _CHUNK:  # a line of more than a megabyte is not a row
        raise ValueError
    characters = np.frombuffer(chunk.encode("ascii"), np.uint8)
    blank = characters <= ord(" ")
    begins = np.append(~blank[:1], blank[:-1] & ~blank[1:])  # whether a token begins at the character
    line_starts = np.append(0, np.flatnonzero(characters[:-1] == ord("\n")) + 1)
    counts = np.add.reduceat(begins.view(np.uint8), line_starts, dtype=np.int64)  # tokens of each line
    if ((counts != columns) & (counts != 0)).any():
        raise ValueError
    return _values(chunk)


def _values(chunk: str) -> NDArray[np.float64]:
    """Return the numbers of a text, float64 [n]. Raises ValueError for other tokens.

    Texts of integers, the usual case, are converted by NumPy, which is ten times as fast.
    """
    characters = chunk.encode("ascii")
    if not characters.translate(None, b"0123456789- \t\r\n") and b"-0" not in characters:
        read = np.frombuffer(b" " + characters + b" ", np.uint8)
        blank, sign = read <= ord(" "), np.flatnonzero(read == ord("-"))
        begins = np.flatnonzero(blank[:-1] & ~blank[1:])
        fits = len(begins) and np.diff(begins, append=len(blank)).max() <= _INT64_CHARACTERS
        if fits and (blank[sign - 1] & (read[sign + 1] >= ord("0"))).all():
            return np.fromstring(chunk, np.int64, sep=" ").astype(np.float64)
    return np.fromiter(map(float, chunk.split()), np.float64)


def _joined(parts: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate([np.zeros(0), *parts])


@dataclass(frozen=True)
class Entry:
    """The value of a keyword in a header, and the number of its line."""

    value: str
    line: int


_COMMENT = re.compile(r"^[^\S\n]*#[^\n]*", re.MULTILINE)
_SIMILARITY = 0.7
"""A keyword counts as mistyped if its similarity (`difflib`) to a known one is at least this: TYPO to TYPE."""
_KEYWORD = re.compile(
    r"^[^\S\n]*+(?!(?:nan|inf|infinity)(?:\s|\Z))([a-z_]\w*+)[^\S\n]*+:?", re.ASCII | re.IGNORECASE | re.MULTILINE
)


def keyword_parts(
    text: Text, accepted: Collection[str], refused: Mapping[str, str], repeatable: Collection[str] = ("COMMENT",)
) -> tuple[dict[str, Entry], dict[str, Text]]:
    """Return header and sections of a file in TSPLIB's format: lines `KEYWORD : value`, and lines `NAME_SECTION` before data.

    The data of a section end before the next line that begins with a letter; EOF ends the file. Lines that begin with # are
    comments. A header line with an unknown keyword is skipped, with a warning in the log, unless the keyword seems mistyped.

    Args:
        text: The file.
        accepted: The accepted keywords, in upper case.
        refused: Keyword -> the reason why it is not supported.
        repeatable: Keywords that may occur several times; their values are joined by line ends.

    Returns:
        Keyword -> Entry, and section -> its data; keywords in upper case.

    Raises:
        InputError: A keyword that is refused, seems mistyped or is repeated, an unknown section, or data outside a section.
    """
    if "#" in text.content:
        text = Text(_COMMENT.sub("", text.content), text.file, text.first_line)
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
    """Return whether a header line is skipped: its keyword is unknown, and not similar to or part of an accepted keyword."""
    if keyword in accepted or keyword in refused or keyword.endswith("_SECTION") or ":" not in line:
        return False
    headers = [known for known in accepted if not known.endswith("_SECTION")]
    parts = (known.startswith(f"{keyword}_") or known.endswith(f"_{keyword}") for known in accepted)
    return not get_close_matches(keyword, headers, 1, _SIMILARITY) and not any(parts)


def _check_keyword(
    text: Text, keyword: str, line: int, accepted: Collection[str], refused: Mapping[str, str], before: int | None
) -> None:
    """Raise InputError for a keyword that is refused, not accepted, or repeated; `before`: its line, if it occurred before."""
    if keyword in refused:
        raise text.error(refused[keyword], line=line, field=keyword)
    if keyword not in accepted:
        near = get_close_matches(keyword, sorted(accepted), 5, 0.0)
        raise text.error(f"not a known keyword; the most similar are: {', '.join(near)}", line=line, field=keyword[:40])
    if before is not None:
        raise text.error(f"given twice, first in line {before}", line=line, field=keyword)
