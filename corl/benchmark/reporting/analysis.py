"""Analysis: the results of one suite, computed from its Grid (all runs as arrays), as plain values for the page and the JSON.

Arrays have the Grid's axes: limits L, solvers S, instances I, repetitions K (one for each seed of an instance).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from corl.benchmark.reporting.grid import OUTCOMES, Grid
from corl.benchmark.reporting.measures import primal_integral, proven_gap, shifted_geometric_mean, wins
from corl.statistics import FEWEST, Estimate, Resampling
from corl.tolerance import TIE, tied

__all__ = ["Comparison", "GroupRow", "InstanceRow", "Row", "compare", "group_rows", "instance_rows", "summary"]

NODES_SHIFT, SECONDS_SHIFT = 100.0, 1.0
"""Shifts of the shifted geometric means: 100 nodes, as in H. Mittelmann's benchmarks; 1 second, as limits here are seconds."""


@dataclass(frozen=True)
class Row:
    """One solver at one limit. Gaps are relative (0.01 is 1 %); unknown values are None."""

    solver: str
    limit: str
    runs: int
    """The number of planned runs that the solver did not refuse; all shares are relative to this number."""
    solved: int
    """The number of runs that found a solution."""
    refused: int
    """The number of runs on instances that the solver does not accept: not failures, and excluded from all other figures."""
    failures: dict[str, int]
    """Outcome of the runs without a solution -> their number."""
    gap: Estimate
    """Mean gap to the reference over the runs that found a solution."""
    middle: Estimate
    """Interquartile mean of the gaps of all runs; a failed run counts as the worst."""
    at_reference: float
    """Share of runs that reached the reference value."""
    best: int
    """The number of runs that no other solver beat at this limit, on the same instance and seed."""
    integral: Estimate
    """Mean of the primal integral over the time limit: the average primal gap while the clock ran."""
    proven: float | None
    """Mean gap between a run's objective value and its own proven bound."""
    proven_runs: int
    """The number of runs that `proven` is the mean of: those with a solution and a bound."""
    seconds: float | None
    """Shifted geometric mean of the runtimes of the runs that found a solution."""
    slowest: float | None
    """The longest of these runtimes, in seconds."""
    setup: float | None
    """Shifted geometric mean of the setup times of the same runs, in seconds."""
    peak_bytes: float | None
    """The largest peak memory of one of these runs."""
    nodes: float | None
    """Shifted geometric mean of the numbers of branch-and-bound nodes (the fact "nodes" of a record)."""
    derived: bool
    """Whether some values are read off the traces of runs with a longer limit."""


@dataclass(frozen=True)
class Comparison:
    """Two solvers at one limit, on the planned runs (instance, seed) that neither refused."""

    a: str
    b: str
    limit: str
    instances: int
    """The number of instances with a pair that both solved."""
    pairs: int
    """The number of these planned runs: each is a pair, one run of `a` and one of `b`."""
    solved: int
    """The number of pairs in which both found a solution."""
    difference: Estimate
    """Mean of gap(a) - gap(b) over the solved pairs: below zero `a` is better."""
    wins: int
    """The number of pairs in which `a` found the better objective value, or alone found a solution."""
    ties: int
    losses: int
    failures: tuple[int, int]
    """The numbers of pairs in which `a` and in which `b` failed."""
    refused: tuple[int, int]
    """The numbers of planned runs that `a` and that `b` refused; they are in no pair."""
    better: str
    """The significantly better solver, or ""."""
    verdict: str
    """The result as a sentence."""


@dataclass(frozen=True)
class InstanceRow:
    """One instance at the longest limit: its reference, and the mean gap of every solver. Tuples have one item per solver."""

    instance: str
    size: float | None
    reference: float | None
    status: str
    """The status of the reference, "proven" or "best known"."""
    source: str
    """The source of the reference."""
    best: float | None
    """The best objective value of any run, at any limit."""
    bound: float | None
    """The tightest bound that any run proved, at any limit."""
    gaps: tuple[float | None, ...]
    failed: tuple[int, ...]
    """The numbers of runs without a solution."""
    refused: tuple[bool, ...]
    """Whether the solver does not accept the instance."""
    leaders: tuple[bool, ...]
    """Whether the solver has the smallest mean gap of those that never failed."""


@dataclass(frozen=True)
class GroupRow:
    """A group of instances that the suite averages: every solver's mean gap at the longest limit. Tuples are per solver."""

    group: str
    instances: int
    gaps: tuple[Estimate, ...]
    leaders: tuple[bool, ...]
    """Whether the solver has the smallest mean gap of those that never failed."""


