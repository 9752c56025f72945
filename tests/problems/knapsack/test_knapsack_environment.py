"""The knapsack as a decision process: episodes end where nothing fits, decisions lead back to a solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corl.problems.knapsack.environment import KnapsackEnvironment, density
from corl.problems.knapsack.features import TOKENS
from corl.problems.knapsack.problem import Knapsack

KNAPSACK = Knapsack()
KINDS = ("integer", "decimal", "real")


def test_what_is_left_out_does_not_fit(random_instance, random_episodes):
    """The solution of a random episode is maximal, sizes, constraints and kinds mixed."""
    instances = [random_instance(1 + k % 12, 1 + k % 3, k, KINDS[k // 3 % 3]) for k in range(60)]
    environment = KnapsackEnvironment(instances, 120, 9)
    _, here = random_episodes(environment, 60, 1)
    for row, instance in zip(here, instances):
        items = environment.solution(row)
        others = np.setdiff1d(np.arange(instance.n), items)
        used = instance.weights[:, items].sum(axis=1)
        assert (used[:, None] + instance.weights[:, others] > instance.capacities[:, None]).any(axis=0).all()


def test_every_subset_that_is_maximal_is_reached(random_instance, most, best_rewards):
    """The best of all episodes is the best of all subsets."""
    for seed in range(6):
        instance = random_instance(5, 2, seed)
        environment = KnapsackEnvironment([instance], 7)
        assert best_rewards(environment) == most(instance)


def test_listed_actions_and_observation(random_instance):
    """The densest items that fit come first; what is observed of them is what the instance says."""
    instance = random_instance(12, 2, 3)
    environment = KnapsackEnvironment([instance, random_instance(5, 1, 1)], 2, 4)
    environment.reset([0, 1], [0, 1])
    seen = environment.observe([0, 1])
    fits = (instance.weights <= instance.capacities[:, None]).all(axis=0)
    expected = [item for item in np.argsort(-density(instance), kind="stable") if fits[item]][:4]
    assert seen["action"][0].tolist() == expected and seen["remaining"][0] == fits.sum()
    for k, item in enumerate(expected):
        assert seen["values"][0, k] == instance.values[item]
        assert seen["weights"][0, k].tolist() == instance.weights[:, item].tolist()
    np.testing.assert_allclose(seen["left"][0], instance.capacities, rtol=1e-8)
    assert seen["constraints"].tolist() == [2, 1] and seen["left"][1, 1] == 0 and not seen["weights"][1, :, 1].any()


def test_decisions_lead_to_the_solution_or_a_better_one(random_instance, last_listed, replayed):
    """Replayed, they are legal and end the episode at a value at least that of the solution; a maximal one is reached exactly."""
    for seed, kind in itertools.product(range(5), KINDS):
        instance = random_instance(9, 1 + seed % 2, seed, kind)
        environment = KnapsackEnvironment([instance], 1)
        items = last_listed(environment)
        for given_items in (items, items[:2], []):
            decisions = KNAPSACK.decisions(instance, np.array(given_items, np.int64))
            total = replayed(environment, decisions)
            assert set(given_items) <= set(environment.solution(0).tolist())
            assert total == pytest.approx(KNAPSACK.evaluate(instance, environment.solution(0)))
            if given_items is items:
                assert sorted(decisions.tolist()) == items.tolist()


def test_features(random_instance):
    """A token a slot and one for the sack, finite, the same when values or weights are in other units."""
    from dataclasses import replace

    instance = random_instance(12, 2, 5)
    scaled = replace(instance, values=7 * instance.values, weights=3 * instance.weights, capacities=3 * instance.capacities)
    tokens = [KNAPSACK.features["items"](KnapsackEnvironment([each], 1, 6).observe([0])) for each in (instance, scaled)]
    assert tokens[0].x.shape == (1, 7, TOKENS) and np.isfinite(tokens[0].x).all() and tokens[0].x.any()
    np.testing.assert_allclose(tokens[0].x, tokens[1].x, rtol=1e-5)
    assert tokens[1].scale[0] == pytest.approx(7 * tokens[0].scale[0]) and tokens[0].mask[0, -1]
