"""Report: all results of a store, and their JSON (Markdown is in `markdown.py`, the page in `page.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from corl.benchmark.reporting.analysis import Comparison, GroupRow, InstanceRow, Row, compare, group_rows, instance_rows, summary
from corl.benchmark.reporting.curves import Curve, curves, gap_profile, size_curves, time_profile
from corl.benchmark.reporting.grid import Grid, is_limit_free
from corl.benchmark.reporting.notes import Failure, Provenance, beaten, failures, provenance, warnings
from corl.errors import UsageError
from corl.files.json_values import to_json
from corl.formatting import percent
from corl.record import Record
from corl.statistics import Resampling
from corl.store import Store

__all__ = ["CurveRow", "Report", "SuiteReport", "build", "of_suite", "report_json", "suite_limits"]

_Stored: TypeAlias = Mapping[str, Mapping[str, Sequence[tuple[float, float | None]]]]
"""Training run -> curve -> [(step, value)], as the store has them."""


@dataclass(frozen=True)
class SuiteReport:
    """The results of one suite. Curves are the figures, and not in the JSON."""

    name: str
    problem: str
    sense: str
    limits: tuple[str, ...]
    solvers: tuple[str, ...]
    instances: int
    runs: int
    intervals: str
    """The source of variation that the intervals cover: "instances and seeds", ...; "" if there are none."""
    headline: list[str]
    warnings: list[str]
    beaten: list[str]
    rows: list[Row]
    comparisons: dict[str, list[Comparison]]
    """Limit -> every pair of solvers."""
    instance_rows: list[InstanceRow]
    groups: list[GroupRow]
    failures: list[Failure]
    provenance: Provenance
    curves: list[Curve]
    target: float
    """The gap whose time `time_profile` compares."""
    time_profile: list[Curve]
    gap_profiles: dict[str, list[Curve]]
    size_curves: list[Curve]
    grid: Grid


@dataclass(frozen=True)
class CurveRow:
    """The summary of a curve of a training run."""

    training: str
    curve: str
    points: int
    steps: float
    """The last one's number."""
    first: float
    last: float
    least: float
    most: float


@dataclass(frozen=True)
class Report:
    """A store's suites and training runs."""

    store: str
    suites: list[SuiteReport]
    learning: dict[str, list[Curve]]
    """Name of a curve -> one line for every training run."""
    trainings: dict[str, Any]
    curve_rows: list[CurveRow] = field(default_factory=list)


def build(store: Store, suite: str | None = None) -> Report:
    """Return the report of a whole store, or of one suite by its name. Raises UsageError if there is no such suite."""
    records: dict[str, list[Record]] = {}
    for record in store.records():
        records.setdefault(record.suite, []).append(record)
    if suite is not None:
        if suite not in records:
            raise UsageError(f"{store.path} holds no runs of a suite {suite!r}; there are: {', '.join(records) or 'none'}")
        records = {suite: records[suite]}
    definitions = store.suites()
    reports = [of_suite(suite_records, definitions.get(name), store.commands(name)) for name, suite_records in records.items()]
    if suite is not None:
        return Report(store.path.name, reports, {}, {})
    stored = store.curves()
    return Report(store.path.name, reports, _learning(stored), store.trainings(), _curve_rows(stored))


def of_suite(records: Sequence[Record], definition: Any = None, commands: Sequence[str] = ()) -> SuiteReport:
    """Return the report of one suite's records; `definition` and `commands` as the store has them.

    Results of limit-free solvers at the definition's time limits come from their traces; its groups of instances are averaged.
    """
    definition = definition if isinstance(definition, Mapping) else {}
    grid = Grid.of(records, suite_limits(definition), is_limit_free)
    resampling = Resampling(grid.slots)
    rows = summary(grid, resampling)
    comparisons = {str(limit): compare(grid, resampling, at) for at, limit in enumerate(grid.limits)}
    target, profile = time_profile(grid)
    return SuiteReport(
        name=grid.suite,
        problem=grid.problem,
        sense=grid.sense,
        limits=tuple(map(str, grid.limits)),
        solvers=grid.solvers,
        instances=len(grid.instances),
        runs=len(grid.records),
        intervals=resampling.over,
        headline=_headline(grid, rows, comparisons),
        warnings=warnings(grid, resampling),
        beaten=beaten(grid),
        rows=rows,
        comparisons=comparisons,
        instance_rows=instance_rows(grid),
        groups=group_rows(grid, _groups(definition)),
        failures=failures(grid.records),
        provenance=provenance(grid.records, grid, commands),
        curves=curves(grid, resampling),
        target=target,
        time_profile=profile,
        gap_profiles={str(limit): gap_profile(grid, at) for at, limit in enumerate(grid.limits)},
        size_curves=size_curves(grid),
        grid=grid,
    )


