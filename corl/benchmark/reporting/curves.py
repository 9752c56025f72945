"""Curves: the data of the line charts of a Grid (the runs of a suite): gaps against time and size, and profiles.

Arrays have the Grid's axes: limits L, solvers S, instances I, repetitions K (one for each seed of an instance).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.benchmark.reporting.grid import Grid
from corl.benchmark.reporting.measures import performance_profile
from corl.statistics import Resampling
from corl.tolerance import ROUNDING

__all__ = ["Curve", "curves", "gap_profile", "seconds_to", "size_curves", "time_profile"]

_CURVE_POINTS = 64  # points in time of a curve
_SIZE_BINS = 8  # most points of a curve of gaps against size
_TARGETS = (0.0, 0.001, 0.01, 0.05, 0.2)  # candidate gaps of `time_profile`
_LEAST_SECONDS = 0.01  # shorter times count as this in profiles, as ratios of milliseconds only compare the clock's noise


@dataclass(frozen=True)
class Curve:
    """A line of a chart: one solver's mean gap against time or size, or its share of runs in a profile."""

    label: str
    x: NDArray[np.float64]
    """Float64 [points], ascending."""
    y: NDArray[np.float64]
    """Float64 [points]."""
    low: NDArray[np.float64] | None = None
    """Float64 [points], the lower end of the 95 % interval of `y`; None if there is no interval."""
    high: NDArray[np.float64] | None = None
    """Float64 [points], the upper end of the interval."""


def curves(grid: Grid, resampling: Resampling) -> list[Curve]:
    """Return every solver's mean primal gap against time, from the run with the longest limit on each instance and seed.

    The gap counts as 1 (100 %) before the first solution and throughout a failed run, so the area under the curve is the
    primal integral. A solver's curve excludes the instances that the solver refused.
    """
    longest, gaps = grid.longest(), grid.trace_gaps()
    ends = [max((_end(grid, n) for n in longest[s][longest[s] >= 0].tolist()), default=0.0) for s in range(len(grid.solvers))]
    firsts = grid.traces.time[grid.traces.start[:-1]] if len(grid.traces.start) > 1 else grid.traces.time
    if not max(ends, default=0.0) > 0 or not len(firsts):
        return []
    begin = min(max(float(np.quantile(firsts, 0.05)), 1e-3), max(ends) / 10)
    times = np.geomspace(begin, max(ends), _CURVE_POINTS)
    ok, refused = (np.array([r.outcome == kind for r in grid.records] + [False]) for kind in ("ok", "refused"))
    point_gaps = np.append(gaps, 1.0)  # the last item is for index -1
    found = []
    for s, solver in enumerate(grid.solvers):
        runs = longest[s]
        solver_times = times[: int(np.searchsorted(times, ends[s] * (1 + 1e-9), side="right"))]
        if not len(solver_times):
            continue
        place = _places(grid, runs, solver_times)
        values = np.where((place >= 0) & ok[runs][..., None], point_gaps[place], 1.0)
        values[~grid.slots | refused[runs]] = np.nan
        if np.isnan(values).all():
            continue
        estimates = resampling.means(np.moveaxis(values, 2, 0))
        y = np.array([e.value for e in estimates], float)
        low, high = (np.array([getattr(e, side) for e in estimates], float) for side in ("low", "high"))
        banded = not np.isnan(low).any()
        found.append(Curve(solver, solver_times, y, low if banded else None, high if banded else None))
    return found


def time_profile(grid: Grid) -> tuple[float, list[Curve]]:
    """Return a target gap, and Dolan and Moré's profiles of the time to reach this gap, from the runs with the longest limit.

    Failed runs never reach the target; a solver's profile excludes the instances that the solver refused. The target is the
    smallest of _TARGETS that some solver reaches in at least half of its runs.
    """
    longest, (target, costs) = grid.longest(), (_TARGETS[-1], np.zeros((0, 0)))
    for target in _TARGETS:
        costs = np.maximum(seconds_to(grid, target), _LEAST_SECONDS)[:, grid.slots]
        if np.isfinite(costs).mean(axis=1).max(initial=0.0) >= 0.5:
            break
    if not np.isfinite(costs).any():
        return target, []
    finished = costs[:, np.isfinite(costs).any(axis=0)]
    ratios = finished / finished.min(axis=0)
    top = max(10.0, float(ratios[np.isfinite(ratios)].max()))
    factors, shares = performance_profile(costs, np.geomspace(1.0, top, 128))
    refused = np.array([r.outcome == "refused" for r in grid.records] + [False])[longest][:, grid.slots]
    shares = shares * (costs.shape[1] / np.maximum(1, (~refused).sum(axis=1)))[:, None]
    return target, [Curve(solver, factors, share) for solver, share in zip(grid.solvers, shares)]


