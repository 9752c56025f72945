"""Random numbers for kernels."""

from __future__ import annotations

import numpy as np

from corl.rng import below, hashed, next_u64, random_state, shuffle, uniform


def test_splitmix_reference():
    """SplitMix64 from state 1234567, as published with Java's SplittableRandom and xoshiro's seeding code."""
    state = np.array([1234567], np.uint64)
    assert [int(next_u64(state)) for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_ranges_and_means():
    """uniform is on [0, 1) with mean 1/2; below(n) hits every value about equally."""
    state = random_state(1)
    draws = np.array([uniform(state) for _ in range(20000)])
    assert draws.min() >= 0 and draws.max() < 1 and abs(draws.mean() - 0.5) < 0.01
    counts = np.bincount([below(state, 7) for _ in range(14000)], minlength=7)
    assert len(counts) == 7 and (abs(counts - 2000) < 250).all()


def test_shuffle_permutes():
    """A shuffle keeps the elements; different streams give different orders."""
    orders = []
    for stream in range(2):
        array = np.arange(50)
        shuffle(random_state(3, stream), array)
        orders.append(array)
        assert sorted(array) == list(range(50))
    assert (orders[0] != orders[1]).any()


def test_hashed_depends_on_its_three_arguments_alone():
    """The counter-based draw is a function: any order of calls gives the same numbers, and all arguments matter."""
    table = {(k, t, a): hashed(k, t, a) for k in range(5) for t in range(5) for a in range(5)}
    assert len(set(table.values())) == 125
    assert all(hashed(*key) == value for key, value in reversed(table.items()))
