"""Means with 95 % confidence intervals: Student's for a sample, a stratified bootstrap over instances and seeds for benchmarks.

R. Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, 2021: few runs of many tasks are
summarised by the interquartile mean, with an interval from resampling the runs within each task (the stratum; here, the
instance). If there are at least FEWEST instances, the instances are resampled, too: the interval then also holds for similar
instances, otherwise only for the given ones. All estimates of a `Resampling` use the same resamples, so that solvers are compared
on the same instances and seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FEWEST", "Estimate", "Resampling", "interquartile_mean", "resampled_mean", "sample_mean"]

FEWEST = 5
"""The least number of instances (or of runs, if only runs are resampled) for which an interval is reported."""

_RESAMPLES = 2000  # as in Agarwal et al.
_MAX_WEIGHTS = 10_000_000  # the most weights (resamples x runs) in memory, 80 MB: with over 5,000 runs, fewer resamples


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % confidence interval."""

    value: float | None
    """The value; None if it is unknown."""
    low: float | None = None
    """The lower end of the interval; None if there is no interval."""
    high: float | None = None
    """The upper end of the interval; None if there is no interval."""
    over: str = ""
    """What was resampled, such as "instances and seeds"; "" if there is no interval."""

    @property
    def half(self) -> float:
        """Half the interval's length; NaN if there is no interval."""
        return math.nan if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval is on one side of zero; False if there is no interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Resampling:
    """The resamples of a benchmark's runs.

    The methods take values [instances, runs], with NaN for failed or missing runs. NaN is excluded from means, and counts as +inf
    (the worst) in interquartile means. `weights`, float64 [resamples, requested runs], is the number of times that each run is in
    a resample.
    """

    def __init__(self, requested: NDArray[np.bool_], seed: int = 0) -> None:
        """Draw the resamples. `requested`: bool [instances, runs], True for each requested run."""
        self.requested = requested
        runs = requested.sum(axis=1)
        present = runs > 0
        self.instances, self.runs = int(present.sum()), int(runs.sum())
        self.varies = bool((runs > 1).any())  # whether some instance has several runs
        self.resampled_instances = self.instances >= FEWEST
        self.over = self._over()
        count = max(100, min(_RESAMPLES, _MAX_WEIGHTS // max(1, self.runs)))
        self.weights = _weights(runs[present], self.resampled_instances, count, np.random.default_rng(seed))

    def _over(self) -> str:
        """Return what is resampled, in words (see Estimate)."""
        if self.resampled_instances:
            return "instances and seeds" if self.varies else "instances"
        return "seeds" if self.varies else ""

    def mean(self, values: NDArray[np.float64]) -> Estimate:
        """Return the mean of the values that are not NaN, with its interval."""
        return self.means(values[None])[0]

    def means(self, values: NDArray[np.float64]) -> list[Estimate]:
        """Return `mean` of each of many tables of values, float64 [tables, instances, runs]."""
        flat = values[:, self.requested]
        known = ~np.isnan(flat)
        total, count = np.where(known, flat, 0.0), known.astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = total.sum(axis=1) / count.sum(axis=1)
            resampled = (self.weights @ total.T) / (self.weights @ count.T)
        return [self._estimate(*each) for each in zip(means, resampled.T, known)]

    def ratio(self, values: NDArray[np.float64], to: NDArray[np.float64]) -> Estimate:
        """Return the mean of `values` divided by the mean of `to`, runs of the same instances and seeds, with its interval.

        Pairs with a NaN are excluded. The value is None if there are none, or if the mean of `to` is 0.
        """
        above, below = values[self.requested], to[self.requested]
        known = ~np.isnan(above) & ~np.isnan(below)
        above, below = np.where(known, above, 0.0), np.where(known, below, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = above.sum() / below.sum() if below.sum() else math.nan
            return self._estimate(ratio, (self.weights @ above) / (self.weights @ below), known)

    def interquartile_mean(self, values: NDArray[np.float64], excluded: NDArray[np.bool_] | None = None) -> Estimate:
        """Return the interquartile mean, with its interval. NaN counts as +inf, the worst.

        Runs marked in `excluded`, bool [instances, runs], are not counted.
        """
        flat = np.where(np.isnan(values), np.inf, values)[self.requested]
        counted = np.ones(len(flat), bool) if excluded is None else ~excluded[self.requested]
        if not counted.any():
            return Estimate(None)
        order = np.argsort(flat, kind="stable")
        order = order[counted[order]]
        resampled = _middle_mean(flat[order], self.weights[:, order])
        return self._estimate(interquartile_mean(flat[order]), resampled, np.isfinite(flat) & counted)

    def _estimate(self, from_runs: float, resampled: NDArray[np.float64], known: NDArray[np.bool_]) -> Estimate:
        """Return a value with the percentile interval of its resamples, expanded as in `_tail`.

        Args:
            from_runs: The value computed from the runs themselves; NaN if there is none.
            resampled: float64 [resamples], the values computed from the resamples.
            known: bool [requested runs], the runs that count.
        """
        value = None if math.isnan(from_runs) else float(from_runs)
        tail = self._tail(known)
        if value is None or tail is None:
            return Estimate(value)
        ordered = np.sort(resampled[~np.isnan(resampled)])
        low, high = (float(_quantile(ordered, q)) for q in (tail, 1 - tail))
        return Estimate(value, low, high, self.over)

    def _tail(self, known: NDArray[np.bool_]) -> float | None:
        """Return the share of resamples outside the interval on either side; None if too few runs are known for an interval.

        The percentile interval of n resampled units (instances or runs) is too narrow, by the factor sqrt((n - 1) / n) and by the
        ratio of the normal quantile to Student's. The percentiles are moved outwards accordingly (T. Hesterberg, What teachers
        should know about the bootstrap, 2015, section 4.3).
        """
        rows = np.flatnonzero(self.requested.any(axis=1)).repeat(self.requested.sum(axis=1)[self.requested.any(axis=1)])
        per_instance = np.bincount(rows[known], minlength=1)
        per_instance = per_instance[per_instance > 0]
        if self.resampled_instances:
            units = len(per_instance)
            freedom, variance_ratio = units - 1, (units - 1) / max(1, units)
        else:
            freedom = int((per_instance - 1).sum())
            variance_ratio = freedom / max(1, int(per_instance.sum()))
        if freedom < FEWEST - 1:
            return None
        return NormalDist().cdf(-_student(freedom) / math.sqrt(variance_ratio))


def sample_mean(values: ArrayLike) -> Estimate:
    """Return the mean of independent values, with Student's interval if there are at least two values."""
    sample = np.ravel(values)
    mean = math.fsum(sample) / len(sample) if len(sample) else None
    if mean is None or len(sample) < 2:
        return Estimate(mean)
    half = _student(len(sample) - 1) * float(np.std(sample, ddof=1)) / math.sqrt(len(sample))
    return Estimate(mean, mean - half, mean + half, "values")


def resampled_mean(values: ArrayLike) -> Estimate:
    """Return the mean over instances, with one value each, and the interval of a `Resampling` (none for fewer than FEWEST)."""
    column = np.asarray(values, np.float64).reshape(-1, 1)
    return Resampling(np.ones(column.shape, bool)).mean(column)


def interquartile_mean(values: NDArray[np.float64]) -> float:
    """Return the mean of the middle half of the values; NaN if there are no values.

    Values at the ends of the middle half count with the fraction that lies in it. If the number of values is a multiple of four,
    the result equals scipy's `trim_mean(values, 0.25)`.
    """
    ordered = np.sort(np.ravel(values))
    return float(_middle_mean(ordered, np.ones((1, len(ordered))))[0]) if len(ordered) else math.nan


def _middle_mean(ordered: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the interquartile means, float64 [resamples], of `ordered` [n], ascending values, with `weights` [resamples, n]."""
    cumulative = np.cumsum(weights, axis=1)
    total = cumulative[:, -1:].copy()
    np.clip(cumulative, total / 4, 3 * total / 4, out=cumulative)
    middle = np.diff(cumulative, axis=1, prepend=total / 4)  # the part of each value's weight that lies in the middle half
    finite = np.isfinite(ordered)
    infinite = middle[:, ~finite].sum(axis=1) > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = middle[:, finite] @ ordered[finite] / (total[:, 0] / 2)
    means[infinite] = np.inf
    return means


def _weights(runs: NDArray[np.integer], instances_too: bool, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return how many times each run is in each of `count` resamples, float64 [count, sum of `runs`].

    `runs`, int [instances], is the number of runs of each instance; `instances_too` says whether instances are resampled.
    """
    instances, total = len(runs), int(runs.sum())
    weights = np.empty((count, total))
    if not total:
        return weights
    start, max_runs = np.cumsum(runs) - runs, int(runs.max())
    step = max(1, 2_000_000 // (instances * max_runs))  # resamples at a time, to limit memory
    for low in range(0, count, step):
        size = min(step, count - low)
        if instances_too:
            which = random.integers(0, instances, (size, instances))
        else:
            which = np.broadcast_to(np.arange(instances), (size, instances))
        drawn = start[which][..., None] + (random.random((size, instances, max_runs)) * runs[which][..., None]).astype(np.int64)
        drawn += np.arange(size)[:, None, None] * total
        is_used = np.arange(max_runs) < runs[which][..., None]  # an instance with fewer runs has fewer draws
        weights[low : low + size] = np.bincount(drawn[is_used], minlength=size * total).reshape(size, total)
    return weights


def _student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t with this many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def _quantile(ordered: NDArray[np.float64], share: float) -> float:
    """Return the quantile of sorted values by linear interpolation; values may be infinite."""
    if not len(ordered):
        return math.nan
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return float(low if low == high else low + (high - low) * (place - math.floor(place)))
