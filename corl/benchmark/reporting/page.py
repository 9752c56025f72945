"""The page: a report as one HTML file that needs no network, with sortable tables, for dark and light mode."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from corl.benchmark.reporting.analysis import NODES_SHIFT, SECONDS_SHIFT, Comparison
from corl.benchmark.reporting.charts import Axis, chart, percent_tick
from corl.benchmark.reporting.curves import Curve
from corl.benchmark.reporting.notes import described
from corl.benchmark.reporting.numbers import interval
from corl.benchmark.reporting.published import NOTE
from corl.benchmark.reporting.report import Report, SuiteReport
from corl.files.page import render
from corl.formatting import memory, percent, seconds, value

__all__ = ["FILTERS", "page", "suite_charts", "time_axes"]

FILTERS: Mapping[str, Callable[..., str]] = {
    "percent": percent, "seconds": seconds, "memory": memory, "value": value, "facts": described,
}  # fmt: skip
"""The filters of the template."""

_OPTIONAL_COLUMNS = ("proven", "nodes", "peak_bytes")  # fields of Row; a column is omitted if no row has a value


def page(report: Report, drawings: dict[str, list[tuple[str, str]]] | None = None) -> str:
    """Return the HTML of a report; `drawings`: suite -> [(caption, SVG)] of solutions, as from `drawings.solutions_of`."""
    values = {
        "store": report.store,
        "suites": [_suite(suite, (drawings or {}).get(suite.name, [])) for suite in report.suites],
        "learning": _learning_charts(report),
        "trainings": report.trainings,
        "runs": sum(suite.runs for suite in report.suites),
        "seconds_shift": SECONDS_SHIFT,
        "nodes_shift": NODES_SHIFT,
        "generated": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "interval": interval,
        "published_note": NOTE,
    }
    return render("corl.benchmark.reporting", values, FILTERS)


def _suite(suite: SuiteReport, drawings: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of a suite that the template needs besides the SuiteReport itself."""
    return {
        "report": suite,
        "charts": [{"title": t, "note": n, "limit": limit, "svg": chart(c, x, y, _colours(suite), t, steps=s)}
                   for t, n, limit, c, x, y, s in suite_charts(suite)],
        "matrices": {limit: _matrix(found) for limit, found in suite.comparisons.items() if found},
        "drawings": [(caption, Markup(svg)) for caption, svg in drawings],
        "colour": {solver: f"c{n % 8}" for solver, n in _colours(suite).items()},
        "columns": {name: any(getattr(row, name) is not None for row in suite.rows) for name in _OPTIONAL_COLUMNS},
    }  # fmt: skip


def suite_charts(suite: SuiteReport) -> list[tuple[str, str, str, list[Curve], Axis, Axis, bool]]:
    """Return (title, note, limit or "", curves, x axis, y axis, stepped) of every chart of a suite.

    A chart with a limit is only shown for this limit; `stepped` is the argument `steps` of `chart`.
    """
    found: list[tuple[str, str, str, list[Curve], Axis, Axis, bool]] = []
    if suite.curves:
        x, y = time_axes(suite.curves, suite.grid.limits[0].per)
        note = "Mean over all runs, 100 % before the first solution and for failed runs"
        note += f"; bands: 95 % over {suite.intervals}." if any(c.low is not None for c in suite.curves) else "."
        found.append(("Gap against time", note, "", suite.curves, x, y, False))
    for limit, profile in suite.gap_profiles.items():
        if not profile:
            continue
        edges = profile[0].x
        x = Axis("gap to the reference", float(edges[1]), float(edges[-1]), log=True, zero=True, text=percent_tick)
        note = f"Share of all runs whose gap at {limit} is at most x; failed runs count as larger."
        found.append((f"Runs within a gap, {limit}", note, limit, profile, x, Axis("share", 0, 1, text=percent_tick), True))
    if suite.size_curves:
        gaps, sizes = (np.concatenate([getattr(c, axis) for c in suite.size_curves]) for axis in ("y", "x"))
        low = _floor(gaps[gaps > 0])
        x = Axis("size", float(sizes.min()), float(sizes.max()), log=True, text="{:,.0f}".format)
        y = Axis("mean gap", low, max(float(gaps.max()), 10 * low), log=True, zero=True, text=percent_tick)
        note = f"Mean gap at {suite.limits[-1]}; a solver's line omits sizes at which it failed."
        found.append(("Gap against size", note, suite.limits[-1], suite.size_curves, x, y, False))
    if suite.time_profile:
        target = "the reference" if suite.target == 0 else f"a gap of {percent_tick(suite.target)}"
        x = Axis("times the fastest solver's time", 1.0, float(suite.time_profile[0].x[-1]), log=True, text="{:g}×".format)
        note = f"Performance profile (Dolan and Moré): share of runs that reach {target} within x times the time of "
        note += "the fastest on the same instance and seed. Times under 0.01 s count as 0.01 s."
        found.append((f"Time to {target}", note, "", suite.time_profile, x, Axis("share", 0, 1, text=percent_tick), True))
    return found


