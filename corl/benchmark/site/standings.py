"""Standings of one suite for the site: every solver at every limit, where peers are ahead of us, and the curves against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corl import registry
from corl.benchmark.reporting.analysis import Comparison, Row, compare
from corl.benchmark.reporting.curves import Curve, curves, seconds_to
from corl.benchmark.reporting.grid import Grid
from corl.benchmark.reporting.report import SuiteReport
from corl.errors import UsageError
from corl.formatting import percent
from corl.record import Record
from corl.statistics import Resampling

__all__ = ["TARGETS", "Line", "Standings", "Times", "standings"]

TARGETS = (0.01, 0.001, 0.0001)
"""The gaps, 1, 0.1 and 0.01 %, for which the site shows the time until they are reached."""


@dataclass(frozen=True)
class Times:
    """When a solver reaches a gap in its runs with the longest limit."""

    share: float
    """The share of the runs that reach it."""
    median: float | None
    """The median of the seconds over all runs; None if fewer than half of them reach it."""


@dataclass(frozen=True)
class Line:
    """One solver at one limit."""

    row: Row
    whose: str
    """"ours", or the program of others."""
    held: str | None
    """Of a peer that is a program: "", or why it is not held against its published figures; None for solvers of corl."""
    instances: int
    """The number of instances with a solution."""
    cpu_seconds: float | None
    """Mean processor seconds of a run's process."""
    times: tuple[Times, ...]
    """For each of TARGETS; empty but at the longest limit."""


@dataclass(frozen=True)
class Standings:
    """What the site shows of a suite."""

    report: SuiteReport
    main: str
    """The solver of ours that peers are compared with: the first of the suite; "" if it has none."""
    lines: list[Line]
    ahead: list[str]
    """A sentence for each limit and peer with a smaller mean gap than ours on the same runs, and for strata where it has one."""
    compared: int
    """The number of comparisons of a peer with ours."""
    curves: list[Curve]
    """As SuiteReport.curves; a program that reports only its end has one point for each limit, from its shortest limit on."""


def standings(report: SuiteReport, definition: Any) -> Standings:
    """Return the standings of a suite.

    Args:
        report: The suite's report.
        definition: The suite's definition in the store.
    """
    found = definition.get("solvers") if isinstance(definition, Mapping) else None
    entries: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    whose = {label: _whose(report.problem, label, entries.get(label)) for label in report.solvers}
    ordered = [label for label in entries if label in whose] or list(report.solvers)
    main = next((label for label in ordered if whose[label] == "ours"), "")
    grid = _with_ends(report)
    pairs = _comparisons(report.grid, main, whose)
    return Standings(
        report=report,
        main=main,
        lines=_lines(report, grid, whose),
        ahead=[text for pair in pairs if (text := _ahead(report.name, main, pair))] + _strata(report, main, whose),
        compared=len(pairs),
        curves=_curves(report, grid),
    )


def _whose(problem: str, label: str, entry: Any) -> str:
    """Return "ours", or the name of the program of others that a label of a suite stands for."""
    facts = entry if isinstance(entry, Mapping) else {}
    if "held" in facts:
        return label
    try:
        engine = getattr(registry.solver(problem, str(facts.get("solver", label))), "engine", "")
    except UsageError:  # "auto", or a solver that is not installed here
        return "ours"
    return str(engine) or "ours"


def _lines(report: SuiteReport, grid: Grid, whose: Mapping[str, str]) -> list[Line]:
    """Return a line for every row of the report; `grid`: the runs with the ends of shorter ones (`_with_ends`)."""
    limits, solvers = list(report.limits), list(report.solvers)
    reached = [seconds_to(grid, target) for target in TARGETS]
    refused = np.array([r.outcome == "refused" for r in grid.records] + [False])[grid.longest()]
    lines = []
    for row in report.rows:
        at, s = limits.index(row.limit), solvers.index(row.solver)
        cpu = report.grid.numbers["cpu_seconds"][at, s]
        cpu = cpu[np.isfinite(cpu)]
        counted = grid.slots & ~refused[s]
        times = [_times(seconds[s][counted]) for seconds in reached] if row.limit == limits[-1] and counted.any() else []
        lines.append(
            Line(
                row,
                whose[row.solver],
                report.held.get(row.solver),
                int((report.grid.outcome[at, s] == 1).any(axis=1).sum()),
                float(cpu.mean()) if len(cpu) else None,
                tuple(times),
            )
        )
    return lines


