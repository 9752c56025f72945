"""Analysis: the results of one suite, computed from its Grid as plain values that templates and JSON can show."""

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
"""Shifts of the geometric means: of nodes as in H. Mittelmann's benchmarks; of seconds 1, as limits here are seconds."""


@dataclass(frozen=True)
class Row:
    """One solver at one limit. Gaps are relative (0.01 is 1 %), NaN is None."""

    solver: str
    limit: str
    runs: int
    """The number of planned runs that the solver did not refuse; shares are of these."""
    solved: int
    refused: int
    """The number of runs on instances that it does not accept; they are no failures, and excluded from all figures."""
    failures: dict[str, int]
    """Outcome -> number of runs."""
    gap: Estimate
    """Mean over the runs that found a solution."""
    middle: Estimate
    """Interquartile mean over the runs, failures counted as worst."""
    at_reference: float
    """Share of runs that reached the reference value."""
    best: int
    """The number of runs that no other solver beat at that limit, on the same instance and seed."""
    integral: Estimate
    """Mean of the primal integral over the time limit: the average primal gap while the clock ran."""
    proven: float | None
    """Mean gap to the run's own proven bound, over `proven_runs`."""
    proven_runs: int
    seconds: float | None
    """Shifted geometric mean of the runtime of the runs that found a solution."""
    slowest: float | None
    setup: float | None
    peak_bytes: float | None
    nodes: float | None
    derived: bool
    """Whether some values are from the traces of longer runs."""


@dataclass(frozen=True)
class Comparison:
    """Two solvers at one limit, on the planned runs (instance, seed) that neither refused."""

    a: str
    b: str
    limit: str
    instances: int
    pairs: int
    solved: int
    """Pairs that both solved; the difference is over these."""
    difference: Estimate
    """Mean of gap(a) - gap(b): below zero `a` is better."""
    wins: int
    ties: int
    losses: int
    failures: tuple[int, int]
    refused: tuple[int, int]
    """Runs that either solver refused: these pairs are excluded."""
    better: str
    """The significantly better solver, or ""."""
    verdict: str


@dataclass(frozen=True)
class InstanceRow:
    """One instance at the longest limit: the mean gap of every solver, and its reference."""

    instance: str
    size: float | None
    reference: float | None
    status: str
    source: str
    best: float | None
    bound: float | None
    gaps: tuple[float | None, ...]
    failed: tuple[int, ...]
    refused: tuple[bool, ...]
    """For each solver, whether it does not accept the instance."""
    leaders: tuple[bool, ...]


@dataclass(frozen=True)
class GroupRow:
    """A group of instances that the suite averages: every solver's mean gap at the longest limit."""

    group: str
    instances: int
    gaps: tuple[Estimate, ...]
    leaders: tuple[bool, ...]


def summary(grid: Grid, resampling: Resampling) -> list[Row]:
    """Return a row for every limit and solver that ran at it."""
    gaps, reached, integrals, best = grid.gaps(), grid.reached(), _integrals(grid), _best(grid)
    nodes = np.array([_number(r.facts.get("nodes")) for r in grid.records] + [None], float)[grid.record]
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
                    proven=_known(np.nanmean(proven)) if (~np.isnan(proven)).any() else None,
                    proven_runs=int((~np.isnan(proven)).sum()),
                    seconds=_known(shifted_geometric_mean(number["runtime"], SECONDS_SHIFT)),
                    slowest=_largest(number["runtime"]),
                    setup=_known(shifted_geometric_mean(number["setup_seconds"], SECONDS_SHIFT)),
                    peak_bytes=_largest(number["peak_bytes"]),
                    nodes=_known(shifted_geometric_mean(nodes[at, s][solved], NODES_SHIFT)),
                    derived=bool(grid.derived[at, s].any()),
                )
            )  # fmt: skip
    return rows


def compare(
    grid: Grid, resampling: Resampling, at: int, pairs: list[tuple[int, int]] | None = None, tolerance: float = TIE
) -> list[Comparison]:
    """Return the verdicts on pairs of solvers (indices into grid.solvers; default: all that ran) at limit number `at`."""
    if pairs is None:
        pairs = list(combinations(np.flatnonzero(grid.attempted[at]).tolist(), 2))
    if not pairs:
        return []
    a, b = np.array(pairs).T
    gaps, objective, refused = grid.gaps()[at], grid.numbers["objective"][at], grid.refused[at]
    failed = (grid.outcome[at] != 1) & ~refused
    differences = resampling.means(gaps[a] - gaps[b])
    found = []
    for one, two, difference in zip(a.tolist(), b.tolist(), differences):
        paired = grid.slots & ~refused[one] & ~refused[two]
        outcome = wins(objective[one], objective[two], grid.sense, tolerance)[paired]
        failures = int(failed[one][paired].sum()), int(failed[two][paired].sum())
        declined = int(refused[one][grid.slots].sum()), int(refused[two][grid.slots].sum())
        solved = ~(failed[one] | failed[two]) & paired
        names = grid.solvers[one], grid.solvers[two]
        if difference.low == difference.high:  # seeds without an effect are no samples
            difference = Estimate(difference.value)
        differs = np.abs(np.where(solved, gaps[one] - gaps[two], 0.0)) > TIE
        better, verdict = _verdict(*names, difference, *failures, int(differs.any(axis=1).sum()), int(solved.sum()))
        verdict = verdict + _without(*names, declined) if paired.any() else "no run that neither refused: nothing to compare"
        found.append(
            Comparison(
                *names, str(grid.limits[at]), int(solved.any(axis=1).sum()), int(paired.sum()), int(solved.sum()), difference,
                int((outcome > 0).sum()), int((outcome == 0).sum()), int((outcome < 0).sum()), failures, declined,
                better, verdict,
            )
        )  # fmt: skip
    return found


