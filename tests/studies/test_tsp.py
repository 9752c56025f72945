"""The studies of tsp: what they count and compare."""

from __future__ import annotations

import numpy as np
import pytest
from tsp_atsp_classes import doubled, undoubled
from tsp_heatmap_prior import counted
from tsp_heatmap_recall import KINDS, recall
from tsp_policies import fresh, gaps, optima

from corl.networks import checkpoints
from corl.policy import RulePolicy
from corl.problems.tsp.generators import atsp, uniform
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.eax.solver import Eax
from corl.solvers.tsp.heatmap.heatmap import NEAREST


def test_the_prior_is_what_our_tours_say():
    """P(k) counted anew on a few instances is close to the numbers in the file."""
    assert np.allclose(counted(200, 5, 6), NEAREST[:6], atol=0.02)


def test_the_doubled_graph():
    """A directed tour and its tour of the doubled graph, in either direction, are as long as each other but for a constant."""
    instance, judge = atsp(size=30, kind="crane", seed=2), Tsp()
    both, random, constants = doubled(instance), np.random.default_rng(0), set()
    for turned in (False, True, False):
        tour = random.permutation(30)
        pairs = np.stack([30 + tour, tour], 1).ravel()  # in, out, in, out ...
        pairs = np.roll(pairs[::-1] if turned else pairs, int(random.integers(60)))
        constants.add(judge.evaluate(both, pairs) - judge.evaluate(instance, tour))
        found = undoubled(pairs)
        assert np.array_equal(np.roll(found, -int(np.flatnonzero(found == tour[0])[0])), tour)
    assert len(constants) == 1


def test_recall():
    """An edge counts from either end."""
    tour, near = np.array([2, 0, 1, 3]), np.array([[1, 2], [2, 3], [3, 1], [0, 1]], np.int32)
    assert recall(near, tour) == 1.0 and recall(near[:, :1], tour) == 0.5


def test_what_five_candidates_hold():
    """Five alpha-nearest hold nearly all edges of a good tour; they and the shipped network's hold more than the five nearest."""
    instance = uniform(size=200, edge_weight_type="EXACT_2D", seed=6)
    run = Run(Tsp(), instance, iterations=2000)
    Eax().solve(instance, run)
    found = {name: recall(kind(instance), run.solution) for name, kind in KINDS.items()}
    assert found["alpha"] > 0.985 and min(found["alpha"], found["gnn"]) > found["nearest"]


class Nearest(RulePolicy):
    """The policy that goes to the nearest city."""

    def evaluate(self, observation):
        """The first slot."""
        slots = observation["mask"].shape[1] - 2
        return np.tile(-np.arange(slots, dtype=np.float32), (len(observation["mask"]), 1)), np.zeros(len(observation["mask"]))


@pytest.mark.chance
def test_the_shipped_policy_is_good():
    """On 16 fresh instances of 60 cities its greedy tours are within 8 % of the optimum on average; nearest neighbour's are not
    within 15 %."""
    policy, instances = checkpoints.load_policy("tsp-bq"), fresh("uniform", 60, 16)
    best = optima(instances)
    assert gaps(policy, instances, best, "greedy").mean() < 0.08
    assert gaps(Nearest(), instances, best, "greedy").mean() > 0.15
