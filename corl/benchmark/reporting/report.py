"""Report: all results in the store of a benchmark, and their JSON (`markdown.py` and `page.py` make Markdown and HTML)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from corl.benchmark.reporting.analysis import Comparison, GroupRow, InstanceRow, Row, compare, group_rows, instance_rows, summary
from corl.benchmark.reporting.curves import Curve, curves, gap_profile, size_curves, time_profile
from corl.benchmark.reporting.grid import Grid, is_limit_free
from corl.benchmark.reporting.notes import Failure, Provenance, beaten, failures, provenance, warnings
from corl.benchmark.reporting.published import PublishedColumn, PublishedResult, none_shown, published_columns
from corl.errors import UsageError
from corl.files.json_values import to_json
from corl.formatting import percent
from corl.record import Record
from corl.statistics import Resampling
from corl.store import Store

__all__ = [
    "CurveRow", "Report", "SuiteReport", "build", "held_warnings", "of_suite", "peers_held", "report_json", "suite_limits",
]  # fmt: skip

_StoredCurves: TypeAlias = Mapping[str, Mapping[str, Sequence[tuple[float, float | None]]]]
"""Training run -> learning curve -> [(step, value)], as `Store.curves` returns them."""


@dataclass(frozen=True)
class SuiteReport:
    """The results of one suite. All fields but `grid` and the curves are in the JSON."""

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
    """The main result at every limit, one sentence each."""
    warnings: list[str]
    beaten: list[str]
    """A line for every reference value that a run beats."""
    rows: list[Row]
    comparisons: dict[str, list[Comparison]]
    """Limit -> the comparisons of all pairs of solvers."""
    instance_rows: list[InstanceRow]
    groups: list[GroupRow]
    failures: list[Failure]
    held: dict[str, str]
    """Label of a peer (a program of others) -> "", or why it does not count as held against its published figures."""
    published: list[PublishedColumn]
    """Results that others published, which take no part in any other field."""
    provenance: Provenance
    curves: list[Curve]
    """The mean primal gap of each solver against time."""
    target: float
    """The gap of `time_profile`."""
    time_profile: list[Curve]
    """The performance profile of each solver: of the time until its gap is at most `target`."""
    gap_profiles: dict[str, list[Curve]]
    """Limit -> for each solver, the share of runs within a gap."""
    size_curves: list[Curve]
    """The mean gap of each solver against the size of instances."""
    grid: Grid
    """All runs as arrays."""


@dataclass(frozen=True)
class CurveRow:
    """The summary of one learning curve of a training run: its first, last, least and largest value."""

    training: str
    curve: str
    points: int
    steps: float
    """The number of the last training step."""
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
    """Name of a learning curve -> one line for every training run."""
    trainings: dict[str, Any]
    """Training run -> its facts."""
    curve_rows: list[CurveRow] = field(default_factory=list)


def build(store: Store, suite: str | None = None, published: Sequence[PublishedResult] = ()) -> Report:
    """Return the report of a whole store, or of one suite by its name. Raises UsageError if there is no such suite.

    `published`: results of others, shown beside those of the suites.
    """
    records: dict[str, list[Record]] = {}
    for record in store.records():
        records.setdefault(record.suite, []).append(record)
    if suite is not None:
        if suite not in records:
            raise UsageError(f"{store.path} holds no runs of a suite {suite!r}; there are: {', '.join(records) or 'none'}")
        records = {suite: records[suite]}
    definitions = store.suites()
    reports = [
        of_suite(suite_records, definitions.get(name), store.commands(name), published) for name, suite_records in records.items()
    ]
    if suite is not None:
        return Report(store.path.name, reports, {}, {})
    stored = store.curves()
    return Report(store.path.name, reports, _learning(stored), store.trainings(), _curve_rows(stored))


def of_suite(
    records: Sequence[Record],
    definition: Any = None,
    commands: Sequence[str] = (),
    published: Sequence[PublishedResult] = (),
) -> SuiteReport:
    """Return the report of one suite.

    Args:
        records: The records of its runs.
        definition: The definition of the suite, as in `Store.suites`: it names groups of instances, whose results are averaged,
            and time limits, at which results of limit-free solvers are read off their traces.
        commands: The commands that ran the suite.
        published: Results of others.
    """
    definition = definition if isinstance(definition, Mapping) else {}
    grid = Grid.of(records, suite_limits(definition), is_limit_free)
    resampling = Resampling(grid.slots)
    rows = summary(grid, resampling)
    comparisons = {str(limit): compare(grid, resampling, at) for at, limit in enumerate(grid.limits)}
    target, profile = time_profile(grid)
    held = peers_held(definition, grid.solvers)
    columns = published_columns(published, grid)
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
        warnings=[*held_warnings(held), *none_shown(published, columns), *warnings(grid, resampling)],
        beaten=beaten(grid),
        rows=rows,
        comparisons=comparisons,
        instance_rows=instance_rows(grid),
        groups=group_rows(grid, _groups(definition)),
        failures=failures(grid.records),
        held=held,
        published=columns,
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
    """Return instance -> its group, from the definition of a suite."""
    found = definition.get("instances")
    instances = found if isinstance(found, Mapping) else {}
    return {name: str(facts.get("group", "")) for name, facts in instances.items() if isinstance(facts, Mapping)}


def peers_held(definition: Any, solvers: Sequence[str]) -> dict[str, str]:
    """Return label -> "" or why it is not held, of those solvers that a suite's definition marks as programs of others."""
    found = definition.get("solvers") if isinstance(definition, Mapping) else None
    facts = found if isinstance(found, Mapping) else {}
    entries = {label: facts[label] for label in solvers if isinstance(facts.get(label), Mapping)}
    return {label: str(entry["held"]) for label, entry in entries.items() if "held" in entry}


