"""Means and their intervals, against closed forms and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corl.statistics import Estimate, Resampling, interquartile_mean, resampled_mean, sample_mean

finite = st.floats(-1e6, 1e6)


# ---------------------------------------------------------------- interquartile mean
@given(st.lists(finite, min_size=1, max_size=12))
def test_interquartile_mean_is_trim_mean(values):
    """Of four copies of the values it is scipy's trimmed mean: nothing falls on a fraction."""
    found = interquartile_mean(np.repeat(values, 4))
    assert interquartile_mean(np.array(values)) == pytest.approx(found, rel=1e-9, abs=1e-6)
    from scipy import stats

    assert found == pytest.approx(stats.trim_mean(np.repeat(values, 4), 0.25), rel=1e-9, abs=1e-6)


def test_interquartile_mean_and_failures():
    """A quarter of failures leaves it finite; more do not; nothing at all is unknown."""
    slots = np.ones((8, 1), bool)
    values = np.arange(8.0).reshape(8, 1)
    values[7:] = np.nan
    values[6:] = np.nan
    assert Resampling(slots).interquartile_mean(values).value == pytest.approx(3.5)
    values[5:] = np.nan
    assert Resampling(slots).interquartile_mean(values).value == math.inf
    assert math.isnan(interquartile_mean(np.array([])))


# ---------------------------------------------------------------- the bootstrap
def test_weights_are_resamples():
    """Each resample draws as many instances as there are, and of each drawn one as many runs as it has."""
    slots = np.array([[True, True, True], [True, True, False], [True, False, False], [True, True, True], [True, True, True]])
    weights, rows = Resampling(slots).weights, np.repeat(np.arange(5), slots.sum(axis=1))
    drawn = np.array([weights[:, rows == i].sum(axis=1) / slots[i].sum() for i in range(5)])
    assert (drawn == np.round(drawn)).all() and (drawn.sum(axis=0) == 5).all() and drawn.max() > 1
    few = Resampling(slots[:2])
    assert not few.resampled_instances
    assert (few.weights[:, :3].sum(axis=1) == 3).all() and (few.weights[:, 3:].sum(axis=1) == 2).all()
    assert few.weights.mean(axis=0) == pytest.approx(np.ones(5), abs=0.1)


def test_bootstrap_variance_in_closed_form():
    """With the instances held fixed, the variance of a mean is that of the bootstrap: sum of within variances / runs."""
    values = np.random.default_rng(1).normal(size=(3, 12))
    resampling = Resampling(np.ones((3, 12), bool))
    drawn = resampling.weights @ values.ravel() / 36
    assert drawn.var() == pytest.approx(values.var(axis=1).mean() / 36, rel=0.1)
    assert drawn.mean() == pytest.approx(values.mean(), abs=0.02)


def test_permutations_change_nothing():
    """The order of instances and of runs within them moves an interval by no more than its Monte Carlo error."""
    random = np.random.default_rng(2)
    values = random.exponential(size=(20, 5))
    shuffled = random.permuted(values[random.permutation(20)], axis=1)
    resampling = Resampling(np.ones((20, 5), bool))
    for method in (resampling.mean, resampling.interquartile_mean):
        a, b = method(values), method(shuffled)
        near = 0.1 * (a.high - a.low)
        assert a.value == pytest.approx(b.value)
        assert a.low == pytest.approx(b.low, abs=near) and a.high == pytest.approx(b.high, abs=near)


def test_pairing_matters():
    """A small steady difference between solvers is shown on pairs although their own intervals overlap widely."""
    random = np.random.default_rng(3)
    hardness = random.normal(0, 1, (30, 1))
    a = hardness + random.normal(0, 0.01, (30, 3))
    b = hardness + 0.05 + random.normal(0, 0.01, (30, 3))
    resampling = Resampling(np.ones((30, 3), bool))
    alone, other, paired = resampling.means(np.stack([a, b, a - b]))
    assert alone.high > other.low and paired.excludes_zero and paired.high < 0
    unpaired = resampling.mean(a - b[random.permutation(30)])
    assert not unpaired.excludes_zero


def test_intervals_of_equal_values():
    """Equal values give an interval of no width; a difference of zero never excludes zero."""
    resampling = Resampling(np.ones((6, 2), bool))
    for constant in (0.0, 0.3, -2.0):
        found = resampling.mean(np.full((6, 2), constant))
        assert (found.value, found.low, found.high) == pytest.approx((constant,) * 3)
        assert found.excludes_zero == (constant != 0)
        assert resampling.interquartile_mean(np.full((6, 2), constant)).low == pytest.approx(constant)


