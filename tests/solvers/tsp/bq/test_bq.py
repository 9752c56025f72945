"""tsp.bq: the teacher is right, states are what the environment shows, the policy learns, and the shipped one is good."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import numpy as np
import pytest
import torch

from corl.errors import UsageError
from corl.learning.training import train
from corl.networks import checkpoints
from corl.networks.attention import AttentionPolicy
from corl.problems.tsp.environment import SURROUNDINGS, TspEnvironment
from corl.problems.tsp.features import PAIRS, SHOWN, TOKENS, plane
from corl.problems.tsp.generators import uniform
from corl.problems.tsp.instance import TspInstance
from corl.solvers.tsp.bq.lessons import Lessons, generated
from corl.solvers.tsp.bq.recipe import BqRecipe, losses
from corl.solvers.tsp.bq.subpaths import Paths, draw
from corl.solvers.tsp.bq.teacher import path_of, tour_of


def length(points):
    """Of a way through the points."""
    return np.sqrt((np.diff(points, axis=0) ** 2).sum(-1)).sum()


@pytest.mark.parametrize("n", [5, 7, 8])
def test_the_teacher_finds_shortest_paths(n):
    """From the first to the last point through all others: as short as by brute force."""
    points = np.random.default_rng(n).random((n, 2))
    best = min(length(points[[0, *order, n - 1]]) for order in permutations(range(1, n - 1)))
    found = path_of(points, 1)
    assert sorted(found) == list(range(n)) and found[0] == 0 and found[-1] == n - 1
    assert length(points[found]) == pytest.approx(best)


def test_a_path_through_a_whole_tour_is_the_tour():
    """With the origin as destination, too, the path is as long as the tour that eax finds."""
    instance = uniform(size=40, edge_weight_type="EXACT_2D", seed=3)
    tour = tour_of(instance, 0)
    closed = instance.points[[*tour, tour[0]]]
    assert length(closed[path_of(closed, 0)]) == pytest.approx(length(closed), rel=1e-3)


def lessons_of(tours, own, seed=0):
    """A store with some tours of 30 to 40 cities and some own beginnings of an untrained policy."""
    lessons = Lessons(partial(generated, 30, 40), np.random.default_rng(seed))
    lessons.add_tours(tours)
    if own:
        torch.manual_seed(0)
        policy = AttentionPolicy("tsp", "plane", TOKENS, PAIRS, width=8, layers=1, heads=1).eval()
        lessons.add_own(policy, own, 2)
    return lessons


def test_states_are_those_that_the_environment_shows():
    """A state drawn from a tour has the tokens of TspEnvironment where it has gone the same way, and the tour's next city."""
    points = np.random.default_rng(0).random((70, 2))  # in the order of the "tour"
    paths = Paths(np.pad(points, ((0, 0), (0, 1))), np.zeros(1, np.int64), np.array([70]), np.array([True]))
    states = draw(paths, 12, SHOWN, 32 + SURROUNDINGS - SHOWN, np.random.default_rng(5))
    tokens = plane(states.observation)
    environment = TspEnvironment([TspInstance("t", "EXACT_2D", points)], 1)
    for row in range(12):
        left = int(states.observation["remaining"][row])
        here, end = (points == states.observation["coordinates"][row, i, :2] for i in (-2, -1))
        origin, destination = int(here.all(1).argmax()), int(end.all(1).argmax())
        step = 1 if (destination - origin - left - 1) % 70 == 0 else -1
        before = [(origin + step * (left + 1 + k)) % 70 for k in range(70 - left)]  # from the destination to the origin
        assert before[0] == destination and before[-1] == origin
        environment.reset([0], [0], np.array([destination], np.uint64))
        for city in before[1:]:
            environment.step([0], [0], [city])
        seen = plane(environment.observe([0]))
        kept = np.r_[0:SHOWN, -2, -1]
        np.testing.assert_array_equal(tokens.mask[row], seen.mask[0, kept])
        np.testing.assert_allclose(tokens.x[row], seen.x[0, kept], atol=1e-5)
        np.testing.assert_allclose(tokens.pairs[row], seen.pairs[0][np.ix_(kept, kept)], atol=1e-5)
        np.testing.assert_allclose(tokens.scale[row], seen.scale[0])
        assert environment.actions([0])[0, states.slot[row]] == (origin + step) % 70 or states.slot[row] < 0
        way = points[[(origin + step * k) % 70 for k in range(left + 2)]]
        assert states.length[row] == pytest.approx(length(way))


def test_own_beginnings_are_completed_and_drawn():
    """Own paths end where their tours began, and a batch has the asked share of them."""
    lessons = lessons_of(3, 4)
    assert lessons.closed.sum() == 3 and (~lessons.closed).sum() == 8 and (lessons.size[~lessons.closed] >= 10).all()
    states = lessons.draw(20, 0.5, SHOWN, 12)
    assert len(states.slot) == 20 and (states.observation["remaining"] >= 2).all() and (states.length > 0).all()


def test_the_store_is_restored_to_the_bit():
    """From its state_dict, the same states are drawn."""
    lessons, other = lessons_of(3, 2), Lessons(partial(generated, 30, 40), np.random.default_rng(9))
    other.load_state_dict(lessons.state_dict())
    a, b = lessons.draw(30, 0.5, SHOWN, 12), other.draw(30, 0.5, SHOWN, 12)
    np.testing.assert_array_equal(a.slot, b.slot)
    np.testing.assert_array_equal(a.observation["coordinates"], b.observation["coordinates"])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_losses_point_downhill(sign):
    """Forty steps against the gradient more than halve the cross-entropy on fresh states; with its sign flipped it grows."""
    lessons = lessons_of(12, 0)
    torch.manual_seed(0)
    network = AttentionPolicy("tsp", "plane", TOKENS, PAIRS, width=16, layers=1, heads=2, feedforward=16)
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3)
    fresh = lessons_of(4, 0, seed=1).draw(200, 0.0, SHOWN, 36)
    before = losses(network, fresh)[0].item()
    for _ in range(40):
        chosen, value, _ = losses(network, lessons.draw(32, 0.0, SHOWN, 36))
        optimiser.zero_grad()
        (sign * (chosen + value)).backward()
        optimiser.step()
    after = losses(network, fresh)[0].item()
    assert after < 0.5 * before if sign > 0 else after > before


@pytest.mark.slow
def test_the_recipe_goes_on_where_it_stopped(tmp_path):
    """30 steps at once and 15 + 15 steps give the same weights, over the change from tours to own beginnings."""
    options = {"smallest": 20, "largest": 25, "tours": 4, "every": 1, "own_from": 0.4, "batch": 8, "width": 8, "heads": 1}
    whole, halves = tmp_path / "whole.safetensors", tmp_path / "halves.safetensors"
    train("tsp", "bq", steps=30, output=whole, **options)

    def stop(training):
        if training.step >= 15:
            training.interrupt()

    train("tsp", "bq", steps=30, output=halves, **options, on_progress=stop)
    train("tsp", "bq", steps=30, output=halves, **options, resume=True)
    (a, _), (b, _) = checkpoints.load(whole), checkpoints.load(halves)
    for name, tensor in a.state_dict().items():
        torch.testing.assert_close(b.state_dict()[name], tensor, rtol=0, atol=0)


@pytest.mark.parametrize("option", [{"smallest": 5}, {"own": 2.0}, {"width": 30}, {"rate": 0.0}, {"batch": 1}])
def test_options_are_checked(option):
    """Each bad option is refused with what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        BqRecipe(**option)