def time_axes(curves: Sequence[Curve], per: str) -> tuple[Axis, Axis]:
    """Return the axes of curves of gaps against time: seconds (by Limit.per), and the mean primal gap, both logarithmic."""
    gaps = np.concatenate([c.y for c in curves])
    low = _floor(gaps[gaps > 0])
    title = f"seconds / {per}" if per else "seconds"
    x = Axis(title, float(min(c.x[0] for c in curves)), float(max(c.x[-1] for c in curves)), log=True)
    return x, Axis("mean primal gap", low, max(float(gaps.max()), 10 * low), log=True, zero=True, text=percent_tick)


def _floor(positive: np.ndarray) -> float:
    """Return the low end of a logarithmic axis of gaps: the power of ten below the smallest, clipped to 1e-6 .. 1e-2."""
    smallest = float(positive.min()) if len(positive) else 1e-3
    return float(10 ** np.clip(np.floor(np.log10(smallest)), -6, -2))


def _colours(suite: SuiteReport) -> dict[str, int]:
    """Return solver -> the number of its colour."""
    return {solver: number for number, solver in enumerate(suite.solvers)}


def _matrix(found: Sequence[Comparison]) -> dict[str, Any]:
    """Return the names of the solvers, and (row, column) -> the texts of the cell that compares these two solvers."""
    names = list(dict.fromkeys(name for c in found for name in (c.a, c.b)))
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for c in found:
        gap = c.difference
        for row, column, sign in ((c.a, c.b, 1.0), (c.b, c.a, -1.0)):
            cells[row, column] = {
                "mean": _signed(gap.value, sign),
                "interval": "" if gap.low is None or gap.high is None else " to ".join(_signed(x, sign) for x in sorted(
                    (gap.low, gap.high), key=lambda x: sign * x)).replace(" %", "", 1),
                "record": f"{c.wins if sign > 0 else c.losses}–{c.ties}–{c.losses if sign > 0 else c.wins}",
                "kind": "better" if c.better == row else "worse" if c.better else "open",
                "verdict": c.verdict,
            }  # fmt: skip
    return {"names": names, "cells": cells}


def _signed(x: float | None, sign: float) -> str:
    """Return a gap times `sign` as text, with a plus sign if it is positive."""
    if x is None:
        return "–"
    text = percent(sign * x)
    return f"+{text}" if sign * x > 0 and not text.startswith("≈") else text


def _learning_charts(report: Report) -> list[dict[str, Any]]:
    charts = []
    for name, curves in report.learning.items():
        xs, ys = (np.concatenate([getattr(c, axis) for c in curves]) for axis in ("x", "y"))
        colours = {curve.label: number for number, curve in enumerate(curves)}
        x, y = (Axis(title, *_padded(v)) for title, v in (("step", xs), (name, ys)))
        charts.append({"title": name, "svg": chart(curves, x, y, colours, name)})
    return charts


def _padded(values: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis that shows the values; equal values get an interval around them."""
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - max(1.0, abs(low)) / 2, high + max(1.0, abs(high)) / 2)