def summary(grid: Grid, resampling: Resampling) -> list[Row]:
    """Return a row for every limit and every solver that has runs at this limit."""
    gaps, reached, integrals, best = grid.gaps(), grid.reached(), _integrals(grid), _best(grid)
    nodes = np.array([_number_or_none(r.facts.get("nodes")) for r in grid.records] + [None], float)[grid.record]
    nodes[grid.derived] = np.nan
    proofs = proven_gap(grid.numbers["objective"], grid.numbers["bound"])
    rows = []
    for at, limit in enumerate(grid.limits):
        for s, solver in enumerate(grid.solvers):
            if not grid.attempted[at, s]:
                continue
            solved, refused = grid.outcome[at, s] == 1, grid.refused[at, s]
            runs = resampling.runs - int(refused.sum())
            counts = Counter(OUTCOMES[code] for code in grid.outcome[at, s][grid.slots & ~solved & ~refused].tolist())
            number = {name: values[at, s][solved] for name, values in grid.numbers.items()}
            proven = proofs[at, s][solved]
            rows.append(
                Row(
                    solver, str(limit), runs, int(solved.sum()), int(refused.sum()), dict(sorted(counts.items())),
                    gap=resampling.mean(gaps[at, s]),
                    middle=resampling.interquartile_mean(gaps[at, s], refused),
                    at_reference=float(reached[at, s].sum() / max(1, runs)),
                    best=int(best[at, s].sum()),
                    integral=resampling.mean(integrals[at, s]),
                    proven=_none_if_nan(np.nanmean(proven)) if (~np.isnan(proven)).any() else None,
                    proven_runs=int((~np.isnan(proven)).sum()),
                    seconds=_none_if_nan(shifted_geometric_mean(number["runtime"], SECONDS_SHIFT)),
                    slowest=_largest_or_none(number["runtime"]),
                    setup=_none_if_nan(shifted_geometric_mean(number["setup_seconds"], SECONDS_SHIFT)),
                    peak_bytes=_largest_or_none(number["peak_bytes"]),
                    nodes=_none_if_nan(shifted_geometric_mean(nodes[at, s][solved], NODES_SHIFT)),
                    derived=bool(grid.derived[at, s].any()),
                )
            )  # fmt: skip
    return rows


def compare(
    grid: Grid, resampling: Resampling, at: int, pairs: list[tuple[int, int]] | None = None, tolerance: float = TIE
) -> list[Comparison]:
    """Return the verdicts on pairs of solvers at one limit.

    Args:
        grid: The runs.
        resampling: The resamples of the grid's runs.
        at: The index of the limit in `grid.limits`.
        pairs: Indices into `grid.solvers`; None: all pairs of solvers that have runs at the limit.
        tolerance: The relative difference up to which two objective values are a tie.
    """
    if pairs is None:
        pairs = list(combinations(np.flatnonzero(grid.attempted[at]).tolist(), 2))
    if not pairs:
        return []
    a, b = np.array(pairs).T
    gaps, objective, refused = grid.gaps()[at], grid.numbers["objective"][at], grid.refused[at]
    failed = (grid.outcome[at] != 1) & ~refused
    differences = resampling.means(gaps[a] - gaps[b])
    found = []
    for first, second, difference in zip(a.tolist(), b.tolist(), differences):
        paired = grid.slots & ~refused[first] & ~refused[second]
        outcome = wins(objective[first], objective[second], grid.sense, tolerance)[paired]
        failures = int(failed[first][paired].sum()), int(failed[second][paired].sum())
        refusals = int(refused[first][grid.slots].sum()), int(refused[second][grid.slots].sum())
        solved = ~(failed[first] | failed[second]) & paired
        names = grid.solvers[first], grid.solvers[second]
        if difference.low == difference.high:  # no resample differs, so the seeds have no effect and are no samples
            difference = Estimate(difference.value)
        differs = np.abs(np.where(solved, gaps[first] - gaps[second], 0.0)) > TIE
        better, verdict = _verdict(*names, difference, *failures, int(differs.any(axis=1).sum()), int(solved.sum()))
        verdict = verdict + _refusals_note(*names, refusals) if paired.any() else "no run that both accepted: nothing to compare"
        found.append(
            Comparison(
                *names, str(grid.limits[at]), int(solved.any(axis=1).sum()), int(paired.sum()), int(solved.sum()), difference,
                int((outcome > 0).sum()), int((outcome == 0).sum()), int((outcome < 0).sum()), failures, refusals,
                better, verdict,
            )
        )  # fmt: skip
    return found


def _verdict(a: str, b: str, difference: Estimate, failed_a: int, failed_b: int, differing: int, solved: int) -> tuple[str, str]:
    """Return (the better solver or "", the verdict as a sentence).

    One solver is better if the interval of the difference excludes zero, the gaps differ on at least FEWEST instances, and the
    better solver did not fail more often.

    Args:
        a, b: The names of the solvers.
        difference: gap(a) - gap(b).
        failed_a, failed_b: The numbers of failed runs of `a` and of `b`.
        differing: The number of instances on which the two gaps differ.
        solved: The number of pairs (instance, seed) that both solved.
    """
    if not solved:
        return "", "no run that both solved: nothing to compare but the failures"
    if not differing:
        return "", "no difference shown"
    if differing < FEWEST:
        where = f"{differing} instance{'s' * (differing != 1)}"
        return "", f"too few runs for an interval: the gaps differ on {where}, a verdict needs {FEWEST}"
    if difference.low is None:
        return "", f"too few runs for an interval ({solved} that both solved): no verdict"
    if not difference.excludes_zero:
        return "", "no difference shown"
    winner, loser = (a, b) if (difference.value or 0.0) < 0 else (b, a)
    winner_fails, loser_fails = (failed_a, failed_b) if winner == a else (failed_b, failed_a)
    if winner_fails > loser_fails:
        return "", f"no verdict: {winner} is better where both solved, but it failed {winner_fails} times, {loser} {loser_fails}"
    return winner, f"{winner} better than {loser}"


