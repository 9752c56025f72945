"""Static allocation as a decision process: some episode is optimal, and decisions lead back to a solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corl.problems.memory_static.environment import StaticEnvironment
from corl.problems.memory_static.features import TOKENS
from corl.problems.memory_static.problem import StaticAllocation

STATIC = StaticAllocation()


def test_some_episode_is_optimal(random_instance, lowest, best_rewards):
    """The best of all orders is the lowest allocation, by enumeration."""
    for seed, kind in itertools.product(range(3), ("plain", "aligned", "fixed")):
        instance = random_instance(5, seed, kind)
        environment = StaticEnvironment([instance], 6)
        assert -(environment.reset([0], 0)[0] + best_rewards(environment)) == lowest(instance)


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