def _verdict(a: str, b: str, difference: Estimate, failed_a: int, failed_b: int, differing: int, solved: int) -> tuple[str, str]:
    """Return (the better solver or "", the verdict as a sentence).

    A solver is better if the interval of the difference excludes zero, the two differ on at least FEWEST instances, and it did
    not fail more often.

    Args:
        a, b: The names of the solvers.
        difference: gap(a) - gap(b).
        failed_a, failed_b: The number of failed runs of each.
        differing: The number of instances on which their gaps differ.
        solved: The number of pairs that both solved.
    """
    if not solved:
        return "", "no run that both solved: nothing to compare but the failures"
    if not differing:
        return "", "no difference shown"
    if differing < FEWEST:
        where = f"{differing} instance{'s' * (differing != 1)}"
        return "", f"too few runs for an interval: they differ on {where}, a verdict takes {FEWEST}"
    if difference.low is None:
        return "", f"too few runs for an interval ({solved} that both solved): no verdict"
    if not difference.excludes_zero:
        return "", "no difference shown"
    winner, loser = (a, b) if (difference.value or 0.0) < 0 else (b, a)
    more, fewer = (failed_a, failed_b) if winner == a else (failed_b, failed_a)
    if more > fewer:
        return "", f"no verdict: {winner} is better where both solved, but it failed {more} times, {loser} {fewer}"
    return winner, f"{winner} better than {loser}"


def _without(a: str, b: str, refused: tuple[int, int]) -> str:
    """Return the remark of a verdict about refused runs."""
    who = " and ".join(f"{count} by {name}" for name, count in zip((a, b), refused) if count)
    return f", without the runs refused ({who})" if who else ""


def instance_rows(grid: Grid) -> list[InstanceRow]:
    """Return a row for every instance: mean gaps at the longest limit."""
    gaps, objective, bound = grid.gaps()[-1], grid.numbers["objective"], grid.numbers["bound"]
    low, high = (np.nanmin, np.nanmax) if grid.sense == "min" else (np.nanmax, np.nanmin)
    sizes = {r.instance: _number(r.facts.get("size")) for r in grid.records if r.facts.get("size") is not None}
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
                name, sizes.get(name), _known(grid.reference[i]) if grid.referenced[i] else None,
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
    failed = (grid.outcome[-1] != 1) & grid.slots  # refusals count: a mean over part of a group is not compared
    rows = []
    for group, inside in members.items():
        estimates = Resampling(grid.slots[inside]).means(gaps[:, inside])
        means, lost = [e.value for e in estimates], failed[:, inside].sum(axis=(1, 2)).tolist()
        least = min((m for m, f in zip(means, lost) if m is not None and not f), default=None)
        rows.append(GroupRow(group or "others", len(inside), tuple(estimates), _leaders(means, least, lost)))
    return rows


def _leaders(means: Sequence[float | None], least: float | None, failed: Sequence[int]) -> tuple[bool, ...]:
    """Return for each mean whether it is the least one, up to TIE, of a solver that never failed."""
    return tuple(m is not None and least is not None and m <= least + TIE and not f for m, f in zip(means, failed))


def _integrals(grid: Grid) -> NDArray[np.float64]:
    """Return the primal integral divided by the time limit, [L, S, I, K]: 1 for failed runs, NaN for refused and untimed ones."""
    gaps, traces = grid.trace_gaps(), grid.traces
    found = np.full(grid.record.shape, np.nan)
    for at, limit in enumerate(grid.limits):
        if limit.seconds is None:
            continue
        whole = primal_integral(traces.time, gaps, traces.run, len(grid.records), limit.seconds)
        share = np.append(whole / limit.seconds, np.nan)[grid.record[at]]
        requested = grid.slots & grid.attempted[at][:, None, None] & ~grid.refused[at]
        found[at] = np.where(grid.outcome[at] == 1, share, np.where(requested, 1.0, np.nan))
    return found


def _best(grid: Grid) -> NDArray[np.bool_]:
    """Return bool [L, S, I, K]: runs that no other solver's run on the instance and seed beats at that limit."""
    objective = grid.numbers["objective"]
    signed = np.where(np.isnan(objective), np.inf, objective if grid.sense == "min" else -objective)
    best = signed.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(signed) & tied(signed, best))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _largest(values: NDArray[np.float64]) -> float | None:
    return None if np.isnan(values).all() else float(np.nanmax(values))