def held_warnings(held: Mapping[str, str]) -> list[str]:
    """Return a warning for each peer that does not count as held against its published figures."""
    return [f"{label}: {reason}" for label, reason in held.items() if reason]


def suite_limits(definition: Any) -> list[float]:
    """Return the time limits that a suite's definition asks for."""
    found = definition.get("time_limits") if isinstance(definition, Mapping) else None
    return [float(x) for x in found if isinstance(x, (int, float)) and x > 0] if isinstance(found, list) else []


def _headline(grid: Grid, rows: Sequence[Row], comparisons: Mapping[str, Sequence[Comparison]]) -> list[str]:
    """Return the main result for every limit: the solver with the smallest mean gap, and which solvers it is better than."""
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
        most_solved = max(row.solved for row in solved)
        leaders = [row for row in solved if row.solved == most_solved]
        among = "" if len(leaders) == len(solved) else f" among the solvers that solved most runs ({most_solved})"
        first = min(leaders, key=lambda row: row.gap.value or 0.0)
        pairs = [c for c in comparisons[limit] if first.solver in (c.a, c.b)]
        others = {c.b if c.a == first.solver else c.a: c.better for c in pairs}  # the other solver -> the better one
        worse = [name for name, better in others.items() if better == first.solver]
        ahead = [name for name, better in others.items() if better == name]
        undecided = [name for name, better in others.items() if better not in (name, first.solver)]
        text = f"{limit}: smallest mean gap{among} {percent(first.gap.value)}, by {first.solver}"
        text += f"; better than {_listed(worse)}" if worse else ""
        text += f"; not shown better than {_listed(undecided)}" if undecided else ""
        text += f"; worse, on the instances that both accept, than {_listed(ahead)}" if ahead else ""
        lines.append(text)
    return lines


def _listed(names: Sequence[str], most: int = 12) -> str:
    """Return the names as text; after the first `most`, only the number of further names."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _curve_rows(stored: _StoredCurves) -> list[CurveRow]:
    rows = []
    for training, of_training in stored.items():
        for name, points in of_training.items():
            values = [value for _, value in points if value is not None]
            if values:
                extremes = min(values), max(values)
                rows.append(CurveRow(training, name, len(points), points[-1][0], values[0], values[-1], *extremes))
    return rows


def _learning(stored: _StoredCurves) -> dict[str, list[Curve]]:
    import numpy as np

    found: dict[str, list[Curve]] = {}
    for run, curves_of_run in stored.items():
        for name, points in curves_of_run.items():
            xy = np.array([point for point in points if point[1] is not None], float).reshape(-1, 2)
            if len(xy):
                found.setdefault(name, []).append(Curve(run, *_thinned(xy).T))
    return found


def _thinned(xy: Any, most: int = 400) -> Any:
    """Return the points of a curve, [points, 2]; if there are more than `most`, means of neighbouring points."""
    import numpy as np

    if len(xy) <= most:
        return xy
    return np.array([part.mean(axis=0) for part in np.array_split(xy, most)])


def _plain(value: Any) -> Any:
    """Return a value with dataclasses in it as dicts."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
