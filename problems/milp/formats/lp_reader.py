"""Reader of LP files (CPLEX's text format); lp_writer.py writes them.

Accepted are linear objectives and rows, bounds, `free`, general and binary variables. A side of a row is a relation and a number;
a row has a side after its terms, before them, or both (`-3 <= x + y <= 5`). Expressions may contain constants. Quadratic terms,
semi-continuous variables, special ordered sets and indicators are refused; empty sections for them are skipped, because HiGHS
writes one at the end of its files.

SCIP's own reader is not used: it accepts neither brackets in names nor rows with two sides, and its errors name no field.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import NamedTuple

from corl.errors import InputError
from corl.files.text import Text, quoted
from corl.problems.milp.formats.builder import Builder
from corl.problems.milp.formats.lp_tokens import BETWEEN, FORTRAN, SENSE, Token, first_apart, term_parts, tokens, tokens_of
from corl.problems.milp.instance import MilpInstance

__all__ = ["infinite", "read_lp", "recognises_lp"]

_ACCEPTED = "linear programs with general and binary variables"
_SIGNS = {"+": 1.0, "-": -1.0}
_FLIPPED = {"<": ">", ">": "<", "=": "="}
_MAX_SIGNS = 2  # before a number or a name: some writers put one sign between terms and another before the coefficient
_LOOKAHEAD = _MAX_SIGNS + 2  # tokens: the signs, a number, a relation
_CHUNK = 64  # tokens that are fetched from the stream at a time


def recognises_lp(head: str) -> bool:
    """Return whether `head` is the beginning of an LP file: comments, then a line that begins with min or max."""
    lines = [line for line in (line.split("\\")[0].strip() for line in head.splitlines()) if line]
    if not lines:
        return head.lstrip().startswith("\\") and len(head) >= 4096  # nothing but comments so far
    return bool(SENSE.match(lines[0]))


def read_lp(text: Text, name: str = "") -> MilpInstance:
    """Return the program in a text. Raises InputError."""
    return _Reader(text).read(name)


class _Terms(NamedTuple):
    """The terms of an expression, in the order of the file."""

    columns: list[int]
    """The column of each term's variable."""
    values: list[float]
    """The coefficients."""
    lines: list[int]
    """The line of each term in the file."""


def _merged(terms: _Terms) -> _Terms:
    """Return the terms with one term for each variable, at its first position, with the sum of its coefficients."""
    merged: dict[int, tuple[float, int]] = {}
    for j, value, line in zip(*terms):
        total, first_line = merged.get(j, (0.0, line))
        merged[j] = total + value, first_line
    return _Terms(list(merged), [value for value, _ in merged.values()], [line for _, line in merged.values()])


