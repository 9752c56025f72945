"""Measures of the benchmark, against closed forms and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corl.benchmark.reporting.measures import (
    gap,
    performance_profile,
    primal_gap,
    primal_integral,
    proven_gap,
    shifted_geometric_mean,
    wins,
)
from corl.tolerance import tied

finite = st.floats(-1e6, 1e6)


def test_gap_by_sense():
    """A gap is positive where the objective is worse, whatever the sense and the sign of the reference."""
    assert gap([110, 100, 90], 100).tolist() == pytest.approx([0.1, 0, -0.1])
    assert gap([110, 100, 90], 100, "max").tolist() == pytest.approx([-0.1, 0, 0.1])
    assert gap([-90, -110], -100).tolist() == pytest.approx([0.1, -0.1])
    assert gap([-90, -110], -100, "max").tolist() == pytest.approx([-0.1, 0.1])


def test_gap_degenerate():
    """Ties (within a billionth) are exactly 0; against a reference of 0 every other value counts as 1; unknown stays unknown."""
    assert gap([100 + 1e-8, 100 + 1e-5], 100)[0] == 0 < gap([100 + 1e-5], 100)[0]
    assert gap([0, 5, -5], 0).tolist() == [0, 1, -1]
    assert gap([0, 5, -5], 0, "max").tolist() == [0, -1, 1]
    assert np.isnan(gap([np.nan, 1], [1, np.nan])).all()


@given(finite, finite)
def test_gap_turns_with_the_sense(objective, reference):
    """To maximise f is to minimise -f."""
    assert gap(objective, reference, "max") == gap(-objective, -reference, "min")
    assert primal_gap(objective, reference, "max") == primal_gap(-objective, -reference, "min")


@given(finite, finite)
def test_primal_gap_is_berthold_s(objective, reference):
    """In 0..1, 1 across signs, and Berthold's formula where the reference is not beaten."""
    found = float(primal_gap(objective, reference))
    assert 0 <= found <= 1
    if objective > reference + 1e-6 * abs(reference) and not tied(objective, reference):
        expected = 1 if objective * reference < 0 else (objective - reference) / max(abs(objective), abs(reference))
        assert found == pytest.approx(expected, abs=1e-8)
    if objective <= reference:
        assert found == 0
    assert primal_gap(math.nan, reference) == 1


def test_proven_gap():
    """As Result.gap: relative to the objective, 0 where bound and objective agree, unknown at an objective of 0."""
    assert proven_gap([10, 0, -10], [9, 0, -12]).tolist() == pytest.approx([0.1, 0, 0.2])
    assert np.isnan(proven_gap([0, np.nan, 1], [1, 1, np.nan])).all()


@given(st.lists(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 1)), max_size=6), min_size=1, max_size=4), st.floats(0.1, 15))
def test_primal_integral_by_brute_force(runs, end):
    """The vectorised integral equals the sum of rectangles run by run, also where points lie beyond the end."""
    runs = [sorted(points, key=lambda point: point[0]) for points in runs]
    flat = [(r, t, g) for r, points in enumerate(runs) for t, g in points]
    of, times, gaps = (np.array([row[k] for row in flat], kind) for k, kind in ((0, int), (1, float), (2, float)))
    found = primal_integral(times, gaps, of, len(runs), end)
    for r, points in enumerate(runs):
        total, at, level = 0.0, 0.0, 1.0
        for t, g in points:
            total, at, level = total + level * (min(t, end) - at), min(t, end), g
        assert found[r] == pytest.approx(total + level * (end - at), abs=1e-9)


def test_shifted_geometric_mean():
    """exp of the mean log of the shifted values, less the shift; unknown values do not count."""
    assert shifted_geometric_mean([1, 3, np.nan], 1) == pytest.approx(math.sqrt(2 * 4) - 1)
    assert shifted_geometric_mean([5, 5, 5], 10) == pytest.approx(5)
    assert shifted_geometric_mean([0, 0], 1) == 0 and math.isnan(shifted_geometric_mean([np.nan], 1))


def test_performance_profile_by_hand():
    """Dolan and Moré's definition on three problems: ratios (1, 2, inf) and (3, 1, inf); nobody solves the third."""
    factors, shares = performance_profile(np.array([[1.0, 4.0, np.inf], [3.0, 2.0, np.inf]]))
    assert factors.tolist() == [1, 2, 3]
    assert shares == pytest.approx(np.array([[1, 2, 2], [1, 1, 2]]) / 3)


@given(st.integers(0, 2**31))
def test_performance_profile_by_brute_force(seed):
    """rho(tau) is the share of problems within tau of the best, for every solver and tau; profiles never fall."""
    random = np.random.default_rng(seed)
    costs = np.where(random.random((4, 7)) < 0.3, np.inf, random.integers(1, 6, (4, 7)).astype(float))
    factors, shares = performance_profile(costs)
    best = costs.min(axis=0)
    for s in range(4):
        for t, factor in enumerate(factors):
            within = [costs[s, p] <= factor * best[p] * (1 + 1e-12) and np.isfinite(costs[s, p]) for p in range(7)]
            assert shares[s, t] == pytest.approx(np.mean(within))
    assert (np.diff(shares, axis=1) >= 0).all()


def test_wins():
    """Better, tied, worse by sense and tolerance; a failure loses to anything and ties with a failure."""
    nan = math.nan
    assert wins([1, 2, 3, nan, 1, nan], [2, 2, 2, 1, nan, nan]).tolist() == [1, 0, -1, -1, 1, 0]
    assert wins([1, 2, 3, nan, 1, nan], [2, 2, 2, 1, nan, nan], "max").tolist() == [-1, 0, 1, -1, 1, 0]
    assert wins([100.0], [100.9], tolerance=0.01).tolist() == [0] and wins([-100.0], [-98.0], tolerance=0.01).tolist() == [1]
    assert wins([np.inf, 1.0], [np.inf, np.inf]).tolist() == [0, 1]
