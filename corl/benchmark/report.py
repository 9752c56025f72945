"""Report: everything that is shown of a store, and its JSON and Markdown forms (the page is in `page.py`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from corl.benchmark.analysis import (
    Comparison,
    GroupRow,
    InstanceRow,
    Row,
    compare,
    group_rows,
    instance_rows,
    summary,
)
from corl.benchmark.curves import Curve, curves, gap_profile, size_curves, time_profile
from corl.benchmark.grid import Grid, is_limit_free
from corl.benchmark.notes import Failure, Provenance, beaten, failures, provenance, warnings
from corl.benchmark.record import Record
from corl.benchmark.statistics import Estimate, Resampling
from corl.benchmark.store import Store
from corl.errors import UsageError
from corl.files import to_json

__all__ = ["Report", "SuiteReport", "build", "of_suite", "percent", "report_json", "report_markdown", "suite_limits"]


@dataclass(frozen=True)
class SuiteReport:
    """What is shown of one suite. Curves are not in the JSON: they are the figures."""

    name: str
    problem: str
    sense: str
    limits: tuple[str, ...]
    solvers: tuple[str, ...]
    instances: int
    runs: int
    intervals: str
    """What the intervals cover: "instances and seeds", ..., "" where there are none."""
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
class Report:
    """A store's suites and training runs."""

    store: str
    suites: list[SuiteReport]
    learning: dict[str, list[Curve]]
    """Name of a curve -> one line for every training run."""
    trainings: dict[str, Any]


def build(store: Store, suite: str | None = None) -> Report:
    """Everything that a store tells, or its suite of that name alone. Raises UsageError where there is no such suite."""
    records: dict[str, list[Record]] = {}
    for record in store.records():
        records.setdefault(record.suite, []).append(record)
    if suite is not None:
        if suite not in records:
            raise UsageError(f"{store.path} holds no runs of a suite {suite!r}; there are: {', '.join(records) or 'none'}")
        records = {suite: records[suite]}
    definitions = store.suites()
    reports = [of_suite(mine, definitions.get(name), store.commands(name)) for name, mine in records.items()]
    if suite is not None:
        return Report(store.path.name, reports, {}, {})
    return Report(store.path.name, reports, _learning(store.curves()), store.trainings())


def of_suite(records: Sequence[Record], definition: Any = None, commands: Sequence[str] = ()) -> SuiteReport:
    """The report of one suite's records; `definition` and `commands` as the store has them.

    The definition's time limits are read off the traces of limit-free solvers, its groups of instances are averaged.
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
    """The numbers of a report: one JSON object, unknown and infinite values null, gaps relative (0.01 is 1 %)."""
    figures = ("curves", "time_profile", "gap_profiles", "size_curves", "grid")
    suites = []
    for suite in report.suites:
        values = {name: value for name, value in vars(suite).items() if name not in figures}
        suites.append({name: _plain(value) for name, value in values.items()})
    return to_json({"store": report.store, "suites": suites, "trainings": report.trainings})


def report_markdown(report: Report) -> str:
    """The summary, the verdicts, the warnings and the circumstances as Markdown."""
    lines = []
    for suite in report.suites:
        counts = f"{len(suite.solvers)} solvers, {suite.instances} instances, seeds {suite.provenance.seeds}, {suite.runs:,} runs"
        lines += [f"## {_cell(suite.name)} ({_cell(suite.problem)})", "", counts + ".", ""]
        lines += [f"- {_cell(text)}" for text in (*suite.headline, *suite.beaten)]
        lines += [f"- Warning: {_cell(text)}" for text in suite.warnings] + [""]
        head = (
            "Solver",
            "Limit",
            "Mean gap",
            "95 %",
            "IQM",
            "At reference",
            "Best",
            "Failed",
            "Primal integral",
            "Time",
            "Memory",
        )
        lines += ["| " + " | ".join(head) + " |", "|---|---" + "|--:" * (len(head) - 2) + "|"]
        for row in suite.rows:
            lost = row.runs - row.solved
            cells = (
                row.solver, row.limit + " (trace)" * row.derived, percent(row.gap.value), interval(row.gap),
                percent(row.middle.value), f"{100 * row.at_reference:.0f} %", f"{row.best}/{row.runs}", str(lost) if lost else "",
                percent(row.integral.value), seconds(row.seconds), memory(row.peak_bytes),
            )  # fmt: skip
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
        lines += ["", _circumstances(suite), ""]
    return "\n".join(lines).rstrip() + "\n"


def percent(gap: float | None) -> str:
    """A relative gap as a percentage with the digits that matter: 0.00003 %, 0.012 %, 3.40 %, 120 %."""
    if gap is None or gap != gap:
        return "–"
    x = 100 * gap
    if x in (float("inf"), float("-inf")):
        return "∞"
    if x == 0:
        return "0 %"
    if abs(x) < 1e-6:
        return "≈0 %"
    digits = (
        0
        if abs(x) >= 100
        else 1
        if abs(x) >= 10
        else 2
        if abs(x) >= 1
        else 3
        if abs(x) >= 5e-4
        else -math.floor(math.log10(abs(x)))
    )
    return f"{x:,.{digits}f} %".replace("-", "−")


def interval(estimate: Estimate) -> str:
    """The interval of a gap, "" where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{percent(estimate.low)} to {percent(estimate.high)}".replace(" % to", " to")


