"""The knapsack as a decision process: rewards add up, episodes end where nothing fits, decisions lead back to a solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.knapsack.environment import KnapsackEnvironment, density
from corl.problems.knapsack.features import TOKENS
from corl.problems.knapsack.problem import Knapsack

KNAPSACK = Knapsack()
KINDS = ("integer", "decimal", "real")
ONE = st.tuples(st.integers(1, 12), st.integers(1, 3), st.integers(0, 99), st.sampled_from(KINDS))


@settings(deadline=None, max_examples=25)
@given(kinds=st.lists(ONE, min_size=1, max_size=4), width=st.integers(1, 14), seed=st.integers(0, 10**6))
def test_base_and_rewards_are_the_objective(random_instance, random_episodes, kinds, width, seed):
    """Sizes and constraints mixed: base + rewards of a random legal episode = the value; the solution is maximal.

    Steps go in place or to other rows at random.
    """
    instances = [random_instance(*kind) for kind in kinds]
    m = len(instances)
    environment = KnapsackEnvironment(instances, 2 * m, width)
    total, here = random_episodes(environment, m, seed)
    for k, instance in enumerate(instances):
        items = environment.solution(here[k])
        assert KNAPSACK.evaluate(instance, items) == pytest.approx(total[k], rel=1e-9)
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


@pytest.mark.parametrize("action", [-1, 12, 10**6])
def test_illegal_actions_are_refused(random_instance, action):
    """Unknown items, and one that is taken already."""
    environment = KnapsackEnvironment([random_instance(12, 1, 3)], 1)
    with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
        environment.step([0], [0], [action])
    first = environment.actions([0])[0, 0]
    environment.step([0], [0], [first])
    with pytest.raises(UsageError, match=f"action {first} is not legal"):
        environment.step([0], [0], [first])


def test_wrong_calls(random_instance):
    """No instances, unknown instances, and solutions of episodes that are not over."""
    instance = random_instance(8, 1, 3)
    for arguments in (([], 1), ([instance], 0), ([instance], 1, 0)):
        with pytest.raises(UsageError):
            KnapsackEnvironment(*arguments)
    environment = KnapsackEnvironment([instance], 1)
    with pytest.raises(UsageError, match="instances are integers"):
        environment.reset([0], [1])
    with pytest.raises(UsageError, match="still fit in row 0"):
        environment.solution(0)
