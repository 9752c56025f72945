"""Static allocation as a decision process: rewards add up to the height, and decisions lead back to a solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.memory.static.environment import StaticEnvironment
from corl.problems.memory.static.features import TOKENS
from corl.problems.memory.static.problem import StaticAllocation

STATIC = StaticAllocation()
ONE = st.tuples(st.integers(1, 12), st.integers(0, 99), st.sampled_from(("plain", "aligned", "fixed")))


@settings(deadline=None, max_examples=40)
@given(kinds=st.lists(ONE, min_size=1, max_size=4), width=st.integers(1, 14), seed=st.integers(0, 10**6))
def test_base_and_rewards_are_minus_the_height(random_instance, kinds, width, seed):
    """Sizes mixed: base + rewards of a random legal episode = minus the height, in place or to other rows."""
    instances = [random_instance(*kind) for kind in kinds]
    m = len(instances)
    environment = StaticEnvironment(instances, 2 * m, width)
    random, here = np.random.default_rng(seed), np.arange(m)
    total = environment.reset(here, here)
    while (live := np.flatnonzero(environment.actions(here)[:, 0] >= 0)).size:
        chosen = [random.choice(row[row >= 0]) for row in environment.actions(here[live])]
        there = np.where(random.random(len(live)) < 0.5, here[live], live + m * (here[live] < m))
        total[live] += environment.step(here[live], there, chosen)
        here[live] = there
    for k, instance in enumerate(instances):
        assert STATIC.evaluate(instance, environment.solution(here[k])) == -total[k]


def test_some_episode_is_optimal(random_instance, lowest):
    """The best of all orders is the lowest allocation, by enumeration."""
    for seed, kind in itertools.product(range(3), ("plain", "aligned", "fixed")):
        instance = random_instance(5, seed, kind)
        environment = StaticEnvironment([instance], 6)
        base = environment.reset([0], 0)[0]

        def best(row, environment=environment):
            actions = environment.actions([row])[0]
            return max(
                (environment.step([row], [row + 1], [action])[0] + best(row + 1) for action in actions[actions >= 0]), default=0.0
            )

        assert -(base + best(0)) == lowest(instance)


def test_decisions_lead_to_the_solution_or_a_lower_one(random_instance):
    """Buffers by their offsets, replayed, come to these offsets or below."""
    for seed, kind in itertools.product(range(5), ("plain", "aligned", "fixed")):
        instance = random_instance(9, seed, kind)
        environment = StaticEnvironment([instance], 1)
        while (actions := environment.actions([0])[0])[0] >= 0:
            environment.step([0], [0], [actions[actions >= 0][-1]])
        offsets = environment.solution(0)
        total = environment.reset([0], 0)[0]
        for decision in STATIC.decisions(instance, offsets):
            total += environment.step([0], [0], [decision])[0]
        assert (environment.solution(0) <= offsets).all() and -total <= STATIC.evaluate(instance, offsets)


def test_observation_and_features(random_instance):
    """The largest areas are listed first, with their lowest offsets; tokens are the same in other units of memory."""
    from dataclasses import replace

    instance = random_instance(12, 3)
    area = (instance.upper - instance.lower) * instance.size
    environment = StaticEnvironment([instance], 1, 4)
    seen = environment.observe([0])
    assert seen["action"][0].tolist() == np.argsort(-area, kind="stable")[:4].tolist()
    assert not seen["buffers"][0, :, 3].any() and seen["remaining"][0] == 12 and seen["height"][0] == 0
    environment.step([0], [0], [seen["action"][0, 0]])
    first, second = seen["action"][0, :2]
    meet = max(instance.lower[first], instance.lower[second]) < min(instance.upper[first], instance.upper[second])
    assert environment.observe([0])["buffers"][0, 0, 3] == (instance.size[first] if meet else 0)
    scaled = replace(instance, size=7 * instance.size)
    tokens = [STATIC.features["buffers"](StaticEnvironment([each], 1, 6).observe([0])) for each in (instance, scaled)]
    assert tokens[0].x.shape == (1, 7, TOKENS) and np.isfinite(tokens[0].x).all()
    np.testing.assert_allclose(tokens[0].x, tokens[1].x, rtol=1e-5)
    assert tokens[1].scale[0] == pytest.approx(7 * tokens[0].scale[0]) and tokens[0].mask[0, -1]


def test_wrong_calls(random_instance):
    """Unknown buffers and placed ones, no instances, and solutions of episodes that are not over."""
    instance = random_instance(8, 3)
    for arguments in (([], 1), ([instance], 0), ([instance], 1, 0)):
        with pytest.raises(UsageError):
            StaticEnvironment(*arguments)
    environment = StaticEnvironment([instance], 1)
    environment.step([0], [0], [2])
    for action in (-1, 8, 2):
        with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
            environment.step([0], [0], [action])
    with pytest.raises(UsageError, match="instances are integers"):
        environment.reset([0], [1])
    with pytest.raises(UsageError, match="7 buffers are not placed"):
        environment.solution(0)
