"""Reader of LP files (CPLEX's text format); lp_writer.py writes them.

Accepted are linear objectives and rows, bounds, `free`, general, binary and semi-continuous variables, special ordered sets
(`name: S1:: x:1 y:2` in a section sos, or without `S1::` in a section sos1 or sos2), and indicators (`b = 1 -> x + y <= 5`). A
side of a row is a relation and a number; a row has a side after its terms, before them, or both (`-3 <= x + y <= 5`). Expressions
may contain constants. Quadratic terms are refused, and other sections unless they are empty.

SCIP's own reader is not used: it accepts neither brackets in names nor rows with two sides, and its errors name no field.
"""

from __future__ import annotations

import math

from corl.files.text import Text, quoted
from corl.problems.milp.formats.lp_expressions import MAX_SIGNS, SIGNS, Expressions, infinite
from corl.problems.milp.formats.lp_tokens import BETWEEN, FORTRAN, SENSE
from corl.problems.milp.instance import MilpInstance

__all__ = ["read_lp", "recognises_lp"]

_ACCEPTED = "linear programs with integer variables, ordered sets and indicators"
_FLIPPED = {"<": ">", ">": "<", "=": "="}


def recognises_lp(head: str) -> bool:
    """Return whether `head` is the beginning of an LP file: comments, then a line that begins with min or max."""
    lines = [line for line in (line.split("\\")[0].strip() for line in head.splitlines()) if line]
    if not lines:
        return head.lstrip().startswith("\\") and len(head) >= 4096  # nothing but comments so far
    return bool(SENSE.match(lines[0]))


def read_lp(text: Text, name: str = "") -> MilpInstance:
    """Return the program in a text. Raises InputError."""
    return _Reader(text).read(name)


class _Reader(Expressions):
    """A recursive-descent parser."""

    def __init__(self, text: Text) -> None:
        super().__init__(text)
        self.unnamed = 0  # the number in the last name generated for a row without a label
        self.bounded: set[int] = set()  # columns whose lower bound is given in the file
        self.kind_of_sets = 0  # 1 or 2 if the head of the current section says so

    def read(self, name: str) -> MilpInstance:
        """Read the whole file and return its program. Raises InputError."""
        sections = {
            "rows": self._row, "bounds": self._bound, "general": self._general, "binary": self._binary,
            "semi": self._semicontinuous, "sos": self._ordered_set, "sos1": self._ordered_set, "sos2": self._ordered_set,
        }  # fmt: skip
        found = set()
        self._fill()
        while self.at < len(self.tokens):
            _, section, line = self.take()
            if section in ("min", "max"):
                self.build.sense, section = "max" if section == "max" else "min", "objective"
            if section in ("objective", "rows") and section in found:
                raise self.text.error("given twice", line=line, field="section")
            section = section.lower() if section.lower() in sections else section
            self.kind_of_sets = int(section[3:] or 0) if section.startswith("sos") else 0
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
        self._linear_row(label, field, line, self._indicator(field))

    def _indicator(self, field: str) -> tuple[int, float] | None:
        """Take an indicator, `b = 1 ->`, and return its column and value; None if the next tokens are none."""
        name, relation, value, arrow = (*self.tokens[self.at : self.at + 4], *[self.tokens[-1]] * 4)[:4]
        if (name.kind, relation.kind, value.kind, arrow.kind) != ("name", "relation", "number", "arrow"):
            return None
        for _ in range(4):
            self.take()
        if arrow.text != "->" or relation.text.strip("=") or not relation.text:
            raise self.fault(arrow, field, "")
        return self.build.column(name.text), self.build.number(value.text, field, value.line)

    def _linear_row(self, label: str | None, field: str, line: int, indicator: tuple[int, float] | None) -> None:
        """Read the terms and sides of a constraint, which has an indicator or None."""
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
        if indicator is not None:
            self.build.indicate(i, *indicator, field, line)

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
        while token.text in SIGNS or (token.kind == "number" and self.peek.kind == "name" and self.peek.line == token.line):
            token = self.take()
        raise self._no_number(token, field, "one number on the right-hand side")

    def _begins_with_value(self) -> bool:
        """Return whether the next tokens are a number with signs, or infinity, and a relation."""
        at = self.at
        while at < self.at + MAX_SIGNS and self.tokens[at].text in SIGNS:
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

    def _semicontinuous(self) -> None:
        line = self.peek.line
        self.build.semicontinuous[self._member("semi-continuous")] = line

    def _ordered_set(self) -> None:
        """Read a special ordered set: its name, its kind unless the head of the section says it, and its members."""
        line, label = self.peek.line, self._label()
        field, kind = (label or "sos")[:40], self.kind_of_sets
        if self.peek.text.upper() in ("S1", "S2") and [t.text for t in self.tokens[self.at + 1 : self.at + 3]] == [":", ":"]:
            kind = int(self.take().text[1])
            self.take()
            self.take()
        if not kind:
            raise self.fault(self.peek, field, "S1:: or S2::, then members and weights, x:1 y:2")
        weights = self.build.ordered_set(label or "", kind, line)
        while self.peek.kind == "name" and self.tokens[self.at + 1].text == ":" and self.tokens[self.at + 2].kind == "number":
            j, name = self.build.column(self.peek.text), self.take()
            self.take()
            self.build.member(weights, j, self._value(name.text[:40])[0], name.text[:40], name.line)
        if not weights:
            raise self.fault(self.peek, field, "members and weights, x:1 y:2")

    def _member(self, field: str) -> int:
        """Take the name of a variable in a list and return its column."""
        token = self.take()
        if token.kind != "name":
            raise self.fault(token, field, "variables' names")
        return self.build.column(token.text)
