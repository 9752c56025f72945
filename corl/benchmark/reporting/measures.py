"""Measures of runs, as functions of NumPy arrays: gaps, the primal integral, shifted geometric means, performance profiles."""

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
    """Return the gap to the reference, relative to |reference|: 0.01 is one per cent worse, a negative gap is better.

    Ties are 0. If the reference is 0, any other objective value has the gap 1 or -1 (as in Berthold's primal gap).
    NaN if the objective value or the reference is unknown (NaN).
    """
    z, r = np.broadcast_arrays(np.asarray(objective, float), np.asarray(reference, float))
    worse = _worse_by(z, r, sense)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.where(r == 0, np.sign(worse), worse / np.abs(r))


def primal_gap(objective: ArrayLike, reference: ArrayLike, sense: str = "min") -> NDArray[np.float64]:
    """Return Berthold's primal gap, in 0..1 (T. Berthold, Measuring the impact of primal heuristics, 2013, section 2).

    |objective - reference| / max(|objective|, |reference|); 1 if the two signs differ or there is no objective (NaN). Unlike
    in Berthold's definition, the gap of a value better than the reference is 0.
    """
    z, r = np.broadcast_arrays(np.asarray(objective, float), np.asarray(reference, float))
    worse = _worse_by(z, r, sense)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        relative = np.where(z * r < 0, 1.0, worse / np.maximum(np.abs(z), np.abs(r)))
        return np.where(np.isnan(z), 1.0, np.where(worse <= 0, 0.0, relative))


def proven_gap(objective: ArrayLike, bound: ArrayLike) -> NDArray[np.float64]:
    """Return |objective - bound| / |objective|, as `Result.gap`: 0 if both are equal, otherwise NaN if the objective is 0.

    NaN if the objective or the bound is unknown (NaN).
    """
    z, b = np.broadcast_arrays(np.asarray(objective, float), np.asarray(bound, float))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.where(z == b, 0.0, np.where(z == 0, np.nan, np.abs(z - b) / np.abs(z)))


def primal_integral(
    times: NDArray[np.float64], gaps: NDArray[np.float64], runs: NDArray[np.integer], count: int, end: ArrayLike
) -> NDArray[np.float64]:
    """Return Berthold's primal integrals P(end) of many runs, in seconds, float64 [count] (2013, section 2.1).

    Args:
        times: float64 [points], in seconds, sorted by run and within a run by time.
        gaps: float64 [points], the primal gap from each of these times on; before a run's first point the gap is 1.
        runs: Integers [points], the run of each point, in 0..count - 1.
        count: The number of runs.
        end: The end of the integrals in seconds: one number, or one per run, float64 [count].
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
    """Return exp(mean(log(values + shift))) - shift over the values that are not NaN; NaN if there are none.

    The shift limits the influence of very small values (T. Achterberg, Constraint integer programming, 2007, appendix A).
    """
    known = np.asarray(values, float)
    known = known[~np.isnan(known)]
    return float(np.exp(np.mean(np.log(known + shift))) - shift) if len(known) else float("nan")


def performance_profile(
    costs: NDArray[np.float64], factors: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the profiles of E. Dolan and J. Moré (Benchmarking optimization software with performance profiles, 2002).

    A problem that no solver finished counts as failed for each of them.

    Args:
        costs: float64 [solvers, problems], above 0, inf if the solver failed.
        factors: float64 [points]; None: the factors at which a profile rises.

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
    """Return 1 if objective value `a` is better than `b`, -1 if it is worse, 0 for ties; NaN (a failure) is worst."""
    a_values, b_values = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    with np.errstate(invalid="ignore"):
        ties = tied(a_values, b_values, tolerance)
        better = np.where(a_values < b_values, 1, -1) if sense == "min" else np.where(a_values > b_values, 1, -1)
    verdict = np.where(ties, 0, better)
    verdict = np.where(np.isnan(b_values), 1, np.where(np.isnan(a_values), -1, verdict))
    return np.where(np.isnan(a_values) & np.isnan(b_values), 0, verdict).astype(np.int8)


def _worse_by(objective: NDArray[np.float64], reference: NDArray[np.float64], sense: str) -> NDArray[np.float64]:
    """Return by how much each objective value is worse than its reference; exactly 0 for ties."""
    with np.errstate(invalid="ignore"):
        worse = objective - reference if sense == "min" else reference - objective
        return np.where(tied(objective, reference), 0.0, worse)
