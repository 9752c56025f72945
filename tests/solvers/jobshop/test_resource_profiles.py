"""Profiles of resources: after any changes they are the sums of what occupies them, and searches find the next free time."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from corl.solvers.jobshop.placing.resources import clear_profiles, copy_profiles, later_start, occupy, previous_end
from corl.solvers.jobshop.placing.shop import new_plan, shop_of

HORIZON = 40


def fits(used, left, start, end):
    """Whether `left` units are free in every unit of time."""
    return start >= 0 and all(used[time] <= left for time in range(start, end))


@pytest.mark.parametrize("seed", range(4))
def test_profiles(seed):
    """Random operations come and go; units are counted minute by minute beside it."""
    random, count = np.random.default_rng(seed), 9
    demand = np.column_stack([random.integers(0, 3, count), random.integers(0, 2, count)])
    rules = SideConstraints(capacity=np.array([3, 1]), demand=demand)
    instance = from_jobs([[[(k, 1)]] for k in range(count)], count, rules=rules)
    shop, plan, copy = shop_of(instance), new_plan(instance), new_plan(instance)
    clear_profiles(plan)
    used, placed = np.zeros((2, 3 * HORIZON), int), {}
    for _ in range(300):
        c = int(random.integers(count))
        if c in placed:
            start, end = placed.pop(c)
            occupy(shop, plan, c, start, end, -1)
            used[:, start:end] -= demand[c][:, None]
        else:
            start, end = sorted(random.integers(0, HORIZON, 2).tolist())
            placed[c] = start, end
            occupy(shop, plan, c, start, end, 1)
            used[:, start:end] += demand[c][:, None]
        copy_profiles(plan, copy)
        for r in range(2):
            steps = slice(copy.profile_offset[r], copy.profile_offset[r] + copy.profile_length[r])
            times, units = copy.profile_time[steps], copy.profile_units[steps]
            assert times[0] == 0 and (np.diff(times) > 0).all() and np.diff(units).all() and units[-1] == 0
            assert (units[np.searchsorted(times, np.arange(3 * HORIZON), "right") - 1] == used[r]).all()
        c, begin, length = int(random.integers(count)), int(random.integers(HORIZON)), int(random.integers(1, 9))
        left = [(used[r], 3 - 2 * r - d) for r, d in enumerate(demand[c].tolist()) if d]
        free = [start for start in range(3 * HORIZON - 9) if all(fits(*each, start, start + length) for each in left)]
        start = begin
        while (later := later_start(shop, plan, c, start, start + length)) != start:
            assert later > start
            start = later
        assert start == min(each for each in free if each >= begin)
        end = begin + length
        while end >= length and (earlier := previous_end(shop, plan, c, end - length, end)) != end:
            assert earlier < end
            end = earlier
        assert max(end - length, -1) == max((each for each in free if each <= begin), default=-1)


def test_more_than_there_is():
    """A choice that needs more units than there are starts never; without a duration it needs none."""
    rules = SideConstraints(capacity=np.array([1]), demand=np.array([[2]]))
    instance = from_jobs([[[(0, 1)]]], 1, rules=rules)
    shop, plan = shop_of(instance), new_plan(instance)
    assert later_start(shop, plan, 0, 3, 4) == FOREVER and later_start(shop, plan, 0, 3, 3) == 3 and not shop.usable[0]
