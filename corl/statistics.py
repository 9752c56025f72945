"""Means with intervals: Student's for a sample, the stratified bootstrap over instances and seeds for a benchmark.

R. Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, 2021: few runs of many tasks are
summarised by the interquartile mean with an interval from resampling the runs within each task (the stratum; here, the
instance). If there are at least FEWEST instances they are resampled too, so that the interval applies to similar
instances; otherwise it applies to these alone. All estimates of a `Resampling` use one set of resamples: values are compared
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
"""The least number of instances (or of runs, if the instances are fixed) for which an interval has the stated coverage."""

_RESAMPLES = 2000  # as in Agarwal et al.
_LARGEST = 10_000_000  # the most weights in memory (80 MB); for more than 5,000 runs there are fewer resamples


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; None if unknown. `over`: the source of the variation, "" if there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    over: str = ""

    @property
    def half(self) -> float:
        """Half the interval's length; NaN if there is no interval."""
        return math.nan if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval is on one side of zero; False if there is no interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Resampling:
    """Resampled weights of the runs of `slots`, bool [instances, runs]: True for each requested run.

    weights: float64 [resamples, requested runs], the number of times that each run is in a resample. The methods take values
    [instances, runs] with NaN for failed or missing runs; these are excluded from means and count as +inf in interquartile means.
    """

    def __init__(self, slots: NDArray[np.bool_], seed: int = 0) -> None:
        self.slots = slots
        runs = slots.sum(axis=1)
        present = runs > 0
        self.instances, self.runs = int(present.sum()), int(runs.sum())
        self.varies = bool((runs > 1).any())
        self.resampled_instances = self.instances >= FEWEST
        self.over = self._over()
        count = max(100, min(_RESAMPLES, _LARGEST // max(1, self.runs)))
        self.weights = _weights(runs[present], self.resampled_instances, count, np.random.default_rng(seed))

    def _over(self) -> str:
        if self.resampled_instances:
            return "instances and seeds" if self.varies else "instances"
        return "seeds" if self.varies else ""

    def mean(self, values: NDArray[np.float64]) -> Estimate:
        """Return the mean of the known values, with its interval."""
        return self.means(values[None])[0]

    def means(self, values: NDArray[np.float64]) -> list[Estimate]:
        """Return the means of many tables of values, float64 [tables, instances, runs]."""
        flat = values[:, self.slots]
        known = ~np.isnan(flat)
        total, count = np.where(known, flat, 0.0), known.astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = total.sum(axis=1) / count.sum(axis=1)
            drawn = (self.weights @ total.T) / (self.weights @ count.T)
        return [self._estimate(*each) for each in zip(centre, drawn.T, known)]

    def interquartile_mean(self, values: NDArray[np.float64], excluded: NDArray[np.bool_] | None = None) -> Estimate:
        """Return the interquartile mean, a NaN counted as worst (+inf), with its interval; without the runs `left_out`."""
        flat = np.where(np.isnan(values), np.inf, values)[self.slots]
        counted = np.ones(len(flat), bool) if excluded is None else ~excluded[self.slots]
        if not counted.any():
            return Estimate(None)
        order = np.argsort(flat, kind="stable")
        order = order[counted[order]]
        drawn = _middle_mean(flat[order], self.weights[:, order])
        return self._estimate(interquartile_mean(flat[order]), drawn, np.isfinite(flat) & counted)

    def _estimate(self, centre: float, drawn: NDArray[np.float64], known: NDArray[np.bool_]) -> Estimate:
        """Return a value with the expanded percentile interval of its resamples (`_tail`)."""
        value = None if math.isnan(centre) else float(centre)
        tail = self._tail(known)
        if value is None or tail is None:
            return Estimate(value)
        drawn = np.sort(drawn[~np.isnan(drawn)])
        low, high = (float(_quantile(drawn, q)) for q in (tail, 1 - tail))
        return Estimate(value, low, high, self.over)

    def _tail(self, known: NDArray[np.bool_]) -> float | None:
        """Return the share of resamples to cut off on either side; None if there are too few known runs for an interval.

        A bootstrap of n units is too narrow by sqrt((n - 1) / n) and by Student's t against the normal; the percentiles
        are moved out accordingly (T. Hesterberg, What teachers should know about the bootstrap, 2015, section 4.3).
        """
        rows = np.flatnonzero(self.slots.any(axis=1)).repeat(self.slots.sum(axis=1)[self.slots.any(axis=1)])
        per_instance = np.bincount(rows[known], minlength=1)
        per_instance = per_instance[per_instance > 0]
        if self.resampled_instances:
            units = len(per_instance)
            freedom, share = units - 1, (units - 1) / max(1, units)
        else:
            freedom = int((per_instance - 1).sum())
            share = freedom / max(1, int(per_instance.sum()))
        if freedom < FEWEST - 1:
            return None
        return NormalDist().cdf(-_student(freedom) / math.sqrt(share))


def sample_mean(values: ArrayLike) -> Estimate:
    """Return the mean of independent values with Student's interval; fewer than two values have no interval."""
    sample = np.ravel(values)
    mean = math.fsum(sample) / len(sample) if len(sample) else None
    if mean is None or len(sample) < 2:
        return Estimate(mean)
    half = _student(len(sample) - 1) * float(np.std(sample, ddof=1)) / math.sqrt(len(sample))
    return Estimate(mean, mean - half, mean + half, "values")


def resampled_mean(values: ArrayLike) -> Estimate:
    """Return the mean over instances, one value each, with the interval of a `Resampling`; fewer than FEWEST have no interval."""
    column = np.asarray(values, np.float64).reshape(-1, 1)
    return Resampling(np.ones(column.shape, bool)).mean(column)


def interquartile_mean(values: NDArray[np.float64]) -> float:
    """Return the mean of the middle half of the values, counting fractions of the values at its ends; NaN if there are none.

    If the number of values is a multiple of four it equals scipy's `trim_mean(values, 0.25)`.
    """
    ordered = np.sort(np.ravel(values))
    return float(_middle_mean(ordered, np.ones((1, len(ordered))))[0]) if len(ordered) else math.nan


def _middle_mean(ordered: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the interquartile means [resamples] of weighted values: ordered [n] ascending, weights [resamples, n]."""
    cumulative = np.cumsum(weights, axis=1)
    total = cumulative[:, -1:].copy()
    np.clip(cumulative, total / 4, 3 * total / 4, out=cumulative)
    middle = np.diff(cumulative, axis=1, prepend=total / 4)
    finite = np.isfinite(ordered)
    infinite = middle[:, ~finite].sum(axis=1) > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = middle[:, finite] @ ordered[finite] / (total[:, 0] / 2)
    means[infinite] = np.inf
    return means


def _weights(runs: NDArray[np.integer], instances_too: bool, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return how many times each run is drawn, float64 [count, sum of runs]; `runs` [instances] counts those of each instance."""
    instances, total = len(runs), int(runs.sum())
    weights = np.empty((count, total))
    if not total:
        return weights
    start, most = np.cumsum(runs) - runs, int(runs.max())
    step = max(1, 2_000_000 // (instances * most))  # draws at a time: memory
    for low in range(0, count, step):
        size = min(step, count - low)
        if instances_too:
            which = random.integers(0, instances, (size, instances))
        else:
            which = np.broadcast_to(np.arange(instances), (size, instances))
        drawn = start[which][..., None] + (random.random((size, instances, most)) * runs[which][..., None]).astype(np.int64)
        drawn += np.arange(size)[:, None, None] * total
        within = np.arange(most) < runs[which][..., None]
        weights[low : low + size] = np.bincount(drawn[within], minlength=size * total).reshape(size, total)
    return weights


def _student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def _quantile(ordered: NDArray[np.float64], share: float) -> float:
    """Return the quantile of sorted values by linear interpolation; infinities allowed."""
    if not len(ordered):
        return math.nan
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return float(low if low == high else low + (high - low) * (place - math.floor(place)))
