"""Exact sums against fractions, the exact judge of integers, and the units that change no verdict."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import Infeasible
from corl.problems.milp.evaluation import check, objective
from corl.problems.milp.exact import beyond_side, total
from corl.problems.milp.instance import from_triplets
from corl.problems.milp.scaling import scaled, unreliable

_NUMBERS = st.floats(-1e19, 1e19).filter(lambda v: v == 0.0 or abs(v) > 1e-100)
_TERMS = st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=1, max_size=8)
_INTEGERS = st.integers(-(10**9), 10**9)
_INF = np.inf


def _feasible(instance, x):
    try:
        objective(instance, np.asarray(x, float))
    except Infeasible:
        return False
    return True


def _rows(dense, low, high, **change):
    dense = np.asarray(dense, float)
    rows, columns = np.nonzero(dense)
    keywords = {"lower": -_INF, "integer": True} | change
    return from_triplets("t", "min", np.ones(dense.shape[1]), rows, columns, dense[rows, columns], low, high, **keywords)


@settings(deadline=None)
@given(_TERMS, _NUMBERS)
def test_sums_are_those_of_fractions(terms, constant):
    """The total is right to the twelfth digit however terms cancel, and a row's distance is rounded once."""
    a, x = (np.array(part) for part in zip(*terms))
    exact = sum((Fraction(p) * Fraction(q) for p, q in terms), Fraction(constant))
    assert total(a, x, constant) == pytest.approx(float(exact), rel=1e-12, abs=0.0)
    first, side = np.array([0, len(a)]), np.array([-constant])
    for sign in (-1.0, 1.0):
        assert beyond_side(a, x, first, side, sign)[0] == pytest.approx(sign * float(exact), rel=1e-15, abs=0.0)


@settings(deadline=None)
@given(st.lists(st.tuples(_INTEGERS, _INTEGERS), min_size=1, max_size=5), st.integers(-2, 2))
def test_rows_of_integers_are_judged_exactly(terms, beside):
    """A side that is missed by 1 is broken, at any size of its terms; one that is met is not."""
    a, x = (np.array(part, float) for part in zip(*terms))
    side = sum(p * q for p, q in terms) + beside
    if abs(side) >= 2**53 or not a.any():
        return
    assert _feasible(_rows([a], [-_INF], [side]), x) is (beside >= 0)
    assert _feasible(_rows([a], [side], [_INF]), x) is (beside <= 0)


@pytest.mark.parametrize(
    ("row", "low", "high", "x", "fits"),
    [
        ([1.0, 1.0], -_INF, 1e9, [1e9, 5.0], False), ([1.0, 1.0], -_INF, 1e9, [1e9, 0.0], True),
        ([1e-7, 1e-7], 3e-7, _INF, [0.0, 0.0], False), ([1e-7, 1e-7], 3e-7, _INF, [1.0, 2.0], True),
        ([0.1, 0.1, 0.1], -_INF, 0.3, [1.0, 1.0, 1.0], True), ([0.1, 0.7], 0.8, 0.8, [1.0, 1.0], True),
        ([1 / 3, 1 / 3], -_INF, 1.0, [1.0, 2.0], True), ([1 / 3, 0.33334], -_INF, 1.0, [1.0, 2.0], False),
        ([1e15, 1.0, -1e15], -_INF, 0.0, [7.0, 1.0, 7.0], False), ([1e15, 1.0, -1e15], -_INF, 1.0, [7.0, 1.0, 7.0], True),
        ([2.0**60, 1.0], -_INF, 2.0**60, [1.0, 1.0], False), ([1.0], 1e9 + 0.5, _INF, [1e9], False),
    ],
)  # fmt: skip
def test_the_exact_judge(row, low, high, x, fits):
    """Sums beyond doubles, tiny rows, decimals as they were written: decided as with pen and paper."""
    assert _feasible(_rows([row], [low], [high]), x) is fits
    for factor in (2.0**-40, 2.0**6):
        assert _feasible(_rows([np.multiply(row, factor)], [low * factor], [high * factor]), x) is fits


