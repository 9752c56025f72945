"""Lessons: states of solutions, with what was done there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl import registry
from corl.decoding import WithoutReplacement
from corl.errors import UsageError
from corl.learning.algorithms.imitation import Batch, loss
from corl.learning.algorithms.self_improvement import improve
from corl.learning.demonstrations import Teacher, demonstrate, lessons
from corl.learning.source import Source
from corl.policy import RulePolicy
from corl.problems.tsp.generators import asymmetric, uniform


class Eyes(RulePolicy):
    """Sees city numbers (or item numbers), so that a test can tell where a state is; finds all actions alike."""

    def __init__(self, name="cities"):
        self.name = name

    def context(self, environment, which):
        return {}

    def observe(self, view):
        listed = view.arrays[self.name]
        return {"x": listed, "scale": np.ones(len(listed))}

    def evaluate(self, observation):
        return np.where(observation[self.name] >= 0, 0.0, -np.inf), np.zeros(len(observation[self.name]))


@pytest.mark.parametrize("make", [uniform, asymmetric])
def test_lessons_of_a_tour_are_its_steps(make):
    """In each state the slot taken is the tour's next city after the origin; each place of the tour comes at most once. The
    values are what is left of the tour's length."""
    problem, random = registry.problem("tsp"), np.random.default_rng(0)
    for size in (5, 9, 12):
        instance = make(size=size, seed=size)
        tour = random.permutation(size)
        found = lessons(Eyes(), problem, [instance], [tour], 99, random)
        origins, moves = found.observed["x"][:, -2], found.moves
        taken = found.observed["x"][np.arange(len(origins)), moves["slot"]]
        after = dict(zip(tour, np.roll(tour, -1)))
        assert len(origins) == len(tour) - 2 == len(set(origins)) == found.lengths.sum()  # the last step is forced
        assert all(after[a] == b for a, b in zip(origins, taken))
        assert (moves["policy"][np.arange(len(origins)), moves["slot"]] == 1).all() and (moves["policy"].sum(axis=1) == 1).all()
        assert found.objective[0] == pytest.approx(-problem.evaluate(instance, tour))
        assert (np.diff(moves["value"]) >= 0).all() and (moves["value"] == moves["returns"]).all()


def test_so_many_states_are_drawn():
    """Up to `states` of each solution, other ones for another random state, the same for the same."""
    problem, instances = registry.problem("tsp"), [uniform(size=10, seed=seed) for seed in range(3)]
    tours = [np.arange(10)] * 3
    one, two, other = (
        lessons(Eyes(), problem, instances, tours, 2, np.random.default_rng(seed)).observed["x"] for seed in (0, 0, 1)
    )
    assert 3 <= len(one) <= 6
    np.testing.assert_array_equal(one, two)
    assert one.shape != other.shape or (one != other).any()


def test_actions_that_are_not_listed_teach_nothing():
    """A tour that goes to far cities leaves out the steps that the environment does not list, and still ends as it does."""
    problem, instance = registry.problem("tsp"), uniform(size=60, seed=1)
    tour = np.random.default_rng(0).permutation(60)
    found = lessons(Eyes(), problem, [instance], [tour], 99, np.random.default_rng(0))
    assert 0 < found.lengths[0] < 58 and found.objective[0] == pytest.approx(-problem.evaluate(instance, tour))


def test_no_solutions_no_lessons(knapsack):
    """Nothing to learn from gives no moves; a problem that cannot tell its decisions says so."""
    problem = registry.problem("tsp")
    assert lessons(Eyes(), problem, [uniform(size=2)], [np.arange(2)], 5, np.random.default_rng(0)).moves == {}
    assert lessons(Eyes(), problem, [uniform(size=9)], [None], 5, np.random.default_rng(0)).moves == {}
    with pytest.raises(UsageError, match="does not determine the decisions"):
        super(type(problem), problem).decisions(None, None)


class Fixed(torch.nn.Module):
    """Logits [0, 1, 2] and the value 3, whatever the states."""

    def forward(self, states):
        return torch.tensor([[0.0, 1.0, 2.0]]).expand(states, 3), torch.full((states,), 3.0)


def test_losses_of_distributions_and_of_sets():
    """Cross-entropy with a distribution; minus the log of a set's probability; rows without a target teach the value alone."""
    log_p = torch.tensor([0.0, 1.0, 2.0]).log_softmax(0)
    value = torch.tensor([1.0, 3.0])
    told = torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])
    total, terms = loss(Fixed(), Batch(2, told, value), 0.5)
    assert terms == {"policy": pytest.approx(-(log_p[0] + log_p[2]).item() / 2), "value": 2.0}
    assert total.item() == pytest.approx(terms["policy"] + 1.0)
    total, _ = loss(Fixed(), Batch(2, told > 0, value))
    assert total.item() == pytest.approx(-torch.log(log_p[0].exp() + log_p[2].exp()).item(), rel=1e-6)


class Blind(torch.nn.Module):
    """As Fixed, and chooses between the first two actions alone."""

    def forward(self, states):
        return torch.tensor([[0.0, 1.0, -torch.inf]]).expand(states, 3), torch.zeros(states)


def test_an_action_that_a_network_does_not_choose_among_is_not_learned():
    """Of a target outside what the network chooses among nothing is left: the other row alone has a loss, and it is finite."""
    log_p = torch.tensor([0.0, 1.0]).log_softmax(0)
    told = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for target in (told, told > 0):
        total, _ = loss(Blind(), Batch(2, target, torch.zeros(2)))
        assert total.item() == pytest.approx(-log_p[1].item())


def test_improvement_keeps_the_best_sample(knapsack):
    """The best of the samples is no worse than their mean, at most the optimum, and the lessons lead to it."""
    source = Source(registry.problem(knapsack.NAME), "", [7], 5)
    found, again = (improve(source, Eyes("items"), 3, 4, WithoutReplacement(16), 64) for _ in range(2))
    sacks = source.instances(3, 4)
    assert (found.best >= found.mean).all() and (found.best > found.mean).any()
    assert all(best <= knapsack.best(sack) + 1e-9 for best, sack in zip(found.best, sacks))
    np.testing.assert_allclose(found.episodes.objective, found.best)
    np.testing.assert_array_equal(found.best, again.best)
    np.testing.assert_array_equal(found.episodes.moves["slot"], again.episodes.moves["slot"])
    everything = improve(source, Eyes("items"), 3, 4, WithoutReplacement(5000), 20_000)
    np.testing.assert_allclose(everything.best, [knapsack.best(sack) for sack in sacks])


def test_a_policy_plays_no_further_than_to_where_the_teacher_takes_over():
    """Each state with a choice is either played by the policy or taught: none is played that the teacher then completes anew."""
    asked = []

    class Counting(Eyes):
        def evaluate(self, observation):
            asked.append(len(observation["cities"]))
            return super().evaluate({"cities": observation["cities"][:, :-2]})

    instances, random = [uniform(size=12, seed=seed) for seed in range(10)], np.random.default_rng(1)
    found = demonstrate(Counting(), registry.problem("tsp"), instances, Teacher("eax", 3, completes=True), 99, random)
    assert sum(asked) > 0 and sum(asked) + found.lengths.sum() == 10 * (12 - 2)
    assert (found.lengths[:3] == 10).all() and (found.lengths >= 2).all()