def report_json(report: Report) -> str:
    """Return the numbers of a report: one JSON object, unknown and infinite values null, gaps relative (0.01 is 1 %)."""
    figures = ("curves", "time_profile", "gap_profiles", "size_curves", "grid")
    suites = []
    for suite in report.suites:
        values = {name: value for name, value in vars(suite).items() if name not in figures}
        suites.append({name: _plain(value) for name, value in values.items()})
    curve_values = _plain(report.curve_rows)
    return to_json({"store": report.store, "suites": suites, "trainings": report.trainings, "curves": curve_values})


def _groups(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return instance -> its group."""
    found = definition.get("instances")
    known = found if isinstance(found, Mapping) else {}
    return {name: str(facts.get("group", "")) for name, facts in known.items() if isinstance(facts, Mapping)}


def suite_limits(definition: Any) -> list[float]:
    """Return the time limits that a suite's definition asks for."""
    found = definition.get("time_limits") if isinstance(definition, Mapping) else None
    return [float(x) for x in found if isinstance(x, (int, float)) and x > 0] if isinstance(found, list) else []


def _headline(grid: Grid, rows: Sequence[Row], comparisons: Mapping[str, Sequence[Comparison]]) -> list[str]:
    """Return the main result for every limit: the smallest mean gap, and the solvers that it is significantly better than."""
    lines = []
    for limit in map(str, grid.limits):
        limit_rows = [row for row in rows if row.limit == limit]
        solved = [row for row in limit_rows if row.gap.value is not None]
        if not solved:
            lines.append(f"{limit}: no solver found a solution")
            continue
        if len(limit_rows) == 1:
            lines.append(f"{limit}: {limit_rows[0].solver} alone, mean gap {percent(limit_rows[0].gap.value)}")
            continue
        most = max(row.solved for row in solved)
        leaders = [row for row in solved if row.solved == most]
        among = "" if len(leaders) == len(solved) else f" among those that solved most runs ({most})"
        first = min(leaders, key=lambda row: row.gap.value or 0.0)
        pairs = [c for c in comparisons[limit] if first.solver in (c.a, c.b)]
        others = {c.b if c.a == first.solver else c.a: c.better for c in pairs}
        worse = [name for name, better in others.items() if better == first.solver]
        ahead = [name for name, better in others.items() if better == name]
        undecided = [name for name, better in others.items() if better not in (name, first.solver)]
        text = f"{limit}: smallest mean gap{among} {percent(first.gap.value)}, by {first.solver}"
        text += f"; better than {_listed(worse)}" if worse else ""
        text += f"; not shown better than {_listed(undecided)}" if undecided else ""
        text += f"; on the instances that they accept, better are {_listed(ahead)}" if ahead else ""
        lines.append(text)
    return lines


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _curve_rows(stored: _Stored) -> list[CurveRow]:
    rows = []
    for training, of_training in stored.items():
        for name, points in of_training.items():
            values = [value for _, value in points if value is not None]
            if values:
                extremes = min(values), max(values)
                rows.append(CurveRow(training, name, len(points), points[-1][0], values[0], values[-1], *extremes))
    return rows


def _learning(stored: _Stored) -> dict[str, list[Curve]]:
    import numpy as np

    found: dict[str, list[Curve]] = {}
    for run, curves_of_run in stored.items():
        for name, points in curves_of_run.items():
            xy = np.array([point for point in points if point[1] is not None], float).reshape(-1, 2)
            if len(xy):
                found.setdefault(name, []).append(Curve(run, *_thinned(xy).T))
    return found


def _thinned(xy: Any, most: int = 400) -> Any:
    """Return at most `most` points of a curve: means of neighbours."""
    import numpy as np

    if len(xy) <= most:
        return xy
    return np.array([part.mean(axis=0) for part in np.array_split(xy, most)])


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
