"""The tokenizer of LP files: a lazy stream of tokens, each with its line number for error messages.

A run of signed terms (`+ 3 x - y + 2.5 z + w`) is one token. Large files consist of such runs, and regular expressions split
them much faster than a loop in Python over their terms.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from operator import add
from typing import NamedTuple

from corl.files.text import Text, number_of, quoted

__all__ = ["BETWEEN", "FORTRAN", "NAME", "SENSE", "Token", "first_apart", "is_head", "term_parts", "tokens", "tokens_of"]

NAME = r"(?:[^\W\d]|[!\"#$%&(),;?@'`{}~|/])[^\s+\-<>=:^*\\]*"  # brackets only after the first character, as in Gurobi
FORTRAN = re.compile(r"(?:[0-9]+\.[0-9]*|\.[0-9]+)([dD])[+-][0-9]{2,3}(?![^\s<>=])")
"""A number as Fortran writes it, such as 3.0D+02. A shorter form is not accepted, because 3d2 is three times the variable d2."""
_FORTRAN = FORTRAN.pattern.replace("([dD])", "[dD]")
_TOKEN = re.compile(
    r"(?P<arrow><?->)|(?P<relation><=|=<|>=|=>|<|>|=)"
    rf"|(?P<number>{_FORTRAN}|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>{NAME})"
    r"|(?P<mark>[+\-:\[\]^*])|(?P<other>\S)"
)
# A term with its sign. Possessive quantifiers make it end where _TOKEN would end; _TOKEN alone accepts non-ASCII digits.
_DIGITS = rf"(?:{_FORTRAN}|(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+)"
_TERM = re.compile(rf"([+-])\s*+({_DIGITS})?+\s*+({NAME}+)")
_RUN = re.compile(
    rf"(?<![eEdD])(?:[+-]\s*+(?:{_DIGITS})?+\s*+{NAME}+\s*+){{2,}}+"
)  # the lookbehind keeps it from beginning in an exponent
_VALUE = rf"[+-]?(?:{_DIGITS}|(?ai:inf(?:inity)?))"
BETWEEN = re.compile(rf"({_VALUE})\s*+<=\s*+({NAME}+)\s*+<=\s*+({_VALUE})")
"""A line of the bounds section with two sides; the groups are lower, name, upper."""
_ONLY_NAME = re.compile(NAME)
_SIGNED = frozenset("+-")
SENSE = re.compile(r"(min|max)(imi[sz]e|imum)?(?![^\s\\])", re.IGNORECASE)
_HEADS = (  # section, pattern of the head with which its first line begins
    ("objective", SENSE),
    ("rows", re.compile(r"(subject\s+to\s*:?|such\s+that\s*:?|s\.t\.:?|st\.|st)(?=\s|\Z)", re.IGNORECASE)),
    ("semi", re.compile(r"(semi-?continuous|semis?)(?=\s|\Z)", re.IGNORECASE)),
    ("sos", re.compile(r"sos[12]?(?=\s|\Z)", re.IGNORECASE)),
    ("refused", re.compile(r"(lazy\s+constraints|user\s+cuts|pwlobj|general\s+constraints?|"
                           r"multi-objectives|scenario)(?=\s|\Z)", re.IGNORECASE)),
    ("bounds", re.compile(r"bounds?(?=\s|\Z)", re.IGNORECASE)),
    ("general", re.compile(r"(generals?|gen|integers?|int)(?=\s|\Z)", re.IGNORECASE)),
    ("binary", re.compile(r"(binary|binaries|bin)(?=\s|\Z)", re.IGNORECASE)),
    ("end", re.compile(r"end(?=\s|\Z)", re.IGNORECASE)),
)  # fmt: skip
_HEAD_LETTERS = frozenset("mMsSbBgGiIeElLuUpP")  # the first letters of heads


class Token(NamedTuple):
    """A token: its kind, its text and its line.

    Simple kinds are arrow, relation, number, name, mark, other, section, and end (of a section). Combined tokens are a run
    (several signed terms) and a between (see BETWEEN). The text of a section token is min, max (the objective), rows, bounds,
    general, binary or semi; for ordered sets and for an unsupported section it is the head in the file.
    """

    kind: str
    text: str
    line: int


def is_head(name: str) -> bool:
    """Return whether this name at the beginning of a line would be taken for the head of a section."""
    return any(head.match(name) for _, head in _HEADS)


def tokens_of(content: str, line: int) -> Iterator[Token]:
    """Return the tokens of a part of a line, none of them combined."""
    return (Token(m.lastgroup, m[0], line) for m in _TOKEN.finditer(content))  # type: ignore[arg-type]  # one group matches


def first_apart(token: Token) -> list[Token]:
    """Split a combined token: a `between` into its tokens, a `run` into the tokens of its first term and a run of the others."""
    term = _TERM.match(token.text) if token.kind == "run" else None
    end = term.end() if term else len(token.text)
    rest = token.text[end:].strip()
    return [*tokens_of(token.text[:end], token.line), *([Token("run", rest, token.line)] if rest else [])]


def term_parts(run: str) -> tuple[list[float], list[str]]:
    """Return the coefficients and the names of the terms of a run. Coefficients too large for a float64 are infinite.

    Most files separate either all parts of every term by blanks (`+ 3 x`), or sign and number from the name (`+3 x`). In these
    cases splitting at blanks is enough. Whether a run is such a case is checked by converting what stands before the names to
    numbers, and by searching the names for signs. In other cases a regular expression finds the terms. (A name that `float`
    accepts, such as nan, is followed by a sign in a run and cannot be mistaken for the number before a name.)
    """
    words = run.split()
    count = 2 if len(words[0]) > 1 else 3
    names = words[count - 1 :: count]
    if len(words) % count == 0 and not _SIGNED.intersection("".join(names)):
        with contextlib.suppress(ValueError):
            return list(map(float, words[::2] if count == 2 else map(add, words[::3], words[1::3]))), names
    terms = _TERM.findall(run)
    return [number_of(sign + (digits or "1")) for sign, digits, _ in terms], [name for _, _, name in terms]


def tokens(text: Text, comments: list[str]) -> Iterator[Token]:
    """Yield for each section a section token, the tokens of the section, and an end token with the line of the last of these.

    Comments that fill a line are appended to `comments`, in place. Raises InputError.
    """
    section, last_line = "", text.first_line
    for number, raw in text.lines():
        content, backslash, comment = raw.partition("\\")
        if backslash:
            if not content.strip():
                comments.append(comment.strip())
            content = content.strip()
        head = _head(content) if content[:1] in _HEAD_LETTERS else None
        if head:
            kind, match = head
            if section:
                yield Token("end", "", last_line)
            section, last_line, content = kind, number, content[match.end() :]
            if section == "end":
                if content:
                    raise text.error(f"{quoted(content)} after the end", line=number, field="end")
                return
            name = match[0][:3].lower() if section == "objective" else match[0] if section in ("refused", "sos") else section
            yield Token("section", " ".join(name.split()), number)
        if content and not section:
            raise text.error(f"{quoted(content)} before minimize or maximize", line=number, field="section")
        if content:
            yield from _in_section(section, content, number)
            last_line = number
    if section:
        yield Token("end", "", last_line)


def _head(content: str) -> tuple[str, re.Match[str]] | None:
    """Return the section whose head begins the line, and the match; None if there is no head.

    A head word that is followed by a colon or a relation is the name of a row or a variable instead.
    """
    for kind, head in _HEADS:
        if match := head.match(content):
            return None if content[match.end() :].lstrip().startswith((":", "<", ">", "=")) else (kind, match)
    return None


def _in_section(section: str, content: str, line: int) -> Iterable[Token]:
    """Return the tokens of a line of a section, combined if possible."""
    if section in ("objective", "rows"):
        return _with_runs(content, line)
    if _ONLY_NAME.fullmatch(content):
        return [Token("name", content, line)]
    if section == "bounds" and BETWEEN.fullmatch(content):
        return [Token("between", content, line)]
    return tokens_of(content, line)


def _with_runs(content: str, line: int) -> Iterator[Token]:
    """Yield the tokens of a line of the objective or of the rows, with runs as combined tokens."""
    at = 0
    for run in _RUN.finditer(content):
        if at < run.start():
            yield from tokens_of(content[at : run.start()], line)
        yield Token("run", run[0], line)
        at = run.end()
    if at < len(content):
        yield from tokens_of(content[at:], line)
