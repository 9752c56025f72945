"""Lessons: states of solutions, with what was done there."""

from __future__ import annotations

import numpy as np
import pytest

from corl import registry
from corl.errors import UsageError
from corl.learning.imitation import lessons
from corl.learning.self_improvement import improve
from corl.learning.selfplay import Source
from corl.networks.tokens import Tokens
from corl.problems.tsp.generators import asymmetric, uniform
from corl.search.decoding import WithoutReplacement


def plain(observation):
    """Tokens that are just what is seen: city numbers (or item numbers), so that a test can tell where a state is."""
    cities = observation["cities"]
    return Tokens(cities[..., None].astype(np.float32), cities >= 0, None, np.ones(len(cities)))


@pytest.mark.parametrize("make", [uniform, asymmetric])
def test_lessons_of_a_tour_are_its_steps(make):
    """In each state the slot taken is the tour's next city after the origin; each place of the tour comes at most once."""
    problem, random = registry.problem("tsp"), np.random.default_rng(0)
    instances = [make(size=size, seed=size) for size in (5, 9, 12)]
    tours = [random.permutation(instance.n) for instance in instances]
    for instance, tour in zip(instances, tours):
        found = lessons(problem, [instance], [tour], plain, 99, random)
        origins = found["x"][:, -2, 0].astype(int)
        taken = found["x"][np.arange(len(origins)), found["slot"], 0].astype(int)
        after = dict(zip(tour, np.roll(tour, -1)))
        assert len(origins) == len(tour) - 2 == len(set(origins))  # the last step is forced
        assert all(after[a] == b for a, b in zip(origins, taken))


def test_so_many_states_are_drawn():
    """Up to `states` of each solution, other ones for another random state, the same for the same."""
    problem, instances = registry.problem("tsp"), [uniform(size=10, seed=seed) for seed in range(3)]
    tours = [np.arange(10)] * 3
    one, two, other = (lessons(problem, instances, tours, plain, 2, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert 3 <= len(one["slot"]) <= 6
    np.testing.assert_array_equal(one["x"], two["x"])
    assert one["x"].shape != other["x"].shape or (one["x"] != other["x"]).any()


def test_actions_that_are_not_listed_teach_nothing():
    """A tour that goes to the farthest city leaves out the steps that the environment does not list."""
    problem, instance = registry.problem("tsp"), uniform(size=60, seed=1)
    tour = np.random.default_rng(0).permutation(60)
    found = lessons(problem, [instance], [tour], plain, 99, np.random.default_rng(0))
    assert 0 < len(found["slot"]) < 58


def test_no_solutions_no_lessons(knapsack):
    """Nothing to learn from gives no arrays; a problem that cannot tell its decisions says so."""
    problem = registry.problem("tsp")
    assert lessons(problem, [uniform(size=2)], [np.arange(2)], plain, 5, np.random.default_rng(0)) == {}
    with pytest.raises(UsageError, match="cannot tell the decisions"):
        super(type(problem), problem).decisions(None, None)


def test_improvement_keeps_the_best_sample(knapsack):
    """The best of the samples is no worse than their mean, at most the optimum, and the lessons lead to it."""

    class Uniform:
        def tokens(self, observation):
            return Tokens(observation["items"][..., None].astype(np.float32), observation["items"] >= 0, None, np.ones(1))

        def evaluate(self, observation):
            return np.where(observation["items"] >= 0, 0.0, -np.inf), np.zeros(len(observation["items"]))

    source = Source(registry.problem(knapsack.NAME), "", {"size": 7}, 5)
    found = improve(source, Uniform(), 3, 4, WithoutReplacement(16))
    sacks = source.instances(3, 4)
    assert (found.best >= found.mean).all() and (found.best > found.mean).any()
    assert all(best <= knapsack.best(sack) + 1e-9 for best, sack in zip(found.best, sacks))
    again = improve(source, Uniform(), 3, 4, WithoutReplacement(16))
    np.testing.assert_array_equal(found.best, again.best)
    np.testing.assert_array_equal(found.moves["slot"], again.moves["slot"])
    everything = improve(source, Uniform(), 3, 4, WithoutReplacement(5000))
    np.testing.assert_allclose(everything.best, [knapsack.best(sack) for sack in sacks])
