"""Reader of MPS files in fixed and free format; mps_writer.py writes them.

Descriptions of the format are ambiguous in some points, in which the reader follows CPLEX:
- The first N row is the objective unless OBJNAME names another; further N rows are dropped.
- The right-hand side of the objective row is minus the constant of the objective.
- Of several sets of RHS, RANGES or BOUNDS, the first one counts.
- An integer column of a MARKER block has limits 0 and 1 unless BOUNDS names it.
- A negative upper limit of a column without a lower limit in BOUNDS makes its lower limit -inf. (Only here SCIP differs: it keeps
  the lower limit 0.)
- The number of an SC or SI bound (semi-continuous, semi-integer) is the upper limit.

Ordered sets stand in a section SOS, SOS1 or SOS2: a line with S1 or S2, the name of the set and perhaps a priority; then lines
with a column and its weight, before which the name of the section or of the set may stand. A line of INDICATORS is IF, a row, a
binary column, and 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from corl.errors import InputError
from corl.files.text import Text, number_of, quoted
from corl.problems.milp.formats.builder import Builder
from corl.problems.milp.instance import MilpInstance

__all__ = ["read_mps", "recognises_mps"]

_SECTIONS = (
    "NAME", "OBJSENSE", "OBJNAME", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "SOS", "SOS1", "SOS2", "INDICATORS", "ENDATA",
)  # fmt: skip
_ACCEPTED = "linear programs with integer variables, ordered sets and indicators"
_REFUSED = (
    "QUADOBJ", "QMATRIX", "QSECTION", "QCMATRIX", "CSECTION", "LAZYCONS", "USERCUTS",
    "GENCONS", "REFROW", "PWLOBJ",
)  # fmt: skip
_FIXED = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))  # begin and end of the six fields in a line, counted from 0
_BOUNDS_WITHOUT_VALUE = ("FR", "MI", "PL", "BV")
_BOUNDS_WITH_VALUE = ("LO", "UP", "FX", "LI", "UI", "SC", "SI")
_SENSES = {"MAX": "max", "MAXIMIZE": "max", "MAXIMISE": "max", "MIN": "min", "MINIMIZE": "min", "MINIMISE": "min"}

_Fields = list[str]


def recognises_mps(head: str) -> bool:
    """Return whether `head`, the beginning of a file, begins an MPS file.

    Its first line that is no comment must be ROWS, or begin with NAME or OBJSENSE and have a line ROWS among the next seven.
    """
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith("*")]
    if not lines:
        return head.startswith("*") and len(head) >= 4096  # nothing but comments so far
    words = lines[0].split()
    if words[0] == "ROWS":
        return len(words) == 1
    return words[0] in ("NAME", "OBJSENSE") and any(line.split() == ["ROWS"] and line[0] == "R" for line in lines[1:8])


def read_mps(text: Text, name: str = "") -> MilpInstance:
    """Return the program in a text, read as free format or, if that fails and there are no tabs, as fixed. Raises InputError."""
    try:
        return _Reader(text, lambda line: line.split()).read(name)
    except InputError:
        if "\t" in text.content or " " not in text.content:
            raise
        try:
            return _Reader(text, _cut).read(name)
        except InputError:
            pass
        raise


def _cut(line: str) -> _Fields:
    """Return the non-empty fields of a line in fixed format, in which names may contain blanks."""
    fields = [line[start:end].strip() for start, end in _FIXED]
    return [field for field in fields if field]


def _is_number(token: str) -> bool:
    try:
        number_of(token)
    except ValueError:
        return False
    return True


class _Reader:
    """A parser that reads the lines once.

    `fields` splits a data line into its fields, in free or in fixed format.
    """

    def __init__(self, text: Text, fields: Callable[[str], _Fields]) -> None:
        self.text, self.fields = text, fields
        self.build = Builder(text)
        self.objective: str | None = None
        self.objective_wanted: str | None = None  # the name in OBJNAME
        self.kinds: list[str] = []  # the kind of each row: E, L or G
        self.free: set[str] = set()  # N rows that are not the objective
        self.in_integer_block = False  # whether the current columns are in a MARKER block of integers
        self.default_upper: set[int] = set()  # integer columns of MARKER blocks that BOUNDS has not named so far
        self.lower_given: set[int] = set()  # columns whose lower limit BOUNDS has given
        self.ranges: dict[int, float] = {}  # row -> its entry of RANGES
        self.sets: dict[str, str] = {}  # section -> the name of its first set
        self.ordered_set: dict[int, float] | None = None  # the weights of the current ordered set
        self.comments: list[str] = []
        self.section_line = text.first_line  # the first line of the current section
        self.handlers: dict[str, Callable[[_Fields, int], None]] = {
            "ROWS": self._row, "COLUMNS": self._column, "RHS": self._side, "RANGES": self._range, "BOUNDS": self._bound,
            "OBJSENSE": self._sense, "OBJNAME": self._objective, "SOS": self._ordered_set, "SOS1": self._ordered_set,
            "SOS2": self._ordered_set, "INDICATORS": self._indicator,
        }  # fmt: skip

    def read(self, name: str) -> MilpInstance:
        """Read the whole file and return its program; `name` is used if the file has none. Raises InputError."""
        found: list[str] = []
        section = ""
        for line, content in self._lines():
            if section == "ENDATA":
                break
            if content[0] != " ":
                words = content.split()
                section = self._begin(words, line, found)
                if section == "NAME" and len(words) > 1:
                    name = words[1]
                found.append(section)
            else:
                self._data(section, self.fields(content), line)
        if "COLUMNS" not in found:
            raise self.text.error("the section COLUMNS is missing", line=self.text.last_line, field="COLUMNS")
        if "ENDATA" not in found:
            raise self.text.error("ENDATA is missing: the file may be cut off", line=self.text.last_line, field="ENDATA")
        for j in self.default_upper:
            self.build.upper[j] = 1.0
        self._apply_ranges()
        return self.build.built(name, "\n".join(self.comments))

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield (number, content) of the lines that are neither blank nor comments; a leading tab becomes a blank."""
        for number, line in enumerate(self.text.content.split("\n"), self.text.first_line):
            if line.startswith("*"):
                self.comments.append(line[1:].strip())
            elif line and not line.isspace():
                yield number, " " + line[1:] if line[0].isspace() else line

    def _begin(self, words: list[str], line: int, found: list[str]) -> str:
        """Return the section that the line with these words begins; `found` are the earlier sections. Raises InputError."""
        section = words[0].upper()
        self.section_line = line
        if section in _REFUSED:
            return section
        if section not in _SECTIONS:
            accepted = ", ".join(_SECTIONS)
            raise self.text.error(f"no section of an MPS file; accepted: {accepted}", line=line, field=words[0][:40])
        if section in found:
            raise self.text.error("given twice", line=line, field=section)
        if section in ("COLUMNS", "RHS", "RANGES", "BOUNDS", "SOS", "SOS1", "SOS2", "INDICATORS") and "ROWS" not in found:
            raise self.text.error("comes before ROWS", line=line, field=section)
        if section in ("OBJSENSE", "OBJNAME") and len(words) > 1:
            self._data(section, words[1:], line)
        return section

    def _data(self, section: str, fields: _Fields, line: int) -> None:
        """Read a data line of a section. Raises InputError."""
        if section in _REFUSED:
            message = f"this section must be empty, because only {_ACCEPTED} are accepted"
            raise self.text.error(message, line=self.section_line, field=section)
        handle = self.handlers.get(section)
        if handle is None:
            message = f"{quoted(' '.join(fields))} is not accepted; accepted: a section's name, at the very start of the line"
            raise self.text.error(message, line=line, field=section or None)
        handle(fields, line)

    def _sense(self, fields: _Fields, line: int) -> None:
        word = fields[0].upper()
        if word not in _SENSES:
            raise self.text.error(f"{quoted(fields[0])} is not accepted; accepted: MIN, MAX", line=line, field="OBJSENSE")
        self.build.sense = "max" if _SENSES[word] == "max" else "min"

    def _objective(self, fields: _Fields, line: int) -> None:
        self.objective_wanted = fields[0]

    def _row(self, fields: _Fields, line: int) -> None:
        if len(fields) != 2 or fields[0].upper() not in ("N", "E", "L", "G"):
            message = f"{quoted(' '.join(fields))} is not accepted; accepted: N, E, L or G, and a name"
            raise self.text.error(message, line=line, field="ROWS")
        kind, name = fields[0].upper(), fields[1]
        if kind == "N":
            if self.objective is None and self.objective_wanted in (None, name):
                self.objective = name
            else:
                self.free.add(name)
            return
        lower, upper = {"E": (0.0, 0.0), "L": (-math.inf, 0.0), "G": (0.0, math.inf)}[kind]
        self.build.row(name, line, lower, upper)
        self.kinds.append(kind)

    def _column(self, fields: _Fields, line: int) -> None:
        """Read a line of COLUMNS: one or two entries of a column, or a MARKER."""
        if len(fields) >= 3 and fields[1].strip("'\"").upper() == "MARKER":
            kind = fields[2].strip("'\"").upper()
            if kind not in ("INTORG", "INTEND"):
                message = f"{quoted(fields[2])} is not accepted; accepted: 'INTORG', 'INTEND'"
                raise self.text.error(message, line=line, field="MARKER")
            self.in_integer_block = kind == "INTORG"
            return
        if len(fields) not in (3, 5):
            raise self._count(fields, line, "COLUMNS", "a column, a row and a number, and perhaps another row and its number")
        j = self.build.names.get(fields[0], -1)
        if j < 0:
            j = self.build.column(fields[0])
            if self.in_integer_block:
                self.build.integer[j] = True
                self.default_upper.add(j)
        for row, token in zip(fields[1::2], fields[2::2]):
            value = self.build.number(token, fields[0][:40], line)
            i = self.build.row_names.get(row)
            if i is not None:
                self.build.entry(i, j, value, line)
            elif row == self.objective:
                self.build.cost[j] += value
            elif row not in self.free:
                raise self._unknown("row", row, line)

    def _pairs(self, section: str, fields: _Fields, line: int) -> Iterator[tuple[str, float]]:
        """Yield the (row, value) pairs of a line of RHS or RANGES, whose first field may be the name of the set."""
        if len(fields) not in (2, 3, 4, 5):
            accepted = "perhaps the set's name, then a row and a number, and perhaps another row and its number"
            raise self._count(fields, line, section, accepted)
        if len(fields) % 2:
            if self.sets.setdefault(section, fields[0]) != fields[0]:
                return
            fields = fields[1:]
        for row, token in zip(fields[::2], fields[1::2]):
            yield row, self.build.limit(token, row[:40], line)

    def _side(self, fields: _Fields, line: int) -> None:
        for row, value in self._pairs("RHS", fields, line):
            i = self.build.row_names.get(row)
            if i is not None:
                self.build.check_limit(value, self.kinds[i] in "EG", self.kinds[i] in "EL", row[:40], line)
                if self.kinds[i] in "EG":
                    self.build.row_lower[i] = value
                if self.kinds[i] in "EL":
                    self.build.row_upper[i] = value
            elif row == self.objective:
                self.build.offset = -value
            elif row not in self.free:
                raise self._unknown("row", row, line)

    def _range(self, fields: _Fields, line: int) -> None:
        for row, value in self._pairs("RANGES", fields, line):
            i = self.build.row_names.get(row)
            if i is None:
                if row in self.free or row == self.objective:
                    continue
                raise self._unknown("row", row, line)
            self.ranges[i] = value

    def _apply_ranges(self) -> None:
        """Set the second sides of rows with ranges. Called at the end, because RHS may follow RANGES in a file."""
        build = self.build
        for i, value in self.ranges.items():
            if self.kinds[i] == "G" or (self.kinds[i] == "E" and value > 0.0):
                build.row_upper[i] = build.row_lower[i] + abs(value)
            elif math.isfinite(build.row_upper[i]):
                build.row_lower[i] = build.row_upper[i] - abs(value)

    def _bound(self, fields: _Fields, line: int) -> None:
        """Read a line of BOUNDS, in which the name of the set is optional."""
        kind = fields[0].upper()
        if kind not in (*_BOUNDS_WITH_VALUE, *_BOUNDS_WITHOUT_VALUE):
            names = ", ".join((*_BOUNDS_WITH_VALUE, *_BOUNDS_WITHOUT_VALUE))
            raise self.text.error(f"{quoted(fields[0])} is not accepted; accepted: {names}", line=line, field="BOUNDS")
        min_fields = 3 if kind in _BOUNDS_WITH_VALUE else 2
        if not min_fields <= len(fields) <= 4:
            raise self._count(fields, line, "BOUNDS", "a kind, the set's name, a column and, unless FR, MI, PL or BV, a number")
        has_set_name = len(fields) == 4 or (min_fields == 2 and len(fields) == 3 and fields[2] in self.build.names)
        if has_set_name and self.sets.setdefault("BOUNDS", fields[1]) != fields[1]:
            return
        column = fields[2 if has_set_name else 1]
        j = self.build.names.get(column)
        if j is None:
            raise self._unknown("column", column, line)
        value = self.build.limit(fields[-1], column[:40], line) if min_fields == 3 else 0.0
        self.build.check_limit(value, kind in ("LO", "LI", "FX"), kind in ("UP", "UI", "FX", "SC", "SI"), column[:40], line)
        if kind in ("SC", "SI"):
            self.build.semicontinuous[j] = line
        self._set_bound(kind, j, value)

    def _set_bound(self, kind: str, j: int, value: float) -> None:
        """Set the limits of column j according to a bound of this kind; `value` is ignored for kinds without a value."""
        build = self.build
        self.default_upper.discard(j)
        if kind in ("LI", "UI", "BV", "SI"):
            build.integer[j] = True
        if kind in ("LO", "LI", "FX"):
            build.lower[j] = value
            self.lower_given.add(j)
        if kind in ("UP", "UI", "FX", "SC", "SI"):
            build.upper[j] = value
            if value < 0.0 and j not in self.lower_given:
                build.lower[j] = -math.inf
        if kind in ("FR", "MI"):
            build.lower[j] = -math.inf
            self.lower_given.add(j)
        if kind in ("FR", "PL"):
            build.upper[j] = math.inf
        if kind == "BV":
            build.lower[j], build.upper[j] = 0.0, 1.0

    def _ordered_set(self, fields: _Fields, line: int) -> None:
        """Read a line of SOS, SOS1 or SOS2: the head of a set, or one of its members."""
        if fields[0].upper() in ("S1", "S2"):
            names = fields[1:-1] if len(fields) > 2 and _is_number(fields[-1]) else fields[1:]
            self.ordered_set = self.build.ordered_set(names[-1] if names else "", int(fields[0][1]), line)
            return
        words = fields[-1].split(":") if ":" in fields[-1] else fields[-2:]
        if len(words) != 2 or len(fields) > 3 or self.ordered_set is None:
            raise self._count(fields, line, "SOS", "S1 or S2 and the set's name; then lines with a column and a weight")
        j = self.build.names.get(words[0])
        if j is None:
            raise self._unknown("column", words[0], line)
        self.build.member(self.ordered_set, j, self.build.number(words[1], words[0][:40], line), words[0][:40], line)

    def _indicator(self, fields: _Fields, line: int) -> None:
        """Read a line of INDICATORS."""
        if len(fields) != 4 or fields[0].upper() != "IF":
            raise self._count(fields, line, "INDICATORS", "IF, a row, a binary column, and 0 or 1")
        i, j = self.build.row_names.get(fields[1]), self.build.names.get(fields[2])
        if i is None or j is None:
            raise self._unknown("row" if i is None else "column", fields[1 if i is None else 2], line)
        self.build.indicate(i, j, self.build.number(fields[3], fields[1][:40], line), fields[1][:40], line)

    def _count(self, fields: _Fields, line: int, section: str, accepted: str) -> InputError:
        """Return the error for a line with the wrong number of fields."""
        return self.text.error(f"{quoted(' '.join(fields))} is not accepted; accepted: {accepted}", line=line, field=section)

    def _unknown(self, what: str, name: str, line: int) -> InputError:
        return self.text.error(f"no {what} has this name", line=line, field=name[:40])
