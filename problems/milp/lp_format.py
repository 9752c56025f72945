"""LP files (CPLEX's text format): read and written.

Accepted are linear objectives and rows, ranges (`-3 <= x + y <= 5`), bounds, `free`, general and binary variables. A
constant may stand in an expression. What is no linear program with integers (quadratic terms, semi-continuous variables,
special ordered sets, indicators) is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from corl.errors import InputError, UsageError
from corl.files import writing
from corl.problems.milp.builder import Builder
from corl.problems.milp.instance import MilpInstance
from corl.text import Text, quoted

__all__ = ["read_lp", "recognises_lp", "write_lp"]

_NAME = r"[A-Za-z!\"#$%&(),;?@_'`{}~|/][^\s+\-<>=:^*\\]*"  # brackets within a name are Gurobi's, alone they are quadratic
_TOKEN = re.compile(
    rf"(?P<arrow><?->)|(?P<relation><=|=<|>=|=>|<|>|=)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>{_NAME})"
    r"|(?P<mark>[+\-:\[\]^*])|(?P<other>\S)"
)
_SENSE = re.compile(r"(min|max)(imi[sz]e|imum)?(?![^\s\\])", re.IGNORECASE)
_HEADS = (  # section, how its line begins
    ("objective", _SENSE),
    ("rows", re.compile(r"(subject\s+to|such\s+that|s\.t\.|st\.|st)(?=\s|\Z)", re.IGNORECASE)),
    ("bounds", re.compile(r"bounds?(?=\s|\Z)", re.IGNORECASE)),
    ("general", re.compile(r"(generals?|gen|integers?|int)(?=\s|\Z)", re.IGNORECASE)),
    ("binary", re.compile(r"(binary|binaries|bin)(?=\s|\Z)", re.IGNORECASE)),
    ("end", re.compile(r"end(?=\s|\Z)", re.IGNORECASE)),
    ("refused", re.compile(r"(semi-continuous|semis?|sos[12]?|lazy\s+constraints|user\s+cuts|pwlobj|general\s+constraints?|"
                           r"multi-objectives|scenario)(?=\s|\Z)", re.IGNORECASE)),
)  # fmt: skip
_SIGNS = {"+": 1.0, "-": -1.0}
_FLIPPED = {"<": ">", ">": "<", "=": "="}


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def recognises_lp(head: str) -> bool:
    """Whether a file begins as an LP file does: min or max after comments."""
    lines = [line for line in (line.split("\\")[0].strip() for line in head.splitlines()) if line]
    if not lines:
        return head.lstrip().startswith("\\") and len(head) >= 4096  # nothing but comments so far
    return bool(_SENSE.match(lines[0]))


def read_lp(text: Text, name: str = "") -> MilpInstance:
    """The program in a text. Raises InputError."""
    return _Reader(text).read(name)


class _Reader:
    """Cuts the text into sections by the lines that begin with a section's name, and reads each from its tokens."""

    def __init__(self, text: Text) -> None:
        self.text, self.build = text, Builder(text)
        self.comments: list[str] = []
        self.tokens: list[_Token] = []
        self.at = 0
        self.bounded: set[int] = set()  # columns with a lower bound of their own

    def read(self, name: str) -> MilpInstance:
        seen = set()
        for section, line, tokens in self._sections():
            self.tokens, self.at = [*tokens, _Token("end", "", tokens[-1].line if tokens else line)], 0
            if section in ("objective", "rows") and section in seen:
                raise self.text.error("given twice", line=line, field="section")
            seen.add(section)
            if section == "objective":
                self._objective()
            while self.peek.kind != "end":
                {"rows": self._row, "bounds": self._bound, "general": self._general, "binary": self._binary}[section]()
        if "objective" not in seen:
            message = "no objective; accepted: a file that begins with minimize or maximize"
            raise self.text.error(message, line=self.text.first_line, field="section")
        return self.build.built(name, "\n".join(self.comments))

    # ---------------------------------------------------------------- sections and tokens
    def _sections(self) -> Iterator[tuple[str, int, list[_Token]]]:
        """(section, its line, its tokens)."""
        section, begun, tokens = "", self.text.first_line, []  # type: str, int, list[_Token]
        for number, raw in self.text.lines():
            content, backslash, comment = raw.partition("\\")
            if backslash and not content.strip():
                self.comments.append(comment.strip())
            content = content.strip()
            found = next(((kind, match) for kind, head in _HEADS if (match := head.match(content))), None)
            if found and not content[found[1].end() :].lstrip().startswith((":", "<", ">", "=")):
                kind, match = found
                self._check_head(kind, match, section, number)
                if section:
                    yield section, begun, tokens
                section, begun, tokens = kind, number, []
                content = content[match.end() :]
            if section == "end":
                if content:
                    raise self.text.error(f"{quoted(content)} after the end", line=number, field="end")
                return
            if content and not section:
                raise self.text.error(f"{quoted(content)} before minimize or maximize", line=number, field="section")
            tokens += [_Token(str(m.lastgroup), m[0], number) for m in _TOKEN.finditer(content)]
        if section:
            yield section, begun, tokens

    def _check_head(self, kind: str, match: re.Match[str], section: str, line: int) -> None:
        if kind == "refused":
            message = "this section is not accepted; accepted: linear programs with general and binary variables"
            raise self.text.error(message, line=line, field=" ".join(match[0].split())[:40])
        if kind == "objective" and not section:
            self.build.sense = "max" if match[1].lower() == "max" else "min"

    @property
    def peek(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def fault(self, token: _Token, field: str, accepted: str) -> InputError:
        what = quoted(token.text) if token.kind != "end" else "the end of the section"
        if token.kind == "arrow":
            accepted = "linear rows, no indicators"
        elif token.text in ("[", "]", "^", "*"):
            accepted = "linear terms, 3 x + 2 y"
        return self.text.error(f"{what} is not accepted; accepted: {accepted}", line=token.line, field=field)

    # ---------------------------------------------------------------- expressions
    def _label(self) -> str | None:
        if self.peek.kind in ("name", "number") and self.tokens[min(self.at + 1, len(self.tokens) - 1)].text == ":":
            name = self.take().text
            self.take()
            return name
        return None

    def _expression(self, field: str, closed: bool = True) -> tuple[list[tuple[int, float, int]], float]:
        """([(column, coefficient, line)], the constant) up to a relation or the end.

        One that is not `closed` (a side stands before it) may end before a term without a sign: there the next row begins.
        """
        terms: dict[int, list[float]] = {}
        constant, count = 0.0, 0
        while self.peek.kind not in ("relation", "end"):
            if count and not closed and self.peek.kind in ("name", "number"):
                break
            sign, token, signed = 1.0, self.take(), False
            while token.text in _SIGNS:
                sign, token, signed = sign * _SIGNS[token.text], self.take(), True
            if count and not signed:
                raise self.fault(token, field, "a sign between two terms, or a relation and a number")
            value = 1.0
            if token.kind == "number":
                value = self.build.number(token.text, field, token.line)
                token = self.take() if self.peek.kind == "name" else _Token("constant", "", token.line)
            if token.kind == "constant":
                constant += sign * value
            elif token.kind == "name":
                j = self.build.column(token.text)
                terms.setdefault(j, [0.0, token.line])[0] += sign * value
            else:
                raise self.fault(token, field, "a number and a variable's name")
            count += 1
        return [(j, value, int(line)) for j, (value, line) in terms.items()], constant

    def _value(self, field: str) -> float:
        """A number with signs, or infinity."""
        sign, token = 1.0, self.take()
        while token.text in _SIGNS:
            sign, token = sign * _SIGNS[token.text], self.take()
        if token.kind not in ("number", "name") or (token.kind == "name" and not _infinite(token.text)):
            raise self.fault(token, field, "a number")
        return sign * self.build.limit(token.text, field, token.line)

    # ---------------------------------------------------------------- the sections
    def _objective(self) -> None:
        self._label()
        terms, self.build.offset = self._expression("objective")
        for j, value, _ in terms:
            self.build.cost[j] = value
        if self.peek.kind != "end":
            raise self.fault(self.peek, "objective", "an expression, then subject to")

    def _row(self) -> None:
        label, line = self._label(), self.peek.line
        field = label[:40] if label else "constraint"
        left: tuple[str, float] | None = None
        if self._begins_with_value():
            value = self._value(field)
            left = _FLIPPED[self._relation(field)], value
        terms, constant = self._expression(field, closed=left is None)
        if left is None or self.peek.kind == "relation":
            right: tuple[str, float] | None = (self._relation(field), self._value(field))
        else:
            right = None
        lower, upper = -math.inf, math.inf
        for side in (left, right):
            if side is not None:
                relation, value = side
                lower = max(lower, value - constant) if relation in ">=" else lower
                upper = min(upper, value - constant) if relation in "<=" else upper
        i = self.build.row(label or self._unnamed(), line, lower, upper)
        for j, value, at in terms:
            self.build.entry(i, j, value, at)

    def _begins_with_value(self) -> bool:
        """Whether a number with signs, or infinity, and then a relation come next."""
        at = self.at
        while self.tokens[at].text in _SIGNS:
            at += 1
        token = self.tokens[at]
        value = token.kind == "number" or (token.kind == "name" and _infinite(token.text))
        return value and self.tokens[min(at + 1, len(self.tokens) - 1)].kind == "relation"

    def _relation(self, field: str) -> str:
        """One of <, >, =."""
        token = self.take()
        if token.kind != "relation":
            raise self.fault(token, field, "<=, >= or =, and a number")
        return token.text.strip("=") or "="

    def _unnamed(self) -> str:
        number = len(self.build.row_names) + 1
        while f"c{number}" in self.build.row_names:
            number += 1
        return f"c{number}"

    def _bound(self) -> None:
        left: tuple[str, float] | None = None
        if self._begins_with_value():
            value = self._value("bound")
            left = _FLIPPED[self._relation("bound")], value
        token = self.take()
        if token.kind != "name":
            raise self.fault(token, "bound", "a variable's name")
        j, field = self.build.column(token.text), token.text[:40]
        if left is not None:
            self._set(j, *left)
        if self.peek.kind == "name" and self.peek.text.lower() == "free" and left is None:
            self.take()
            self.build.lower[j], self.build.upper[j] = -math.inf, math.inf
        elif self.peek.kind == "relation" or left is None:
            relation = self._relation(field)
            self._set(j, relation, self._value(field))

    def _set(self, j: int, relation: str, value: float) -> None:
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
        token = self.take()
        if token.kind != "name":
            raise self.fault(token, field, "variables' names")
        return self.build.column(token.text)


def _infinite(token: str) -> bool:
    return token.lower() in ("inf", "infinity")


# -------------------------------------------------------------------- the writer
def write_lp(instance: MilpInstance, path: Path) -> None:
    """Write an LP file, to the bit; `read_lp` gives the same instance back. Raises UsageError for names it cannot hold."""
    for name in (*instance.names, *instance.row_names):
        if not re.fullmatch(_NAME, name) or _infinite(name) or name.lower() == "free" or any(h.match(name) for _, h in _HEADS):
            raise UsageError(f"{path.name}: {name!r} cannot be a name in an LP file; accepted: a name in .mps")
    with writing(path) as stream:
        stream.writelines(f"\\ {line}\n" for line in instance.comment.splitlines())
        stream.write("maximize\n" if instance.sense == "max" else "minimize\n")
        terms = [(name, value) for name, value in zip(instance.names, instance.c.tolist())]
        stream.writelines(_wrapped(" obj:", terms, instance.offset))
        stream.write("subject to\n")
        columns, values, first = instance.column.tolist(), instance.value.tolist(), instance.first.tolist()
        for i, (name, low, high) in enumerate(zip(instance.row_names, instance.row_lower.tolist(), instance.row_upper.tolist())):
            row = [(instance.names[columns[k]], values[k]) for k in range(first[i], first[i + 1])] or [(instance.names[0], 0.0)]
            begin, end = _relations(low, high)
            stream.writelines(_wrapped(f" {name}:{begin}", row, 0.0, end))
        stream.write("bounds\n")
        for name, low, high in zip(instance.names, instance.lower.tolist(), instance.upper.tolist()):
            if math.isinf(low) and math.isinf(high):
                stream.write(f" {name} free\n")
            else:
                stream.write(f" {_limit(low)} <= {name} <= {_limit(high)}\n")
        stream.write("general\n")
        whole = [name for name, flag in zip(instance.names, instance.integer.tolist()) if flag]
        stream.writelines(f" {name}\n" for name in whole)
        stream.write("end\n")


def _relations(low: float, high: float) -> tuple[str, str]:
    """What stands before a row's terms and after them."""
    if low == high:
        return "", f" = {low!r}"
    if math.isinf(high) and math.isfinite(low):
        return "", f" >= {low!r}"
    return "" if math.isinf(low) else f" {low!r} <=", f" <= {high if math.isfinite(high) else 1e30!r}"


def _limit(value: float) -> str:
    return f"{'-' if value < 0 else '+'}inf" if math.isinf(value) else repr(value)


def _wrapped(begin: str, terms: Iterable[tuple[str, float]], constant: float, end: str = "") -> Iterator[str]:
    """An expression on lines of a bearable length."""
    line = begin
    for name, value in terms:
        part = f" {'-' if math.copysign(1.0, value) < 0 else '+'} {abs(value)!r} {name}"
        if len(line) + len(part) > 250:
            yield line + "\n"
            line = " "
        line += part
    if constant:
        line += f" {'-' if constant < 0 else '+'} {abs(constant)!r}"
    yield f"{line}{end}\n"
