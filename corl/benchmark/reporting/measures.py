"""Measures of runs: gaps, the primal integral, shifted geometric means, performance profiles. On NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.tolerance import TIE, tied

__all__ = [
    "gap",
    "performance_profile",
    "primal_gap",
    "primal_integral",
    "proven_gap",
    "shifted_geometric_mean",
    "wins",
]


def gap(objective: ArrayLike, reference: ArrayLike, sense: str = "min") -> NDArray[np.float64]:
    """Return the gap to the reference, relative to |reference|: 0.01 is one per cent worse; negative values are better than it.

    Ties are 0. Against a reference of 0 any other value counts as 1 or -1 (as in Berthold's primal gap).
    NaN if either is unknown.
    """
    z, r = np.broadcast_arrays(np.asarray(objective, float), np.asarray(reference, float))
    worse = _worse_by(z, r, sense)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.where(r == 0, np.sign(worse), worse / np.abs(r))


def primal_gap(objective: ArrayLike, reference: ArrayLike, sense: str = "min") -> NDArray[np.float64]:
    """Return Berthold's primal gap, in 0..1 (T. Berthold, Measuring the impact of primal heuristics, 2013, section 2).

    |objective - reference| / max(|objective|, |reference|); 1 if their signs differ or there is no objective (NaN). Unlike
    Berthold's, the gap of a value better than the reference is 0.
    """
    z, r = np.broadcast_arrays(np.asarray(objective, float), np.asarray(reference, float))
    worse = _worse_by(z, r, sense)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        relative = np.where(z * r < 0, 1.0, worse / np.maximum(np.abs(z), np.abs(r)))
        return np.where(np.isnan(z), 1.0, np.where(worse <= 0, 0.0, relative))


def proven_gap(objective: ArrayLike, bound: ArrayLike) -> NDArray[np.float64]:
    """Return |objective - bound| / |objective| as `Result.gap`: 0 if they are equal, NaN if unknown or the objective is 0."""
    z, b = np.broadcast_arrays(np.asarray(objective, float), np.asarray(bound, float))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.where(z == b, 0.0, np.where(z == 0, np.nan, np.abs(z - b) / np.abs(z)))


def primal_integral(
    times: NDArray[np.float64], gaps: NDArray[np.float64], runs: NDArray[np.integer], count: int, end: ArrayLike
) -> NDArray[np.float64]:
    """Return Berthold's primal integrals P(end) of many runs, in seconds, float64 [count] (2013, section 2.1).

    Args:
        times: float64 [points], in seconds, sorted by run and within a run by time.
        gaps: float64 [points], the primal gap from that time on; before a run's first point it is 1.
        runs: Integers [points], the run of each point, in 0..count - 1.
        count: The number of runs.
        end: Seconds, one or [count].
    """
    end = np.broadcast_to(np.asarray(end, float), count)
    if not len(times):
        return end.copy()
    last = np.append(runs[1:] != runs[:-1], True)
    first = np.append(True, last[:-1])
    begun = np.minimum(times, end[runs])
    until = np.where(last, end[runs], np.minimum(np.append(times[1:], 0.0), end[runs]))
    weighted = gaps * (until - begun) + np.where(first, begun, 0.0)
    total = np.bincount(runs, weights=weighted, minlength=count)
    total[np.bincount(runs, minlength=count) == 0] = np.nan
    return np.where(np.isnan(total), end, total)


def shifted_geometric_mean(values: ArrayLike, shift: float) -> float:
    """Return exp(mean(log(values + shift))) - shift over the known values; NaN if there are none.

    The shift keeps very small values from deciding the mean (T. Achterberg, Constraint integer programming, 2007, appendix A).
    """
    known = np.asarray(values, float)
    known = known[~np.isnan(known)]
    return float(np.exp(np.mean(np.log(known + shift))) - shift) if len(known) else float("nan")


def performance_profile(
    costs: NDArray[np.float64], factors: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the profiles of E. Dolan and J. Moré (Benchmarking optimization software with performance profiles, 2002).

    A problem that no solver finished counts against all of them.

    Args:
        costs: float64 [solvers, problems], above 0, inf if the solver failed.
        factors: float64 [points]; None: those at which a profile steps.

    Returns:
        The factors tau [points], and rho [solvers, points]: the share of all problems that the solver finished at a cost of at
        most tau times the best solver's.
    """
    best = costs.min(axis=0)
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isfinite(costs), costs / best, np.inf)
    if factors is None:
        factors = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    ordered = np.sort(ratios, axis=1)
    reached = np.array([np.searchsorted(row, factors * (1 + 1e-12), side="right") for row in ordered], float)
    return factors, reached.reshape(len(costs), len(factors)) / max(1, costs.shape[1])


def wins(a: ArrayLike, b: ArrayLike, sense: str = "min", tolerance: float = TIE) -> NDArray[np.int8]:
    """Return 1 if objective value `a` is better than `b`, -1 if it is worse, 0 for ties. NaN (a failure) loses to any value."""
    x, y = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    with np.errstate(invalid="ignore"):
        same = tied(x, y, tolerance)
        better = np.where(x < y, 1, -1) if sense == "min" else np.where(x > y, 1, -1)
    verdict = np.where(same, 0, better)
    verdict = np.where(np.isnan(y), 1, np.where(np.isnan(x), -1, verdict))
    return np.where(np.isnan(x) & np.isnan(y), 0, verdict).astype(np.int8)


def _worse_by(z: NDArray[np.float64], r: NDArray[np.float64], sense: str) -> NDArray[np.float64]:
    """Return by how much `z` is worse than `r`; exactly 0 for ties."""
    with np.errstate(invalid="ignore"):
        worse = z - r if sense == "min" else r - z
        return np.where(tied(z, r), 0.0, worse)
