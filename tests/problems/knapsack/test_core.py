"""The core of a knapsack: what is certain is, bounds and fillings hold, and units change nothing that a network sees."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.knapsack.environment import KnapsackEnvironment
from corl.problems.knapsack.environments.core.environment import CoreEnvironment, core_of
from corl.problems.knapsack.environments.core.features import core
from corl.problems.knapsack.features import items
from corl.problems.knapsack.generators import unit
from corl.problems.knapsack.problem import Knapsack


def values_of(instance):
    """Every set of items that fits, bool [S, n], and what each is worth."""
    sets = np.array(list(itertools.product((False, True), repeat=instance.n)))
    sets = sets[(sets @ instance.weights[0]) <= instance.capacities[0] * (1 + 1e-12)]
    return sets, sets @ instance.values


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_certain_items_are_in_every_better_solution(random_instance, kind):
    """Whatever is worth more than the known solution has all items that are certain; and so has something as good as any."""
    found = 0
    for seed in range(60):
        instance = random_instance(1 + seed % 11, 1, seed, kind)
        certain, known = core_of(instance)
        sets, worth = values_of(instance)
        assert Knapsack().evaluate(instance, np.flatnonzero(known)) <= worth.max() + 1e-9
        better = sets[worth > instance.values[known].sum() + 1e-9]
        assert (better | ~certain).all(), seed
        assert worth[(sets | ~certain).all(axis=1)].max() == pytest.approx(worth.max())
        found += int(certain.sum())
    assert found > 60


def test_bounds_and_fillings_hold(random_instance):
    """With and without each listed item, the best solution lies between the greedy filling and the linear relaxation."""
    for seed in range(40):
        instance = random_instance(2 + seed % 9, 1, seed, "real")
        environment = CoreEnvironment([instance], 1, width=12)
        seen = environment.observe([0])
        inside = np.isin(np.arange(instance.n), environment.state.taken[0, : environment.state.picks[0]])
        sets, worth = values_of(instance)
        sets, worth = sets[(sets | ~inside).all(axis=1)], worth[(sets | ~inside).all(axis=1)] - instance.values[inside].sum()
        assert seen["best"][0] <= worth.max() + 1e-9 and worth.max() <= seen["bound"][0] + 1e-6
        for slot, item in enumerate(seen["action"][0]):
            for side in (0, 1) if item >= 0 else ():
                most = worth[sets[:, item] == bool(side)].max()
                assert seen["fillings"][0, slot, side] <= most + 1e-9
                assert most <= seen["bounds"][0, slot, side] + 1e-6


def test_units_change_nothing():
    """Values in other units, weights and capacity in others: the same tokens; the scale follows the values."""
    instances = [unit(size=60, capacity=15.0, seed=s) for s in range(4)]
    other = [
        replace(each, values=7.0 * each.values, weights=0.3 * each.weights, capacities=0.3 * each.capacities)
        for each in instances
    ]
    one, two = (core(CoreEnvironment(given, 4).observe(np.arange(4))) for given in (instances, other))
    assert np.allclose(one.x, two.x, atol=1e-4) and np.allclose(7.0 * one.scale, two.scale)


def test_what_the_core_refuses(random_instance):
    """Several capacities, and features of the other environment."""
    with pytest.raises(UsageError, match="'core' takes one"):
        CoreEnvironment([random_instance(5, 2)], 1)
    environment = KnapsackEnvironment([unit(size=20)], 1)
    assert items(environment.observe([0])).x.shape[1] == 21
    with pytest.raises(UsageError, match="accepted for others: 'items'"):
        core(environment.observe([0]))