def _refusals_note(a: str, b: str, refused: tuple[int, int]) -> str:
    """Return the end of a verdict's sentence that counts the refused runs of the solvers `a` and `b`; "" if there are none."""
    who = " and ".join(f"{count} by {name}" for name, count in zip((a, b), refused) if count)
    return f", without the runs refused ({who})" if who else ""


def instance_rows(grid: Grid) -> list[InstanceRow]:
    """Return a row for every instance: mean gaps at the longest limit."""
    gaps, objective, bound = grid.gaps()[-1], grid.numbers["objective"], grid.numbers["bound"]
    low, high = (np.nanmin, np.nanmax) if grid.sense == "min" else (np.nanmax, np.nanmin)
    sizes = {r.instance: _number_or_none(r.facts.get("size")) for r in grid.records if r.facts.get("size") is not None}
    refused = grid.refused[-1].any(axis=2)
    failed = ((grid.outcome[-1] != 1) & ~grid.refused[-1] & grid.slots & grid.attempted[-1][:, None, None]).sum(axis=2)
    rows = []
    for i, name in enumerate(grid.instances):
        known = ~np.isnan(gaps[:, i])
        means = [float(gaps[s, i][known[s]].mean()) if known[s].any() else None for s in range(len(grid.solvers))]
        least = min((m for m, f in zip(means, failed[:, i]) if m is not None and not f), default=None)
        objectives, proofs = objective[:, :, i], bound[:, :, i]
        rows.append(
            InstanceRow(
                name, sizes.get(name), _none_if_nan(grid.reference[i]) if grid.referenced[i] else None,
                grid.reference_status[i], grid.reference_source[i],
                best=float(low(objectives)) if not np.isnan(objectives).all() else None,
                bound=float(high(proofs)) if not np.isnan(proofs).all() else None,
                gaps=tuple(means), failed=tuple(failed[:, i].tolist()), refused=tuple(refused[:, i].tolist()),
                leaders=_leaders(means, least, failed[:, i].tolist()),
            )
        )  # fmt: skip
    return rows


def group_rows(grid: Grid, groups: Mapping[str, str]) -> list[GroupRow]:
    """Return a row for every group of instances (instance -> group), in order; none if there are fewer than two groups."""
    members: dict[str, list[int]] = {}
    for i, name in enumerate(grid.instances):
        members.setdefault(groups.get(name, ""), []).append(i)
    if len(members) < 2:
        return []
    gaps = grid.gaps()[-1]
    failed = (grid.outcome[-1] != 1) & grid.slots  # or refused: a mean over only a part of the group is not comparable
    rows = []
    for group, inside in members.items():
        estimates = Resampling(grid.slots[inside]).means(gaps[:, inside])
        means, failures = [e.value for e in estimates], failed[:, inside].sum(axis=(1, 2)).tolist()
        least = min((m for m, f in zip(means, failures) if m is not None and not f), default=None)
        rows.append(GroupRow(group or "others", len(inside), tuple(estimates), _leaders(means, least, failures)))
    return rows


def _leaders(means: Sequence[float | None], least: float | None, failed: Sequence[int]) -> tuple[bool, ...]:
    """Return for each solver whether it never failed and has the smallest mean of such solvers (`least`), up to TIE."""
    return tuple(m is not None and least is not None and m <= least + TIE and not f for m, f in zip(means, failed))


def _integrals(grid: Grid) -> NDArray[np.float64]:
    """Return the primal integrals divided by the time limit, float64 [L, S, I, K].

    A failed or missing run has 1; a refused run, and a run without a time limit, has NaN.
    """
    gaps, traces = grid.trace_gaps(), grid.traces
    found = np.full(grid.record.shape, np.nan)
    for at, limit in enumerate(grid.limits):
        if limit.seconds is None:
            continue
        integrals = primal_integral(traces.time, gaps, traces.run, len(grid.records), limit.seconds)
        share = np.append(integrals / limit.seconds, np.nan)[grid.record[at]]
        requested = grid.slots & grid.attempted[at][:, None, None] & ~grid.refused[at]
        found[at] = np.where(grid.outcome[at] == 1, share, np.where(requested, 1.0, np.nan))
    return found


def _best(grid: Grid) -> NDArray[np.bool_]:
    """Return bool [L, S, I, K]: runs that no run of another solver on the same instance and seed beats at the same limit."""
    objective = grid.numbers["objective"]
    signed = np.where(np.isnan(objective), np.inf, objective if grid.sense == "min" else -objective)
    best = signed.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(signed) & tied(signed, best))


def _number_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _largest_or_none(values: NDArray[np.float64]) -> float | None:
    return None if np.isnan(values).all() else float(np.nanmax(values))
