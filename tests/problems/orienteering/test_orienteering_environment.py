"""Orienteering as a decision process: the best episode is the best path, decisions lead back to a path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.features import PAIRS, TOKENS
from corl.problems.orienteering.problem import Orienteering

ORIENTEERING = Orienteering()


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


def test_decisions_leave_out_what_no_episode_reaches():
    """Rounded to 1, 1 and 3, the way by B is shorter than the direct one from A to the end: A is left out, B is not."""
    points = [[0.6, 0.8], [0.0, 0.0], [1.4, 0.0], [2.8, 0.0]]
    data = {"points": points, "edge_weight_type": "EUC_2D", "scores": [0, 5, 1, 0], "limit": 3, "start": 0, "end": 3}
    instance, path = ORIENTEERING.adapt(data), np.array([0, 1, 2, 3])
    assert ORIENTEERING.evaluate(instance, path) == 6.0
    assert ORIENTEERING.decisions(instance, path).tolist() == [2]


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


def test_no_way_to_the_end_is_refused(random_instance):
    """Ends that are too far apart."""
    apart = random_instance(9, "EXACT_2D", 4, False)
    with pytest.raises(UsageError, match="longer than the limit"):
        OrienteeringEnvironment([replace(apart, limit=0.0)], 1)
