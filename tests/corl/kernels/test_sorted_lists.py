"""Sorted lists hold what Python's `sorted` gives, stably, up to their length."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.kernels.sorted_lists import insert_nearest, insert_sorted, sort_keys, sort_pairs, too_far

KEYS = st.lists(st.sampled_from([-1.5, -0.0, 0.0, 2.0, 7.0, np.inf]), max_size=20)
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(keys=KEYS, room=st.integers(1, 8))
def test_insertion_is_stable(as_run, keys, room):
    """Item n is the n-th inserted: the first `room` of the sorted list stay, equal keys in the order of insertion."""
    insert = as_run(insert_sorted)
    found, items, count = np.full(room, np.nan, np.float32), np.full(room, -1, np.int16), 0
    for item, key in enumerate(keys):
        count = insert(found, items, count, key, item)
        expected = sorted(range(item + 1), key=lambda k: keys[k])[:room]
        assert items[:count].tolist() == expected
        assert found[:count].tolist() == [keys[k] for k in expected]


@many
@given(lengths=KEYS, room=st.integers(1, 8), seed=st.integers(0, 99))
def test_nearest_in_any_order(as_run, lengths, room, seed):
    """The first `room` by (length, node), whatever the order of insertion; `too_far` foretells what changes nothing."""
    insert, skips = as_run(insert_nearest), as_run(too_far)
    found, nodes, count = np.full(room, np.nan, np.float32), np.full(room, -1, np.int16), 0
    for node in np.random.default_rng(seed).permutation(len(lengths)).tolist():
        before, skipped = nodes.tolist(), skips(found, nodes, count, lengths[node], node)
        count = insert(found, nodes, count, lengths[node], node)
        assert skipped == (nodes.tolist() == before)
    expected = sorted(range(len(lengths)), key=lambda node: (lengths[node], node))[:room]
    assert nodes[:count].tolist() == expected
    assert found[:count].tolist() == [lengths[node] for node in expected]


@many
@given(keys=KEYS, left=st.integers(0, 3))
def test_sorts(as_run, keys, left):
    """Both sort the first entries, pairs stably, and leave those behind alone."""
    count = max(0, len(keys) - left)
    alone, array, items = np.array(keys, np.float32), np.array(keys, np.float32), np.arange(len(keys), dtype=np.int16)
    as_run(sort_keys)(alone, count)
    as_run(sort_pairs)(array, items, count)
    expected = [*sorted(range(count), key=lambda k: keys[k]), *range(count, len(keys))]
    assert items.tolist() == expected
    assert alone.tolist() == array.tolist() == [keys[k] for k in expected]