class _Reader:
    """A recursive-descent parser; it sees the stream of tokens through a window, in which it can look ahead."""

    def __init__(self, text: Text) -> None:
        self.text, self.build = text, Builder(text)
        self.comments: list[str] = []
        self.source = tokens(text, self.comments)
        self.tokens: list[Token] = []  # the window: tokens taken, then at least _LOOKAHEAD more unless the file ends
        self.at = 0  # the index of the next token in the window
        self.last = text.first_line  # the line of the last token taken
        self.unnamed = 0  # the number in the last name generated for a row without a label
        self.bounded: set[int] = set()  # columns whose lower bound is given in the file

    def read(self, name: str) -> MilpInstance:
        """Read the whole file and return its program. Raises InputError."""
        sections = {"rows": self._row, "bounds": self._bound, "general": self._general, "binary": self._binary}
        found = set()
        self._fill()
        while self.at < len(self.tokens):
            _, section, line = self.take()
            if section in ("min", "max"):
                self.build.sense, section = "max" if section == "max" else "min", "objective"
            if section in ("objective", "rows") and section in found:
                raise self.text.error("given twice", line=line, field="section")
            found.add(section)
            if section == "objective":
                self._objective()
            elif section not in sections and self.peek.kind != "end":
                message = f"{quoted(self.peek.text)}: this section must be empty, because only {_ACCEPTED} are accepted"
                raise self.text.error(message, line=line, field=section[:40])
            while self.peek.kind != "end":
                sections[section]()
            self.take()
        if "objective" not in found:
            message = "no objective; accepted: a file that begins with minimize or maximize"
            raise self.text.error(message, line=self.text.first_line, field="section")
        if {"D", "d"} & self.build.names.keys() and (match := FORTRAN.search(self.text.content)):
            message = f"{quoted(match[0])} may be a number or a term of variable {match[1]}; accepted: e for d, or blanks"
            raise self.text.error(message, line=self.text.line_at(match.start()), field=match[1])
        return self.build.built(name, "\n".join(self.comments))

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
            what, accepted = f"{what}, an indicator,", "linear rows"
        elif token.text in ("[", "]", "^", "*"):
            what, accepted = f"{what}, a quadratic term,", "linear terms, 3 x + 2 y"
        return self.text.error(f"{what} is not accepted; accepted: {accepted}", line=token.line, field=field)

    # ---------------------------------------------------------------- expressions
    def _label(self) -> str | None:
        """Take the name and the colon before an expression and return the name; None if there is no label."""
        if self.peek.kind in ("name", "number") and self.tokens[self.at + 1].text == ":":
            name = self.take().text
            self.take()
            return name
        return None

    def _expression(self, field: str, closed: bool = True) -> tuple[_Terms, float]:
        """Return the terms of an expression, one for each variable, and its constant.

        A `closed` expression ends at a relation or at the end of the section. The expression of a row that has a side on its left
        need not be followed by a relation: it also ends before a term without a sign, with which the next row begins.
        """
        terms = _Terms([], [], [])
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

    def _run(self, terms: _Terms, field: str) -> None:
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

    def _term(self, terms: _Terms, field: str, first: bool) -> float:
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
        while token.text in _SIGNS:
            if count == _MAX_SIGNS:
                raise self.fault(token, field, f"at most {_MAX_SIGNS} signs, then a number or a variable's name")
            sign, count, token = sign * _SIGNS[token.text], count + 1, self.take()
        return sign, count, token

    def _value(self, field: str) -> tuple[float, int]:
        """Take a number with signs, or infinity; return its value and its line."""
        sign, _, token = self._signed(field)
        if token.kind not in ("number", "name") or (token.kind == "name" and not infinite(token.text)):
            raise self._no_number(token, field, "a number")
        return sign * self.build.limit(token.text, field, token.line), token.line

    # ---------------------------------------------------------------- the sections
    def _objective(self) -> None:
        self._label()
        terms, self.build.offset = self._expression("objective")
        for j, value in zip(terms.columns, terms.values):
            self.build.cost[j] = 0.0 + value
        if self.peek.kind != "end":
            raise self.fault(self.peek, "objective", "an expression, then subject to")

    def _row(self) -> None:
        """Read a constraint: an optional label, and terms with a side before them, after them, or both."""
        label, line = self._label(), self.peek.line
        field = label[:40] if label else "constraint"
        left: tuple[str, float] | None = None
        if self._begins_with_value():
            left = self._side(field, flipped=True)
        terms, constant = self._expression(field, closed=left is None)
        if left is None or self.peek.kind == "relation":
            right: tuple[str, float] | None = self._side(field)
            self._side_ends(field)
        else:
            right = None
        lower, upper = -math.inf, math.inf
        for side in (left, right):
            if side is not None:
                relation, value = side
                lower = max(lower, value - constant) if relation in ">=" else lower
                upper = min(upper, value - constant) if relation in "<=" else upper
        i = self.build.row(label or self._unnamed(), line, lower, upper)
        self.build.entries(i, terms.columns, terms.values, terms.lines)

    def _side(self, field: str, flipped: bool = False) -> tuple[str, float]:
        """Take the relation and the value of a side after an expression, or before it if `flipped`; return both.

        The relation of a side before the expression is turned around, so that the expression is on its left.
        """
        if flipped:
            value, line = self._value(field)
            relation = _FLIPPED[self._relation(field)]
        else:
            relation = self._relation(field)
            value, line = self._value(field)
        self.build.check_limit(value, relation in ">=", relation in "<=", field, line)
        return relation, value

    def _side_ends(self, field: str) -> None:
        """Raise InputError unless the rest of the line after a right-hand side is empty or begins with the next row's label."""
        token = self.peek
        labelled = token.kind in ("name", "number") and self.tokens[self.at + 1].text == ":"
        if token.kind == "end" or token.line > self.last or labelled:
            return
        token = self.take()
        while token.text in _SIGNS or (token.kind == "number" and self.peek.kind == "name" and self.peek.line == token.line):
            token = self.take()
        raise self._no_number(token, field, "one number on the right-hand side")

    def _no_number(self, token: Token, field: str, accepted: str) -> InputError:
        """Return the error for a token where the number of a side or a bound should be."""
        if token.kind != "name":
            return self.fault(token, field, accepted)
        message = f"variable {quoted(token.text)} on the right-hand side is not accepted; accepted: a number there"
        return self.text.error(message, line=token.line, field=field)

    def _begins_with_value(self) -> bool:
        """Return whether the next tokens are a number with signs, or infinity, and a relation."""
        at = self.at
        while at < self.at + _MAX_SIGNS and self.tokens[at].text in _SIGNS:
            at += 1
        token = self.tokens[at]
        value = token.kind == "number" or (token.kind == "name" and infinite(token.text))
        return value and self.tokens[at + 1].kind == "relation"

    def _relation(self, field: str) -> str:
        """Take a relation and return it as <, > or =."""
        token = self.take()
        if token.kind != "relation":
            raise self.fault(token, field, "<=, >= or =, and a number")
        return token.text.strip("=") or "="

    def _unnamed(self) -> str:
        """Return a new name for a row without a label: c1, c2, ..."""
        self.unnamed = max(self.unnamed, len(self.build.row_names)) + 1
        while f"c{self.unnamed}" in self.build.row_names:
            self.unnamed += 1
        return f"c{self.unnamed}"

    def _bound(self) -> None:
        """Read a bound: a variable with a number on one side or both, or with `free` after it."""
        if self.peek.kind == "between" and (match := BETWEEN.fullmatch(self.peek.text)):
            line, j, field = self.take_whole().line, self.build.column(match[2]), match[2][:40]
            self._set(j, ">", self.build.limit(match[1], "bound", line), field, line)
            self._set(j, "<", self.build.limit(match[3], field, line), field, line)
            return
        left: tuple[str, float] | None = None
        if self._begins_with_value():
            value, _ = self._value("bound")
            left = _FLIPPED[self._relation("bound")], value
        token = self.take()
        if token.kind != "name":
            raise self.fault(token, "bound", "a variable's name")
        j, field = self.build.column(token.text), token.text[:40]
        if left is not None:
            self._set(j, *left, field, token.line)
        if self.peek.kind == "name" and self.peek.text.lower() == "free" and left is None:
            self.take()
            self.build.lower[j], self.build.upper[j] = -math.inf, math.inf
        elif self.peek.kind == "relation" or left is None:
            relation = self._relation(field)
            self._set(j, relation, self._value(field)[0], field, token.line)

    def _set(self, j: int, relation: str, value: float, field: str, line: int) -> None:
        """Set a limit of column j; a negative upper limit removes a lower limit of 0 that the file did not give."""
        self.build.check_limit(value, relation in ">=", relation in "<=", field, line)
        if relation in ">=":
            self.build.lower[j] = value
            self.bounded.add(j)
        if relation in "<=":
            self.build.upper[j] = value
            if value < 0.0 and j not in self.bounded:
                self.build.lower[j] = -math.inf

    def _general(self) -> None:
        self.build.integer[self._member("general")] = True

    def _binary(self) -> None:
        j = self._member("binary")
        self.build.integer[j] = True
        self.build.lower[j], self.build.upper[j] = max(0.0, self.build.lower[j]), min(1.0, self.build.upper[j])

    def _member(self, field: str) -> int:
        """Take the name of a variable in a list and return its column."""
        token = self.take()
        if token.kind != "name":
            raise self.fault(token, field, "variables' names")
        return self.build.column(token.text)


def infinite(token: str) -> bool:
    """Return whether a token means infinity."""
    return token.lower() in ("inf", "infinity")