def test_too_few_for_an_interval():
    """One run, one seed of few instances, all failed: a value at the most, no interval."""
    nan = math.nan
    assert Resampling(np.ones((1, 1), bool)).mean(np.array([[3.0]])).low is None
    assert Resampling(np.ones((4, 1), bool)).mean(np.arange(4.0)[:, None]).low is None
    assert Resampling(np.ones((1, 5), bool)).mean(np.arange(5.0)[None]).over == "seeds"
    assert Resampling(np.ones((5, 1), bool)).mean(np.arange(5.0)[:, None]).over == "instances"
    assert Resampling(np.ones((6, 2), bool)).mean(np.full((6, 2), nan)) == Estimate(None)
    mostly_lost = np.full((6, 2), nan)
    mostly_lost[:2] = 1.0
    found = Resampling(np.ones((6, 2), bool)).mean(mostly_lost)
    assert found.value == 1.0 and found.low is None
    empty = Resampling(np.ones((0, 0), bool))
    assert empty.mean(np.zeros((0, 0))).value is None and empty.interquartile_mean(np.zeros((0, 0))).value is None


def test_failures_drop_out_of_means():
    """A mean is that of the known values, in its resamples as well."""
    values = np.random.default_rng(4).normal(size=(10, 4))
    values[3, 1] = values[7] = math.nan
    found = Resampling(np.ones((10, 4), bool)).mean(values)
    assert found.value == pytest.approx(np.nanmean(values)) and found.low < found.value < found.high


def test_same_seed_same_interval():
    """Two reports of one store print the same numbers."""
    values = np.random.default_rng(5).normal(size=(10, 4))
    slots = np.ones((10, 4), bool)
    assert Resampling(slots).mean(values) == Resampling(slots).mean(values)


def test_a_sample_s_mean():
    """Student's interval as scipy has it; one value has none, no values have no mean."""
    values = np.random.default_rng(8).normal(size=7)
    found = sample_mean(values)
    from scipy import stats

    low, high = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.half == pytest.approx((high - low) / 2)
    assert sample_mean([3.0]) == Estimate(3.0) and math.isnan(sample_mean([3.0]).half) and sample_mean([]) == Estimate(None)


def test_a_resampled_mean_is_that_of_instances_with_one_run():
    """Its interval is near Student's where there are many values; fewer than five have none."""
    values = np.random.default_rng(9).normal(size=200)
    found, student = resampled_mean(values), sample_mean(values)
    assert found.value == pytest.approx(student.value) and found.half == pytest.approx(student.half, rel=0.1)
    assert resampled_mean(values[:4]).low is None and found.over == "instances"


def _coverage(instances: int, runs: int, between: float, within: float, interquartile: bool = False, trials: int = 300) -> float:
    """How often the interval holds the truth: 0 for instances like these, else the mean of these instances."""
    random, held = np.random.default_rng(6), 0
    for trial in range(trials):
        truth = random.normal(0, between, (instances, 1))
        values = truth + random.normal(0, within, (instances, runs))
        resampling = Resampling(np.ones((instances, runs), bool), seed=trial)
        found = resampling.interquartile_mean(values) if interquartile else resampling.mean(values)
        held += found.low <= (0.0 if resampling.resampled_instances else truth.mean()) <= found.high
    return held / trials


@pytest.mark.long
@pytest.mark.parametrize(
    ("instances", "runs", "between", "within", "interquartile"),
    [(5, 1, 1, 1, False), (10, 5, 1, 1, False), (30, 1, 1, 0, False), (30, 1, 1, 0, True), (1, 10, 0, 1, False),
     (3, 10, 1, 1, False), (10, 5, 1, 1, True), (20, 5, 1, 0.1, False)],
)  # fmt: skip
def test_coverage(instances, runs, between, within, interquartile):
    """A 95 % interval holds the truth in about 95 of 100 simulated benchmarks (never under 90, three standard errors aside)."""
    assert 0.90 <= _coverage(instances, runs, between, within, interquartile) <= 0.995


@pytest.mark.long
def test_no_verdict_from_noise():
    """Of two equal solvers one is called better in about 5 of 100 benchmarks."""
    random, calls, trials = np.random.default_rng(7), 0, 300
    for trial in range(trials):
        hardness = random.normal(0, 1, (12, 1))
        a, b = (hardness + random.exponential(0.2, (12, 3)) for _ in range(2))
        calls += Resampling(np.ones((12, 3), bool), seed=trial).mean(a - b).excludes_zero
    assert calls / trials <= 0.08