def test_integers_count_as_what_they_stand_for():
    """x = 1e-7 is 0: it opens no big-M of 1e6, and 1e9 of it are worth nothing; 1e-5 is no integer."""
    instance = from_triplets("t", "max", [1.0, -1e9], [0, 0], [0, 1], [1.0, -1e6], [-_INF], [0.0], integer=[False, True])
    assert not _feasible(instance, [0.1, 1e-7]) and _feasible(instance, [0.1, 1.0 + 1e-7])
    assert objective(instance, np.array([0.0, 1e-7])) == 0.0 and objective(instance, np.array([5.0, 1.0 - 1e-7])) == 5.0 - 1e9
    assert not _feasible(instance, [0.0, 1e-5])
    for x in ([1e20, 1.0], [np.inf, 1.0], [np.nan, 1.0]):
        with pytest.raises(Infeasible, match="variable x1 has no finite value"):
            check(instance, x)


@pytest.mark.parametrize("factor", [1e-12, 1e-7, 1.0, 1e8])
def test_a_row_s_unit_changes_no_verdict(factor):
    """2 x + 3 y <= 4 of continuous variables in any unit: a millionth is forgiven, ten are not."""
    instance = _rows([[2 * factor, 3 * factor]], [-_INF], [4 * factor], integer=False)
    assert _feasible(instance, [2.0 + 1e-6, 0.0]) and not _feasible(instance, [2.0 + 1e-5, 0.0])
    small = from_triplets("t", "min", [1.0], [], [], [], [], [], lower=0.0, upper=3 * min(factor, 1.0))
    assert _feasible(small, [3.000001 * min(factor, 1.0)]) and not _feasible(small, [3.0001 * min(factor, 1.0)])


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_scaled_programs_are_the_same(seed):
    """In its own units, and about another origin, a program has the same solutions, worth the same, and ordinary ones stay."""
    random = np.random.default_rng(seed)
    dense = random.integers(-3, 4, (3, 4)) * 10.0 ** random.integers(-9, 10, (3, 1))
    rows, columns = np.nonzero(dense)
    side, cost = 10.0 ** random.integers(-9, 10, 3), random.integers(-3, 4, 4) * 10.0 ** random.integers(-9, 10)
    instance = from_triplets("t", "max", cost, rows, columns, dense[rows, columns], -side, side, lower=-5, upper=5,
                             integer=random.random(4) < 0.7, offset=2.0)  # fmt: skip
    found = scaled(instance)
    for seen in (found, found.shifted_to(random.integers(-2, 3, 4).astype(float))):
        x = random.integers(-2, 3, 4).astype(float)
        own = seen.to_program(x)
        assert np.array_equal(seen.to_instance(own), x)
        assert _feasible(instance, x) == _feasible(seen.program, own)
        worth = float(seen.program.c @ own + seen.program.offset)
        assert seen.bound(worth) == pytest.approx(float(cost @ x + 2.0), rel=1e-12, abs=1e-12 * float(np.abs(cost).max()))
    assert all(0.7 < np.abs(row).max() < 4.3 for row in found.program.matrix.toarray() if row.any())
    plain = _rows([[1.0, 2.0]], [0.0], [4.0])
    assert scaled(plain).program is plain


def test_denormal_numbers_overflow_nothing():
    """A row of them has a unit that lifts its side to infinity: still a program, without a warning, and not to be believed."""
    instance = _rows([[5e-324, 1e-323]], [-_INF], [1.0], upper=5.0, lower=0.0)
    found = scaled(instance).program
    assert found.row_upper[0] == 1e19 and "the side of constraint c1" in unreliable(found) and _feasible(instance, [5.0, 5.0])


@pytest.mark.chance
def test_judging_is_fast():
    """100,000 decimals, every row at its side: a twentieth of a second or so, far from the two seconds of fractions."""
    random = np.random.default_rng(1)
    m, n, k = 1000, 20_000, 100
    columns, values = random.integers(0, n, (m, k)), np.round(random.random((m, k)) + 0.01, 6)
    columns = np.sort((columns[:, :1] + 7 * np.arange(k)) % n, axis=1)
    x = random.integers(0, 50, n).astype(float)
    sides = (values * x[columns]).sum(axis=1)
    instance = from_triplets("t", "min", np.ones(n), np.repeat(np.arange(m), k), columns.ravel(), values.ravel(),
                             np.full(m, -_INF), sides, integer=True)  # fmt: skip
    times = []
    for _ in range(5):
        before = time.process_time()
        objective(instance, x)
        times.append(time.process_time() - before)
    assert min(times) < 0.5