def _times(seconds: np.ndarray) -> Times:
    """Return the share and the median of times, inf for runs that do not reach the gap."""
    middle = float(np.sort(seconds)[(len(seconds) - 1) // 2]) if np.isfinite(seconds).mean() >= 0.5 else None
    return Times(float(np.isfinite(seconds).mean()), middle)


def _comparisons(grid: Grid, main: str, whose: Mapping[str, str]) -> list[Comparison]:
    """Return the comparisons of every peer with `main` at every limit at which both have runs."""
    if not main:
        return []
    resampling, first = Resampling(grid.slots), grid.solvers.index(main)
    found = []
    for at in range(len(grid.limits)):
        peers = [s for s, name in enumerate(grid.solvers) if whose[name] != "ours" and grid.attempted[at, s]]
        if grid.attempted[at, first] and peers:
            found += compare(grid, resampling, at, [(first, s) for s in peers])
    return found


def _ahead(suite: str, main: str, pair: Comparison) -> str:
    """Return how far a peer (`pair.b`) is ahead of ours (`pair.a`) as a sentence; "" if it is not."""
    value, low, high = pair.difference.value, pair.difference.low, pair.difference.high
    failures = pair.failures
    if failures[0] <= failures[1] and (value is None or value <= 0.0):
        return ""
    text = f"{pair.b} ahead of {main} on {suite} at {pair.limit}"
    if value is not None and value > 0.0:
        interval = "" if low is None or high is None else f" [{percent(low)}, {percent(high)}]"
        text += f" by {percent(value)}{interval} of the reference, {pair.instances} instances"
        text += "" if pair.better == pair.b else ", not significant"
    return text + (f"; {main} failed in {failures[0]} runs, {pair.b} in {failures[1]}" if any(failures) else "")


def _strata(report: SuiteReport, main: str, whose: Mapping[str, str]) -> list[str]:
    """Return for every peer the strata in which its mean gap is the smaller one at the longest limit."""
    found = []
    for s, name in enumerate(report.solvers if main else ()):
        ours = report.solvers.index(main)
        pairs = [(row.group, row.gaps[ours].value, row.gaps[s].value) for row in report.groups]
        where = [group for group, own, other in pairs if own is not None and other is not None and other < own]
        if whose[name] != "ours" and where:
            found.append(f"{name} has the smaller mean on {report.name} at {report.limits[-1]} in: {', '.join(where)}")
    return found


def _with_ends(report: SuiteReport) -> Grid:
    """Return the grid in which the trace of a program has the ends of its runs with shorter limits, too.

    A program's solution counts when it ends, so the trace of its longest run alone has a single point.
    """
    ends: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for r in report.grid.records:
        if r.solver in report.held and r.outcome == "ok" and r.time_limit is not None and r.objective is not None:
            ends.setdefault((r.solver, r.instance, r.seed), []).append((r.time_limit, r.objective))
    better = min if report.sense == "min" else max

    def with_ends(r: Record) -> Record:
        points = sorted(ends.get((r.solver, r.instance, r.seed), []))
        if r.outcome != "ok" or r.time_limit is None or not points:
            return r
        shorter = [point for point in points if point[0] <= r.time_limit]
        trace = [(time, better(value for _, value in shorter[: k + 1]), None) for k, (time, _) in enumerate(shorter)]
        return replace(r, trace=tuple(trace))

    return Grid.of([with_ends(r) for r in report.grid.records])


def _curves(report: SuiteReport, grid: Grid) -> list[Curve]:
    """Return the curves of a grid from `_with_ends`; a program's curve begins at its shortest limit."""
    shown = []
    for curve in curves(grid, Resampling(grid.slots)):
        if curve.label in report.held:
            shortest = _shortest(report.grid.records, curve.label)
            keep = curve.x >= shortest * (1 - 1e-9)
            if keep.sum() < 2:
                keep[-2:] = True
            bands = [None if band is None else band[keep] for band in (curve.low, curve.high)]
            y = np.where(curve.x[keep] < shortest * (1 - 1e-9), curve.y[-1], curve.y[keep])
            curve = Curve(curve.label, curve.x[keep], y, *bands)
        shown.append(curve)
    return shown


def _shortest(records: Sequence[Record], label: str) -> float:
    return min((r.time_limit for r in records if r.solver == label and r.time_limit is not None), default=0.0)
