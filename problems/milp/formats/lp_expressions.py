"""The window through which the reader of LP files sees its tokens, and the expressions that it reads there."""

from __future__ import annotations

import math
from itertools import islice
from typing import NamedTuple

from corl.errors import InputError
from corl.files.text import Text, quoted
from corl.problems.milp.formats.builder import Builder
from corl.problems.milp.formats.lp_tokens import Token, first_apart, term_parts, tokens, tokens_of

__all__ = ["SIGNS", "MAX_SIGNS", "Expressions", "Terms", "infinite"]

SIGNS = {"+": 1.0, "-": -1.0}
MAX_SIGNS = 2
"""Before a number or a name: some writers put one sign between terms and another before the coefficient."""
_LOOKAHEAD = MAX_SIGNS + 2  # tokens: the signs, a number, a relation
_CHUNK = 64  # tokens that are fetched from the stream at a time


def infinite(token: str) -> bool:
    """Return whether a token means infinity."""
    return token.lower() in ("inf", "infinity")


class Terms(NamedTuple):
    """The terms of an expression, in the order of the file."""

    columns: list[int]
    """The column of each term's variable."""
    values: list[float]
    """The coefficients."""
    lines: list[int]
    """The line of each term in the file."""


def _merged(terms: Terms) -> Terms:
    """Return the terms with one term for each variable, at its first position, with the sum of its coefficients."""
    merged: dict[int, tuple[float, int]] = {}
    for j, value, line in zip(*terms):
        total, first_line = merged.get(j, (0.0, line))
        merged[j] = total + value, first_line
    return Terms(list(merged), [value for value, _ in merged.values()], [line for _, line in merged.values()])


class Expressions:
    """The tokens of a file, with a window for looking ahead; it reads labels, expressions and numbers."""

    def __init__(self, text: Text) -> None:
        self.text, self.build = text, Builder(text)
        self.comments: list[str] = []
        self.source = tokens(text, self.comments)
        self.tokens: list[Token] = []  # the window: tokens taken, then at least _LOOKAHEAD more unless the file ends
        self.at = 0  # the index of the next token in the window
        self.last = text.first_line  # the line of the last token taken

    def _fill(self) -> None:
        """Drop the taken tokens from the window, and read further ones."""
        del self.tokens[: self.at]
        self.at = 0
        self.tokens.extend(islice(self.source, _CHUNK))

    @property
    def peek(self) -> Token:
        """The next token, which is not taken."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """Take and return the next simple token; a combined token is split first."""
        if self.tokens[self.at].kind in ("run", "between"):
            self.tokens[self.at : self.at + 1] = first_apart(self.tokens[self.at])
        return self.take_whole()

    def take_whole(self) -> Token:
        """Take and return the next token, which may be a combined one (see Token)."""
        token = self.tokens[self.at]
        self.at, self.last = self.at + 1, token.line
        if self.at + _LOOKAHEAD > len(self.tokens):
            self._fill()
        return token

    def fault(self, token: Token, field: str, accepted: str) -> InputError:
        """Return the error for an unexpected token."""
        what = quoted(token.text) if token.kind != "end" else "the end of the section"
        if token.kind == "arrow":
            what, accepted = f"{what}, an indicator,", "one after a label: c: b = 1 -> x + y <= 5"
        elif token.text in ("[", "]", "^", "*"):
            what, accepted = f"{what}, a quadratic term,", "linear terms, 3 x + 2 y"
        return self.text.error(f"{what} is not accepted; accepted: {accepted}", line=token.line, field=field)

    def _label(self) -> str | None:
        """Take the name and the colon before an expression and return the name; None if there is no label."""
        if self.peek.kind in ("name", "number") and self.tokens[self.at + 1].text == ":":
            name = self.take().text
            self.take()
            return name
        return None

    def _expression(self, field: str, closed: bool = True) -> tuple[Terms, float]:
        """Return the terms of an expression, one for each variable, and its constant.

        A `closed` expression ends at a relation or at the end of the section. The expression of a row that has a side on its left
        need not be followed by a relation: it also ends before a term without a sign, with which the next row begins.
        """
        terms = Terms([], [], [])
        constant = 0.0
        first = True
        while (kind := self.peek.kind) not in ("relation", "end"):
            if kind == "run":
                self._run(terms, field)
            elif not first and not closed and kind in ("name", "number"):
                break
            else:
                constant += self._term(terms, field, first)
            first = False
        return (_merged(terms) if len(set(terms.columns)) < len(terms.columns) else terms), constant

    def _run(self, terms: Terms, field: str) -> None:
        """Take the next token, a run, and add its terms."""
        token = self.take_whole()
        values, names = term_parts(token.text)
        if not math.isfinite(sum(values)):  # if a coefficient is too large, `number` raises the error
            for part in tokens_of(token.text, token.line):
                if part.kind == "number":
                    self.build.number(part.text, field, token.line)
        terms.columns.extend(self.build.columns(names))
        terms.values.extend(values)
        terms.lines.extend([token.line] * len(names))

    def _term(self, terms: Terms, field: str, first: bool) -> float:
        """Take the next term. Return its value if it is a constant; otherwise add it to `terms` and return 0."""
        previous_line = self.last
        sign, signs, token = self._signed(field)
        if not first and not signs:
            if token.line > previous_line and field != "objective" and token.kind in ("name", "number"):
                raise self.text.error(
                    "the row ends without a side; accepted: <=, >= or =, and a number", line=previous_line, field=field
                )
            raise self.fault(token, field, "a sign between two terms, or a relation and a number")
        value = 1.0
        if token.kind == "number":
            value = self.build.number(token.text, field, token.line)
            if self.peek.kind != "name":
                return sign * value
            token = self.take()
        if token.kind != "name":
            raise self.fault(token, field, "a number and a variable's name")
        terms.columns.append(self.build.column(token.text))
        terms.values.append(sign * value)
        terms.lines.append(token.line)
        return 0.0

    def _signed(self, field: str) -> tuple[float, int, Token]:
        """Take the next signs and the token after them; return the product of the signs, their number, and the token."""
        sign, count, token = 1.0, 0, self.take()
        while token.text in SIGNS:
            if count == MAX_SIGNS:
                raise self.fault(token, field, f"at most {MAX_SIGNS} signs, then a number or a variable's name")
            sign, count, token = sign * SIGNS[token.text], count + 1, self.take()
        return sign, count, token

    def _value(self, field: str) -> tuple[float, int]:
        """Take a number with signs, or infinity; return its value and its line."""
        sign, _, token = self._signed(field)
        if token.kind not in ("number", "name") or (token.kind == "name" and not infinite(token.text)):
            raise self._no_number(token, field, "a number")
        return sign * self.build.limit(token.text, field, token.line), token.line

    def _no_number(self, token: Token, field: str, accepted: str) -> InputError:
        """Return the error for a token where the number of a side or a bound should be."""
        if token.kind != "name":
            return self.fault(token, field, accepted)
        message = f"variable {quoted(token.text)} on the right-hand side is not accepted; accepted: a number there"
        return self.text.error(message, line=token.line, field=field)
