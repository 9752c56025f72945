"""Bounds: never over the optimum, and the preemptive one right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.jobshop.generators import taillard
from corl.solvers.jobshop.bounds import lower_bound, preemptive_makespan

KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_below_the_optimum(random_instance, least, kind, seed):
    """Against the best of all schedules, by enumeration; for one job it is the optimum."""
    instance = random_instance(kind, 2, 3, seed)
    assert lower_bound(instance) <= least(instance)
    alone = random_instance(kind, 1, 3, seed)
    if not alone.flexible and kind != "reentrant":
        assert lower_bound(alone) == least(alone)


def unit_by_unit(heads, durations, tails):
    """Jackson's preemptive schedule, one unit of time after another."""
    left, now, value = list(durations), 0, 0
    while any(left):
        there = [i for i, work in enumerate(left) if work and heads[i] <= now]
        if there:
            i = max(there, key=lambda i: tails[i])
            left[i] -= 1
            if not left[i]:
                value = max(value, now + 1 + tails[i])
        now += 1
    return value


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(0, 12)), min_size=1, max_size=7))
def test_preemption(jobs):
    """The event-driven schedule is the one made unit by unit."""
    heads, durations, tails = (list(column) for column in zip(*jobs))
    assert preemptive_makespan(heads, durations, tails) == unit_by_unit(heads, durations, tails)


def test_bounds_can_be_cut_short():
    """Told to stop at once or amid a machine, what was found so far is a bound still, and no more time is taken."""
    instance = taillard(jobs=3000, machines=2, seed=1)
    whole, asked = lower_bound(instance), []

    def stopped():
        asked.append(len(asked))
        return len(asked) > 2

    assert 0 < lower_bound(instance, lambda: True) <= lower_bound(instance, stopped) <= whole and len(asked) <= 4
    load, heads = [1] * 5000, list(range(0, 10_000, 2))
    assert 0 < preemptive_makespan(heads, load, load, lambda: True) < preemptive_makespan(heads, load, load) == 10_000
