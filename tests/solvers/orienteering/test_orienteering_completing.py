"""Ruin and recreate completes paths, and is imitated where rounded distances break the triangle inequality."""

from __future__ import annotations

import numpy as np
import pytest

from corl import registry
from corl.errors import UsageError
from corl.learning.demonstrations import Teacher, demonstrate
from corl.networks.attention import AttentionPolicy
from corl.networks.tokens import token_sizes
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.environments.insertion.environment import InsertionEnvironment
from corl.problems.orienteering.problem import Orienteering
from corl.solvers.orienteering.ruin.solver import RuinRecreate


@pytest.mark.parametrize("kind", ["EXACT_2D", "EUC_2D", "EXPLICIT"])
def test_completions_are_legal(random_instance, kind):
    """From anywhere on a random path each step is, the judge agrees on the score, and the pool stays as it was."""
    for seed in range(10):
        instance, random = random_instance(10, kind, seed, closed=seed % 2 == 0), np.random.default_rng(seed)
        environment = OrienteeringEnvironment([instance], 1)
        total = environment.reset([0], [0])[0]
        for _ in range(int(random.integers(0, 3))):
            if (listed := environment.actions([0])[0])[0] >= 0:
                total += environment.step([0], [0], [random.choice(listed[listed >= 0])])[0]
        before = [np.copy(array) for array in environment.state[1:]]
        steps = RuinRecreate().complete(environment, 0, 200, seed)
        assert all(np.array_equal(a, b) for a, b in zip(before, environment.state[1:]))
        for right in steps:
            total += environment.step([0], [0], right)[0]
        assert environment.actions([0])[0, 0] < 0
        assert total == pytest.approx(Orienteering().evaluate(instance, environment.solution(0)))


def test_a_completion_from_the_start_is_the_best(random_instance, most):
    """Of small instances."""
    for seed in range(6):
        instance = random_instance(7, "EXACT_2D", seed)
        environment = InsertionEnvironment([instance], 1)
        total = environment.reset([0], [0])[0]
        for right in RuinRecreate().complete(environment, 0, 500, seed):
            total += environment.step([0], [0], right)[0]
        assert total == pytest.approx(most(instance))


@pytest.mark.parametrize("completing", [False, True])
def test_imitation_where_the_triangle_inequality_is_broken(random_instance, completing):
    """Random matrices and coarsely rounded distances: every teacher's path becomes lessons, whatever nodes no episode goes to."""
    instances = [random_instance(11, ("EXPLICIT", "EUC_2D")[seed % 2], seed, closed=seed % 3 > 0) for seed in range(12)]
    problem = registry.problem("orienteering")
    sizes = token_sizes(problem, "insertion", "insertion", instances[0])
    network = AttentionPolicy(**sizes, width=8, layers=1, heads=2, feedforward=8).eval()
    teacher = Teacher("ruin-recreate", 100, completing)
    episodes = demonstrate(network, problem, instances, teacher, 4, np.random.default_rng(0))
    assert episodes.lengths.sum() >= 12 and (episodes.moves["policy"].sum(axis=1) == 1).all()


def test_others_are_refused():
    """An environment of another problem."""
    knapsack = registry.problem("knapsack")
    with pytest.raises(UsageError, match="it completes paths"):
        RuinRecreate().complete(knapsack.environment([knapsack.generators["unit"](size=8)], 1), 0, 10, 0)
