"""Binary searches find what Python's bisect finds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.kernels import search

LISTS = st.lists(st.integers(-5, 5), max_size=12).map(sorted)
KEYS = st.integers(-6, 6)
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(("name", "expected"), [("bisect_left", bisect_left), ("bisect_right", bisect_right)])
@many
@given(values=LISTS, key=KEYS, data=st.data())
def test_as_bisect(as_run, name, expected, values, key, data):
    """In any part of a sorted array, whatever stands outside it."""
    begin = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(begin, len(values)))
    array = np.array([9, *values, -9], np.int16)
    found = as_run(getattr(search, name))(array, begin + 1, end + 1, key)
    assert found == expected(values, key, begin, end) + 1


@pytest.mark.parametrize(("name", "expected"), [("bisect_left_by", bisect_left), ("bisect_right_by", bisect_right)])
@many
@given(values=LISTS, key=KEYS, seed=st.integers(0, 99))
def test_by_values_of_items(as_run, name, expected, values, key, seed):
    """In a list of items that is sorted by their values, as bisect with a key function."""
    items = np.random.default_rng(seed).permutation(len(values)).astype(np.int16)
    by_item = np.empty(len(values), np.float32)
    by_item[items] = values
    assert as_run(getattr(search, name))(by_item, items, 0, len(items), key) == expected(values, key)


@many
@given(values=LISTS, key=KEYS, seed=st.integers(0, 99))
def test_falling_values_of_items(as_run, values, key, seed):
    """The first place whose value is at most the key."""
    items = np.random.default_rng(seed).permutation(len(values)).astype(np.int16)
    by_item = np.empty(len(values), np.int16)
    by_item[items] = falling = values[::-1]
    expected = next((k for k, value in enumerate(falling) if value <= key), len(falling))
    assert as_run(search.bisect_left_falling_by)(by_item, items, 0, len(items), key) == expected