def seconds_to(grid: Grid, target: float) -> NDArray[np.float64]:
    """Return when each solver's run with the longest limit first had at most a gap, float64 [S, I, K] in seconds.

    inf for runs that never had it, that failed, or that are missing. `target`: a relative gap, such as 0.01 for 1 %.
    """
    reached = np.full(len(grid.records) + 1, np.inf)  # the last item is for index -1
    hit = grid.trace_gaps() <= max(target, ROUNDING)
    np.minimum.at(reached, grid.traces.run[hit], grid.traces.time[hit])
    reached[:-1][[r.outcome != "ok" for r in grid.records]] = np.inf
    return np.asarray(reached[grid.longest()])


def gap_profile(grid: Grid, at: int) -> list[Curve]:
    """Return each solver's share of runs with a gap of at most x, against x, at the limit with index `at`.

    Refused runs are excluded.
    """
    gaps = grid.gaps()[at]
    positive = gaps[gaps > 0]
    if not len(positive):
        return []
    low = 10 ** np.floor(np.log10(max(float(np.quantile(positive, 0.02)), 1e-6)))
    edges = np.append(0.0, np.geomspace(low, max(float(positive.max()), 10 * low), 127))
    found = []
    for s in np.flatnonzero(grid.attempted[at]).tolist():
        solver_gaps = np.where(np.isnan(gaps[s]), np.inf, gaps[s])[grid.slots & ~grid.refused[at, s]]
        if len(solver_gaps):
            found.append(
                Curve(grid.solvers[s], edges, np.searchsorted(np.sort(solver_gaps), edges, side="right") / len(solver_gaps))
            )
    return found


def size_curves(grid: Grid) -> list[Curve]:
    """Return every solver's mean gap at the longest limit against the instances' size (the record's fact "size").

    If there are more than _SIZE_BINS sizes, they are put into that many bins, equally wide on a logarithmic scale. A solver's
    curve omits the bins in which the solver failed. [] if there are fewer than three sizes, or the largest is less than twice
    the smallest.
    """
    size_of = {r.instance: float(r.facts["size"]) for r in grid.records if isinstance(r.facts.get("size"), (int, float))}
    sizes = np.array([size_of.get(name, 0.0) for name in grid.instances])
    if not len(sizes) or sizes.min() <= 0 or sizes.max() < 2 * sizes.min():
        return []
    distinct, bins = np.unique(sizes, return_inverse=True)
    if len(distinct) > _SIZE_BINS:
        edges = np.geomspace(sizes.min(), sizes.max() * (1 + 1e-9), _SIZE_BINS + 1)
        _, bins = np.unique(np.digitize(sizes, edges), return_inverse=True)
    if bins.max() < 2:
        return []
    middle = np.array([np.exp(np.log(sizes[bins == b]).mean()) for b in range(bins.max() + 1)])
    gaps, found = grid.gaps()[-1], []
    for s in np.flatnonzero(grid.attempted[-1]).tolist():
        parts = [gaps[s, bins == b][grid.slots[bins == b]] for b in range(len(middle))]
        means = np.array([np.nan if np.isnan(part).any() else part.mean() for part in parts])
        solved = ~np.isnan(means)
        if solved.sum() > 1:
            found.append(Curve(grid.solvers[s], middle[solved], means[solved]))
    return found


def _places(grid: Grid, runs: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each run and time the index of the latest point in `grid.traces` that is not later.

    Args:
        grid: The runs and their traces.
        runs: int64 [I, K], indices into `grid.records`, -1 if there is no run.
        times: float64 [times], seconds, ascending.

    Returns:
        int64 [I, K, times]; -1 before the run's first point.
    """
    traces = grid.traces
    span = 1.0 + max(float(traces.time.max(initial=0.0)), float(times[-1]))
    place = np.searchsorted(traces.run * span + traces.time, runs[..., None] * span + times, side="right") - 1
    return np.where((runs[..., None] >= 0) & (traces.run[place] == runs[..., None]), place, -1)


def _end(grid: Grid, number: int) -> float:
    """Return the time in seconds at which a record's curve ends: its time limit, otherwise its runtime."""
    record = grid.records[number]
    return float(record.time_limit if record.time_limit is not None else record.runtime or 0.0)
