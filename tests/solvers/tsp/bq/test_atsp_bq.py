"""Recipe tsp.atsp-bq and the policy it made: what it is taught, that it learns, and how the shipped weights stand to rules."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl.errors import UsageError
from corl.learning.training import train
from corl.networks.checkpoints import load, load_policy
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.generators import asymmetric
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.solvers.tsp.bq.asymmetric_lessons import examples, least_estimate, way_on
from corl.solvers.tsp.bq.asymmetric_recipe import AtspBqRecipe
from corl.solvers.tsp.exact.dynamic_programming import shortest_tour


def play(instances, score):
    """The mean length of the tours that go where the score of an observation, [R, K], is highest."""
    environment, rows = TspEnvironment(instances, len(instances)), np.arange(len(instances))
    environment.reset(rows, rows)
    for _ in range(instances[0].n - 1):
        seen = environment.observe(rows)
        environment.step(rows, rows, seen["cities"][rows, score(seen).argmax(axis=1)])
    return np.mean([Tsp().evaluate(instance, environment.solution(row)) for row, instance in enumerate(instances)])


def scores(network):
    """The logits of an observation by a network."""

    def score(seen):
        tokens = network.tokens(seen).arrays()
        return network.infer([{}], np.zeros(len(tokens["x"]), np.int64), tokens)[0]

    return score


def test_shipped_weights_are_as_good_as_the_best_rule(shuffled):
    """On 24 instances of 40 cities: at most 1 % longer than by the best rule by hand (measured: 1 % shorter, and on fresh
    instances of 100 cities no difference); at least 2 % shorter than by the assignment's arcs, 20 % than by the nearest city, by
    cost or by reduced cost, 40 % than with the same weights shuffled; the values are within 3 % of what comes.
    """
    instances, network = [asymmetric(size=40, seed=900 + s) for s in range(24)], load_policy("atsp-bq")
    policy = play(instances, scores(network))
    first = play(instances, lambda seen: np.where(seen["mask"][:, :-2], -np.arange(seen["mask"].shape[1] - 2.0), -np.inf))
    nearest = play(instances, lambda seen: np.where(seen["mask"][:, :-2], -seen["distances"][:, -2, :-2], -np.inf))
    assigned = play(instances, lambda seen: np.where(seen["mask"][:, :-2], -seen["actions"][..., 0], -np.inf))
    assert policy < 1.01 * play(instances, lambda seen: -least_estimate(seen))
    assert policy < 0.8 * min(first, nearest) and policy < 0.98 * assigned
    environment = TspEnvironment(instances, 24)
    environment.reset(range(24), range(24))
    assert -network.on(environment).evaluate(np.arange(24))[1].mean() == pytest.approx(policy, rel=0.03)
    chance = shuffled(network)
    assert policy < 0.6 * play(instances, scores(chance))


def test_way_on_is_shortest():
    """The teacher's way on from any beginning is as short as dynamic programming's."""
    instance, random = asymmetric(size=12, seed=5), np.random.default_rng(0)
    environment = TspEnvironment([instance], 1)
    for begun in range(8):
        environment.reset([0], [0])
        for _ in range(begun):
            listed = environment.actions([0])[0]
            environment.step([0], [0], [random.choice(listed[listed >= 0])])
        here, t = environment.state.order[0, begun], begun + 1
        way = way_on(environment, 0)
        assert sorted(way) == sorted(environment.state.order[0, t:12])
        cities = [here, *way]
        costs = instance.matrix[np.ix_(cities, [0, *way])]
        np.fill_diagonal(costs, 0.0)
        small = TspInstance("rest", "EXPLICIT", matrix=costs, symmetric=False)
        order = np.arange(len(cities))
        assert Tsp().evaluate(small, order) == pytest.approx(Tsp().evaluate(small, shortest_tour(metric_of(small), len(cities))))


def test_examples_are_deterministic_and_right():
    """A batch depends on seed and number alone; the action taught is listed; values are lengths in the row's unit."""
    make = examples(3, 10, 20, 4, "matrix", None)
    first, again, other = make(0), examples(3, 10, 20, 4, "matrix", None)(0), make(1)
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert first.x.shape != other.x.shape or not np.array_equal(first.x, other.x)
    rows = np.flatnonzero(first.slot >= 0)
    assert len(rows) > 0.9 * len(first.slot) and first.mask[rows, first.slot[rows]].all()
    assert first.mask[:, -2:].all() and (np.abs(first.value + 1.0) < 0.5).all()


def test_rule_takes_the_least_estimate():
    """Following the least estimate is better than following the assignment's arcs."""
    instances = [asymmetric(size=40, seed=s) for s in range(8)]
    assigned = play(instances, lambda seen: np.where(seen["mask"][:, :-2], -seen["actions"][..., 0], -np.inf))
    assert play(instances, lambda seen: -least_estimate(seen)) < 0.98 * assigned


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_recipe_learns(tmp_path, monkeypatch, sign):
    """After sixty steps the tours are within a tenth of the rule's; with the loss's sign flipped they are half as long again."""
    options = {"smallest": 10, "largest": 24, "tours": 4, "width": 32, "layers": 1, "rate": 5e-3}
    cross_entropy = torch.nn.functional.cross_entropy
    monkeypatch.setattr(torch.nn.functional, "cross_entropy", lambda *given, **more: sign * cross_entropy(*given, **more))
    file = tmp_path / "policy.safetensors"
    train("tsp", "atsp-bq", steps=60, output=file, **options)
    network, header = load(file)
    assert header["training"]["steps"] == 60
    instances = [asymmetric(size=24, seed=50 + s) for s in range(8)]
    rule = play(instances, lambda seen: -least_estimate(seen))
    learned = play(instances, scores(network))
    assert learned < 1.1 * rule if sign > 0 else learned > 1.5 * rule


@pytest.mark.parametrize(
    "options", [{"smallest": 9}, {"largest": 20}, {"tours": 0}, {"width": 63}, {"rate": 0.0}, {"features": "plane"}]
)
def test_options_are_checked(options):
    """What a recipe does not take is refused by name."""
    with pytest.raises(UsageError, match="accepted"):
        AtspBqRecipe(**options)
