"""Acceptance and cooling against their formulas, with the random numbers that the generator gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.kernels.annealing import allowance, geometric, metropolis
from corl.rng import random_state, uniform

TEMPERATURES = st.floats(0.01, 100.0)
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def strided(seed):
    """A state of the generator in an array that is not contiguous."""
    return np.repeat(random_state(seed), 2)[::2]


@many
@given(worse=st.floats(-10.0, 200.0), temperature=TEMPERATURES, seed=st.integers(0, 99))
def test_metropolis(as_run, worse, temperature, seed):
    """A random number is drawn for worse candidates alone and compared with exp(-worse / temperature)."""
    random, same = strided(seed), random_state(seed)
    expected = worse <= 0.0 or uniform(same) < math.exp(-worse / temperature)
    assert as_run(metropolis)(worse, temperature, random) == expected
    assert random[0] == same[0]


@many
@given(worse=st.floats(1e-3, 200.0), temperature=TEMPERATURES, seed=st.integers(0, 99))
def test_allowance_is_metropolis_rule(as_run, worse, temperature, seed):
    """The drawn threshold is above `worse` exactly where 1 - the number drawn is below exp(-worse / temperature)."""
    drawn = 1.0 - uniform(random_state(seed))
    found = as_run(allowance)(temperature, strided(seed))
    assert found == pytest.approx(-temperature * math.log(drawn), rel=1e-12, abs=1e-12)
    if not math.isclose(drawn, math.exp(-worse / temperature), rel_tol=1e-9):
        assert (worse < found) == (drawn < math.exp(-worse / temperature))


@many
@given(first=TEMPERATURES, last=TEMPERATURES, share=st.floats(0.0, 1.0))
def test_geometric_cooling(as_run, first, last, share):
    """It begins at the first temperature, ends at the last one, and its logarithm is linear."""
    cooled = as_run(geometric)
    first, last = np.float32(first), np.float32(last)
    assert cooled(first, last, 0.0) == first
    assert cooled(first, last, 1.0) == pytest.approx(last, rel=1e-5)
    assert math.log(cooled(first, last, share)) == pytest.approx((1 - share) * math.log(first) + share * math.log(last), abs=1e-4)
