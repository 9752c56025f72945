"""Published results of others: columns beside our own results, which take no part in intervals, ranks and comparisons.

A CSV file (lines that begin with # are comments) or a JSON list of objects has one row for each result:

solver         the name, such as "PyVRP 0.14.0"
instance       the label of an instance in a suite; or `set`, the name of a set, with `instances`, their number
objective      the objective value; or `gap_percent`, the gap to the best known value at that time
problem        optional; the row is shown in suites of this problem only
seconds        the time of a run, optional
hardware, date, source    texts; the source is needed
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corl.benchmark.reporting.grid import Grid
from corl.benchmark.reporting.measures import gap
from corl.errors import InputError
from corl.files.json_values import from_json, is_number
from corl.files.opening import reading
from corl.formatting import percent, seconds

__all__ = ["NOTE", "PublishedColumn", "PublishedResult", "none_shown", "published_columns", "read_published"]

NOTE = (
    "Results that others published, on their hardware: not measured or evaluated here, and in no interval, rank or comparison. "
    "Gaps of objective values are to the references of this suite."
)
_TEXTS = ("problem", "solver", "instance", "set", "hardware", "date", "source")
_NUMBERS = ("instances", "objective", "gap_percent", "seconds")
_COLUMNS = ", ".join((*_TEXTS, *_NUMBERS))


@dataclass(frozen=True)
class PublishedResult:
    """One row of a file."""

    problem: str
    solver: str
    instance: str
    """"" for a set."""
    set: str
    hardware: str
    date: str
    source: str
    instances: float | None
    """The number of instances of the set."""
    objective: float | None
    gap_percent: float | None
    seconds: float | None


@dataclass(frozen=True)
class PublishedColumn:
    """What one source published of one solver: on instances of a suite, or on a whole set."""

    solver: str
    of: str
    """The instances, such as "3 of 5 instances" or "set X, 100 instances"."""
    gap: float | None
    """Relative mean gap (0.01 is 1 %); None if unknown."""
    seconds: str
    """The time of a run, or the range of times, as text."""
    hardware: str
    date: str
    source: str
    gaps: Mapping[str, float]
    """Instance -> relative gap; empty for a set."""

    def __str__(self) -> str:
        facts = [self.of, self.seconds, self.hardware, self.date, self.source]
        return f"{self.solver} (published): mean gap {percent(self.gap)}, {', '.join(fact for fact in facts if fact)}"


def read_published(paths: Iterable[Path]) -> list[PublishedResult]:
    """Return the rows of CSV and JSON files. Raises InputError."""
    return [result for path in paths for result in _results(path)]


def _results(path: Path) -> list[PublishedResult]:
    with reading(path):
        text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        rows: Any = from_json(text, file=str(path))
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError("accepted: a list of objects", file=str(path))
    else:
        try:
            rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", file=str(path)) from error
    if not rows:
        raise InputError(f"no results; accepted: a row for each, with columns of {_COLUMNS}", file=str(path))
    return [_result(row, str(path), f"row {number}") for number, row in enumerate(rows, 1)]


def _result(row: Mapping[str | None, Any], file: str, place: str) -> PublishedResult:
    """Return a row; empty texts count as missing. Raises InputError."""
    if unknown := [key for key in row if key not in (*_TEXTS, *_NUMBERS)]:
        raise InputError(f"{unknown[0]!r} is not a known column; accepted: {_COLUMNS}", file=file, field=place)
    texts = {key: str(row.get(key) or "") for key in _TEXTS}
    numbers = {key: _number(row.get(key), file, f"{place}, {key}") for key in _NUMBERS}
    for key in ("solver", "source"):
        if not texts[key]:
            raise InputError("missing; accepted: a text", file=file, field=f"{place}, {key}")
    if bool(texts["instance"]) == bool(texts["set"]):
        raise InputError("accepted: either instance or set", file=file, field=place)
    if (numbers["objective"] is None) == (numbers["gap_percent"] is None) or (texts["set"] and numbers["gap_percent"] is None):
        raise InputError("accepted: either objective or gap_percent; for a set, gap_percent", file=file, field=place)
    return PublishedResult(
        problem=texts["problem"], solver=texts["solver"], instance=texts["instance"], set=texts["set"],
        hardware=texts["hardware"], date=texts["date"], source=texts["source"],
        instances=numbers["instances"], objective=numbers["objective"],
        gap_percent=numbers["gap_percent"], seconds=numbers["seconds"],
    )  # fmt: skip


def _number(given: Any, file: str, place: str) -> float | None:
    if given in (None, ""):
        return None
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = float("nan")
    if isinstance(given, bool) or not is_number(value) or not np.isfinite(value):
        raise InputError(f"{given!r} is not accepted; accepted: a number", file=file, field=place)
    return value


def published_columns(results: Sequence[PublishedResult], grid: Grid) -> list[PublishedColumn]:
    """Return the columns of a suite: for each solver and source, the instances of the suite with a gap, and each whole set."""
    of_problem = [result for result in results if result.problem in ("", grid.problem)]
    columns = []
    for key in dict.fromkeys((r.solver, r.hardware, r.date, r.source, r.set) for r in of_problem):
        own = [r for r in of_problem if (r.solver, r.hardware, r.date, r.source, r.set) == key]
        solver, hardware, date, source, name = key
        if name:
            count = f", {own[0].instances:.0f} instances" if own[0].instances else ""
            columns += [_column(solver, f"set {name}{count}", [own[0].gap_percent or 0.0], own, hardware, date, source, {})]
        elif gaps := {r.instance: found for r in own if (found := _gap(r, grid)) is not None}:
            of = f"{len(gaps)} of {len(grid.instances)} instances"
            values = [100.0 * value for value in gaps.values()]
            used = [r for r in own if r.instance in gaps]
            columns += [_column(solver, of, values, used, hardware, date, source, gaps)]
    return columns


def none_shown(results: Sequence[PublishedResult], columns: Sequence[PublishedColumn]) -> list[str]:
    """Return a warning if there are results, but no columns."""
    why = "No published result is shown: they are of other instances, or objective values of instances without a reference"
    return [why] if results and not columns else []


def _column(
    solver: str,
    of: str,
    percents: Sequence[float],
    own: Sequence[PublishedResult],
    hardware: str,
    date: str,
    source: str,
    gaps: Mapping[str, float],
) -> PublishedColumn:
    times = sorted({r.seconds for r in own if r.seconds is not None})
    text = "" if not times else seconds(times[0]) if len(times) == 1 else f"{seconds(times[0])} to {seconds(times[-1])}"
    return PublishedColumn(solver, of, float(np.mean(percents)) / 100.0, text, hardware, date, source, gaps)


def _gap(result: PublishedResult, grid: Grid) -> float | None:
    """Return the relative gap of a result; None if its instance is not in the suite, or has no reference for an objective."""
    if result.instance not in grid.instances:
        return None
    if result.gap_percent is not None:
        return result.gap_percent / 100.0
    at = grid.instances.index(result.instance)
    return float(gap(result.objective or 0.0, grid.reference[at], grid.sense)) if grid.referenced[at] else None
