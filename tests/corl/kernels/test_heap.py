"""The heap gives its entries back in the order of Python's heapq."""

from __future__ import annotations

import heapq

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.kernels.heap import heap_pop, heap_push, heap_replace

SIZE = 40
ACTIONS = st.lists(st.tuples(st.sampled_from(["push", "push", "pop", "replace"]), st.integers(0, 9)), max_size=SIZE)
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def play(as_run, actions, by_item, check):
    """Make the actions on our heap and on heapq's, the n-th with item SIZE - n; `check` sees both before each."""
    push, pop, replace = as_run(heap_push), as_run(heap_pop), as_run(heap_replace)
    keys, items, count, known = np.zeros(SIZE, np.int16), np.zeros(SIZE, np.int16), 0, []
    for number, (action, key) in enumerate(actions):
        entry = key, SIZE - number
        assert count == len(known)
        if known:
            check(keys, items, count, known)
        if action == "push":
            count = push(keys, items, count, *entry, by_item)
            heapq.heappush(known, entry)
        elif known and action == "pop":
            known.remove((keys[0], items[0]))
            count = pop(keys, items, count, by_item)
        elif known:
            known.remove((keys[0], items[0]))
            replace(keys, items, count, *entry, by_item)
            known.append(entry)
        heapq.heapify(known)


@many
@given(actions=ACTIONS)
def test_by_key_and_item(as_run, actions):
    """Of equal keys the lower item comes first."""

    def check(keys, items, count, known):
        assert (keys[0], items[0]) == known[0]

    play(as_run, actions, True, check)


@many
@given(actions=ACTIONS)
def test_by_key_alone(as_run, actions):
    """The first entry has the least key, the entries are those put in, and no child has a lower key than its parent."""

    def check(keys, items, count, known):
        assert keys[0] == known[0][0]
        assert sorted(zip(keys[:count], items[:count])) == sorted(known)
        assert all(keys[(k - 1) // 2] <= keys[k] for k in range(1, count))

    play(as_run, actions, False, check)
