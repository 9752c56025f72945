"""Orienteering as a decision process: rewards add up, episodes end, decisions lead back to a path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.features import PAIRS, TOKENS
from corl.problems.orienteering.problem import Orienteering

ORIENTEERING = Orienteering()
KINDS = ("EUC_2D", "EXACT_2D", "CEIL_2D", "GEO", "EXPLICIT")
ONE = st.tuples(st.integers(2, 9), st.sampled_from(KINDS), st.integers(0, 99), st.booleans())


@settings(deadline=None, max_examples=25)
@given(kinds=st.lists(ONE, min_size=1, max_size=4), width=st.integers(1, 9), seed=st.integers(0, 10**6))
def test_base_and_rewards_are_the_objective(random_instance, random_episodes, kinds, width, seed):
    """Sizes and metrics mixed: base + rewards of a random legal episode = the score of its path, which the judge lets pass.

    Steps go in place or to other rows at random.
    """
    instances = [random_instance(*kind) for kind in kinds]
    m = len(instances)
    environment = OrienteeringEnvironment(instances, 2 * m, width)
    total, here = random_episodes(environment, m, seed)
    for k, instance in enumerate(instances):
        assert ORIENTEERING.evaluate(instance, environment.solution(here[k])) == pytest.approx(total[k], rel=1e-9)


@pytest.mark.parametrize("closed", [True, False])
def test_the_best_episode_is_the_best_path(random_instance, most, best_rewards, closed):
    """Where the triangle inequality holds, an optimal path is among the episodes."""
    for seed in range(5):
        instance = random_instance(6, "EXACT_2D", seed, closed)
        environment = OrienteeringEnvironment([instance], 8)
        assert environment.reset([0], [0])[0] + best_rewards(environment) == most(instance)


def test_listed_actions_and_observation(random_instance):
    """The most score for the distance first; what is observed of slots is what the instance says."""
    instance = replace(random_instance(9, "EUC_2D", 4), limit=150.0)
    environment, wide = OrienteeringEnvironment([instance], 1, 3), OrienteeringEnvironment([instance], 1)
    seen, every = environment.observe([0]), wide.observe([0])
    assert seen["action"][0].tolist() == every["action"][0, :3].tolist()
    shown = every["action"][0][every["mask"][0, :-2]]
    worth = every["scores"][0, : len(shown)] / np.maximum(1e-12, every["distances"][0, -2, : len(shown)])
    assert (np.diff(worth) <= 0).all() and every["remaining"][0] == len(shown) > 3
    assert every["scores"][0, : len(shown)].tolist() == instance.scores[shown].tolist()
    assert every["left"][0] == pytest.approx(instance.limit)
    points = instance.graph.points
    apart = np.floor(np.linalg.norm(points[shown] - points[instance.end], axis=1) + 0.5)
    assert every["distances"][0, -1, : len(shown)].tolist() == apart.tolist()


def test_decisions_lead_to_the_path_or_a_better_one(random_instance, last_listed, replayed):
    """Replayed, they are legal, begin as the path does and end the episode; a maximal path is reached exactly."""
    for seed, kind in [(s, k) for s in range(4) for k in ("EUC_2D", "EXACT_2D", "GEO")]:
        instance = random_instance(9, kind, seed, seed % 2 == 0)
        environment = OrienteeringEnvironment([instance], 1)
        whole = last_listed(environment)
        for path in (whole, whole[[0, -1]]):
            decisions = ORIENTEERING.decisions(instance, path)
            total = replayed(environment, decisions)
            assert total == pytest.approx(ORIENTEERING.evaluate(instance, environment.solution(0)))
            assert total >= ORIENTEERING.evaluate(instance, path)
            assert len(path) == 2 or decisions.tolist() == path[1:-1].tolist()


def test_features_do_not_change_with_the_plane(random_instance):
    """A token a slot and two for the ends, finite, the same when turned, mirrored or in other units of length and score."""
    instance = random_instance(9, "EXACT_2D", 5)
    copies = ORIENTEERING.symmetries(instance)
    assert len(copies) == 8
    graph = replace(instance.graph, points=3 * instance.graph.points)
    copies.append(replace(instance, graph=graph, limit=3 * instance.limit, scores=2 * instance.scores))
    tokens = [ORIENTEERING.features["nodes"](OrienteeringEnvironment([each], 1, 5).observe([0])) for each in copies]
    assert tokens[0].x.shape == (1, 7, TOKENS) and tokens[0].pairs.shape == (1, 7, 7, PAIRS) and np.isfinite(tokens[0].x).all()
    for other in tokens[1:]:
        np.testing.assert_allclose(other.x, tokens[0].x, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(other.pairs, tokens[0].pairs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("action", [-1, 0, 9, 10**6])
def test_illegal_actions_are_refused(random_instance, action):
    """Unknown nodes and the start."""
    environment = OrienteeringEnvironment([random_instance(9, "EUC_2D", 1)], 1)
    with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
        environment.step([0], [0], [action])


def test_wrong_calls(random_instance):
    """No instances, unknown instances, solutions of episodes that are not over, and ends that are too far apart."""
    instance = replace(random_instance(9, "EUC_2D", 4), limit=150.0)
    for arguments in (([], 1), ([instance], 0), ([instance], 1, 0)):
        with pytest.raises(UsageError):
            OrienteeringEnvironment(*arguments)
    environment = OrienteeringEnvironment([instance], 1)
    with pytest.raises(UsageError, match="instances are integers"):
        environment.reset([0], [1])
    with pytest.raises(UsageError, match="can still be visited in row 0"):
        environment.solution(0)
    apart = random_instance(9, "EXACT_2D", 4, False)
    with pytest.raises(UsageError, match="longer than the limit"):
        OrienteeringEnvironment([replace(apart, limit=0.0)], 1)
