"""Copies and rotations do what NumPy's slices do."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.kernels.copy import copy, copy_between_rows, copy_rows
from corl.kernels.rotate import rotate

many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(length=st.integers(1, 9), data=st.data())
def test_rotate(as_run, length, data):
    """As taking an element out of a list and inserting it again."""
    source, target = data.draw(st.integers(0, length - 1)), data.draw(st.integers(0, length - 1))
    array, expected = np.arange(length, dtype=np.int16), list(range(length))
    as_run(rotate)(array, source, target)
    expected.insert(target, expected.pop(source))
    assert array.tolist() == expected


@many
@given(count=st.integers(0, 5))
def test_copies(as_run, count):
    """The first entries are copied, those behind stay."""
    source, into = np.arange(5, dtype=np.float32), np.full(5, -1, np.float32)
    as_run(copy)(source, into, count)
    assert into.tolist() == [*source[:count], *[-1.0] * (5 - count)]
    table = np.arange(10, dtype=np.float32).reshape(2, 5)
    as_run(copy_between_rows)(table, 0, 1, count)
    assert table[1].tolist() == [*range(count), *range(5 + count, 10)]
    rows, target = np.arange(10, dtype=np.int16).reshape(5, 2), np.full((6, 3), -1, np.int16)
    as_run(copy_rows)(rows, target, count)
    assert (target[:count, :2] == rows[:count]).all() and (target[count:] == -1).all() and (target[:, 2] == -1).all()
