"""Tolerances: when two objectives count as one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corl.tolerance import ROUNDING, TIE, agrees, beats, reaches, tied

_VALUES = st.floats(allow_nan=False)


@pytest.mark.parametrize(
    ("a", "b", "same", "near"),
    [
        (100.0, 100.0, True, True), (100.0, 100.0 * (1 + 0.9 * TIE), True, True), (100.0, 100.0 * (1 + 3 * TIE), False, True),
        (100.0, 100.0 * (1 + 0.9 * ROUNDING), False, True), (100.0, 100.0 * (1 + 3 * ROUNDING), False, False),
        (-7.0, 7.0, False, False), (0.0, 5e-13, True, True), (0.0, 5e-12, False, True), (0.0, 2e-9, False, False),
        (math.inf, math.inf, True, True), (math.inf, -math.inf, False, False), (math.inf, 1e308, False, False),
        (math.nan, math.nan, False, False), (math.nan, 1.0, False, False),
    ],
)  # fmt: skip
def test_what_is_tied_and_what_agrees(a, b, same, near):
    """Values tie within 1e-9 of their size and agree within 1e-6; near zero within a thousandth of that in all."""
    assert (bool(tied(a, b)), bool(tied(b, a))) == (same, same)
    assert (bool(agrees(a, b)), bool(agrees(b, a))) == (near, near)


@given(_VALUES, _VALUES, st.sampled_from(["min", "max"]))
def test_of_two_values_one_beats_the_other_or_reaches_it(a, b, sense):
    """`a` beats `b` exactly where `b` does not reach `a`, and both reach each other exactly where they agree."""
    assert bool(beats(a, b, sense)) is not bool(reaches(b, a, sense))
    assert bool(reaches(a, b, sense) and reaches(b, a, sense)) is bool(agrees(a, b))


@given(st.lists(st.tuples(_VALUES, _VALUES), min_size=1))
def test_arrays_are_judged_element_by_element(pairs):
    """On arrays every function gives what it gives on each pair."""
    a, b = np.array(pairs).T
    with np.errstate(all="ignore"):
        assert tied(a, b).tolist() == [bool(tied(x, y)) for x, y in pairs]
        for function in (beats, reaches):
            assert function(a, b, "max").tolist() == [bool(function(x, y, "max")) for x, y in pairs]
