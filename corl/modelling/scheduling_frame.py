"""Tables of operations: a row for each operation, or for each machine that can process it; see SchedulingModel.from_frame."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from datetime import datetime
from typing import Any

from corl.arguments import choice, entries, integer, name
from corl.errors import UsageError, hint, shown
from corl.modelling.common import records
from corl.modelling.scheduling_times import Clock, date_in, whole

__all__ = ["FIELDS", "Table"]

_ALIASES: dict[str, tuple[str, ...]] = {
    "job": ("job", "jobid", "jobname", "jobnumber", "order", "orderid", "ordernumber", "part", "product"),
    "operation": ("operation", "operationid", "op", "step", "sequence", "seq", "position", "order", "task"),
    "machine": ("machine", "machines", "machineid", "machinename", "resource", "workcenter", "workcentre", "station"),
    "duration": ("duration", "durations", "processingtime", "proctime", "time", "length"),
    "release": ("release", "releasedate", "releasetime", "ready", "readytime", "arrival", "arrivaltime"),
    "due": ("due", "duedate", "duetime", "deliverydate"),
    "weight": ("weight", "priority"),
    "family": ("family", "setupfamily"),
}
"""Field -> the names of columns that are taken for it, in lower case and without blanks, in order of preference."""
FIELDS = tuple(_ALIASES)
_NEEDED = ("job", "machine", "duration")
_OF_JOB = ("release", "due", "weight", "family")


def _columns(rows: list[dict[str, Any]], given: Mapping[str, str] | None) -> dict[str, str]:
    """Return field -> column: those that are given, then those whose names are guessed. Raises UsageError."""
    there = dict.fromkeys(key for row in rows for key in row)
    found: dict[str, str] = {}
    for field, column in (given or {}).items():
        of = f"columns: {choice('columns', field, FIELDS)}"
        if column not in there:
            raise UsageError(f"{of}: there is no column {shown(column)}{hint(str(column), there)}; accepted: {', '.join(there)}")
        found[field] = column
    plain = {column: re.sub(r"[^a-z0-9]", "", column.lower()) for column in there if column not in found.values()}
    for field, aliases in _ALIASES.items():
        free = [column for column in plain if column not in found.values()]
        matches = [column for alias in aliases for column in free if plain[column] == alias]
        if field not in found and matches:
            found[field] = matches[0]
    for field in _NEEDED:
        if field not in found:
            known = ", ".join(map(repr, there)) or "none"
            message = f"operations: none of the columns ({known}) is the {field}; accepted: a column {field!r}"
            raise UsageError(f'{message}, or columns={{"{field}": NAME}}')
    return found


class Table:
    """The rows of a table of operations; every error names the row, from 0, and the column."""

    def __init__(self, operations: Any, columns: Mapping[str, str] | None) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise UsageError(f"columns: {shown(columns)} is not accepted; accepted: a dict from fields to names of columns")
        self._rows = records("operations", operations)
        if not self._rows:
            raise UsageError("operations: the table has no rows; accepted: at least one")
        self._columns = _columns(self._rows, columns)

    def first_date(self) -> datetime | None:
        """Return the earliest release date; None if releases are numbers. Raises UsageError if only due dates are dates."""
        found: dict[str, list[datetime]] = {"release": [], "due": []}
        for field, dates in found.items():
            for at in range(len(self._rows)):
                cell = self._cell(at, field)
                each = None if cell is None else date_in(self._of(at, field), cell)
                dates += [] if each is None else [each]
        if found["due"] and not found["release"]:
            raise UsageError("begin: missing; accepted: the date of time 0, as the table has due dates but no release dates")
        try:
            return min(found["release"], default=None)
        except TypeError:
            column = self._columns["release"]
            raise UsageError(f"column {column!r}: accepted: dates with a time zone, or dates without one") from None

    def jobs(self, clock: Clock) -> dict[Hashable, dict[str, Any]]:
        """Return job -> arguments of `SchedulingModel.add_job`, times as integers. Raises UsageError."""
        rows_of: dict[Hashable, list[int]] = {}
        for at in range(len(self._rows)):
            rows_of.setdefault(name(self._of(at, "job"), whole(self._needed(at, "job"))), []).append(at)
        return {job: self._job(rows, clock) for job, rows in rows_of.items()}

    def _job(self, rows: list[int], clock: Clock) -> dict[str, Any]:
        """Return the arguments of a job with the given rows."""
        found: dict[str, Any] = {"operations": self._operations(rows, clock)}
        for field in _OF_JOB:
            first: int | None = None
            for at in rows:
                if self._cell(at, field) is None:
                    continue
                value = self._value(at, field, clock)
                if first is not None and value != found[field]:
                    other = f"{shown(str(self._cell(at, field)))} differs from row {first}"
                    raise UsageError(f"{self._of(at, field)}: {other}; accepted: the same in all rows of a job")
                found[field], first = value, at if first is None else first
        return found

    def _operations(self, rows: list[int], clock: Clock) -> list[dict[Hashable, int]]:
        """Return machine -> duration for each operation of a job, in order."""
        groups: dict[Any, dict[Hashable, int]] = {}
        for at in rows:
            key = at if "operation" not in self._columns else whole(self._needed(at, "operation"))
            choices = groups.setdefault(key, {})
            for machine, duration in self._choices(at, clock):
                if machine in choices:
                    raise UsageError(f"{self._of(at, 'machine')}: {shown(machine)} is there already; accepted: each machine once")
                choices[machine] = duration
        numbered = all(isinstance(key, (int, float)) for key in groups)
        return [groups[key] for key in (sorted(groups) if numbered else groups)]

    def _choices(self, at: int, clock: Clock) -> list[tuple[Hashable, int]]:
        """Return (machine, duration) for each machine of a row."""
        of, cell = self._of(at, "machine"), self._needed(at, "machine")
        if isinstance(cell, str):
            cell = [part.strip() for part in cell.split("|")]
        elif not _is_list(cell):
            cell = [cell]
        machines = [name(of, whole(each)) for each in entries(of, cell, "a name, or a list of names")]
        of, cell = self._of(at, "duration"), self._needed(at, "duration")
        durations = [cell] * len(machines)
        if _is_list(cell):
            durations = entries(of, cell, f"a duration for each of the {len(machines)} machines", len(machines))
        return [(machine, clock.span(of, whole(duration))) for machine, duration in zip(machines, durations)]

    def _value(self, at: int, field: str, clock: Clock) -> Any:
        """Return the value of a cell of the job's own columns."""
        of, cell = self._of(at, field), whole(self._cell(at, field))
        if field == "family":
            return name(of, cell)
        if field == "weight":
            return integer(of, cell, high=10**6)
        if field == "release" and clock.begin is not None and (found := date_in(of, cell)) is not None:
            return 0 if _earlier(found, clock.begin) else clock.moment(of, found)
        return clock.moment(of, cell, down=field == "due")

    def _of(self, at: int, field: str) -> str:
        return f"row {at}, column {self._columns.get(field, field)!r}"

    def _cell(self, at: int, field: str) -> Any:
        return self._rows[at].get(self._columns.get(field, ""))

    def _needed(self, at: int, field: str) -> Any:
        if (cell := self._cell(at, field)) is None:
            raise UsageError(f"{self._of(at, field)}: empty; accepted: a {field} in every row")
        return cell


def _is_list(cell: Any) -> bool:
    """Return whether a cell holds several values."""
    return not isinstance(cell, str) and (hasattr(cell, "__len__") or bool(getattr(cell, "ndim", 0)))


def _earlier(one: datetime, other: datetime) -> bool:
    """Return whether a date is earlier than another; dates with and without a time zone are not compared."""
    return (one.tzinfo is None) == (other.tzinfo is None) and one < other