def seconds(value: float | None) -> str:
    """A time with three digits."""
    if value is None:
        return "–"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"


def memory(size: float | None) -> str:
    """A number of bytes in binary megabytes or gigabytes."""
    if size is None:
        return "–"
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _groups(definition: Mapping[str, Any]) -> dict[str, str]:
    """Instance -> the group it is averaged with."""
    found = definition.get("instances")
    known = found if isinstance(found, Mapping) else {}
    return {name: str(facts.get("group", "")) for name, facts in known.items() if isinstance(facts, Mapping)}


def suite_limits(definition: Any) -> list[float]:
    """The time limits that a suite's definition asks for."""
    found = definition.get("time_limits") if isinstance(definition, Mapping) else None
    return [float(x) for x in found if isinstance(x, (int, float)) and x > 0] if isinstance(found, list) else []


def _headline(grid: Grid, rows: Sequence[Row], comparisons: Mapping[str, Sequence[Comparison]]) -> list[str]:
    """The answer first, for every limit: the smallest mean gap, and over whom it is shown."""
    lines = []
    for limit in map(str, grid.limits):
        mine = [row for row in rows if row.limit == limit]
        solved = [row for row in mine if row.gap.value is not None]
        if not solved:
            lines.append(f"{limit}: no solver found a solution")
            continue
        if len(mine) == 1:
            lines.append(f"{limit}: {mine[0].solver} alone, mean gap {percent(mine[0].gap.value)}")
            continue
        most = max(row.solved for row in solved)
        leaders = [row for row in solved if row.solved == most]
        among = "" if len(leaders) == len(solved) else f" among those that solved most runs ({most})"
        first = min(leaders, key=lambda row: row.gap.value or 0.0)
        pairs = [c for c in comparisons[limit] if first.solver in (c.a, c.b)]
        others = {c.b if c.a == first.solver else c.a: c.better for c in pairs}
        worse = [name for name, better in others.items() if better == first.solver]
        open_ones = [name for name, better in others.items() if better != first.solver]
        text = f"{limit}: smallest mean gap{among} {percent(first.gap.value)}, by {first.solver}"
        text += f"; better than {_listed(worse)}" if worse else ""
        text += f"; not shown better than {_listed(open_ones)}" if open_ones else ""
        lines.append(text)
    return lines


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _learning(stored: Mapping[str, Mapping[str, Sequence[tuple[float, float | None]]]]) -> dict[str, list[Curve]]:
    import numpy as np

    found: dict[str, list[Curve]] = {}
    for run, curves_of_run in stored.items():
        for name, points in curves_of_run.items():
            xy = np.array([point for point in points if point[1] is not None], float).reshape(-1, 2)
            if len(xy):
                found.setdefault(name, []).append(Curve(run, *_thinned(xy).T))
    return found


def _thinned(xy: Any, most: int = 400) -> Any:
    """At most `most` points of a curve: means of neighbours."""
    import numpy as np

    if len(xy) <= most:
        return xy
    return np.array([part.mean(axis=0) for part in np.array_split(xy, most)])


def _circumstances(suite: SuiteReport) -> str:
    p = suite.provenance
    versions = ", ".join(f"{name} {'/'.join(found)}" for name, found in p.versions.items())
    machines = "; ".join(", ".join(f"{k} {v}" for k, v in m.items() if not isinstance(v, (dict, list))) for m in p.machines)
    parts = [f"Commands: {'; '.join(f'`{c}`' for c in p.commands)}."] if p.commands else []
    parts += [
        f"Runs from {p.started[0]} to {p.started[1]}.",
        f"Commit {', '.join(p.commits) or 'unknown'}.",
        f"Versions: {versions}.",
    ]
    return _cell(" ".join([*parts, f"Machine: {machines}."])) if machines else _cell(" ".join(parts))


def _cell(text: object) -> str:
    """A text as it may stand in a Markdown table."""
    plain = "".join(c if c.isprintable() else " " for c in str(text))
    for character in "\\|<>":
        plain = plain.replace(character, "\\" + character)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
