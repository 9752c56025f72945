"""Plans as games: what a game made is played again, and what solvers plan becomes legal actions that are worth having."""

from __future__ import annotations

import numpy as np

import corl
from corl.learning.demonstrations import Teacher, demonstrate, lessons
from corl.networks.attention import AttentionPolicy
from corl.networks.tokens import token_sizes
from corl.problems.memory.environment import MappingEnvironment
from corl.problems.memory.generators import dag, mixed
from corl.problems.memory.pool import PASS
from corl.problems.memory.problem import Mapping

MAPPING = Mapping()


def played(instance, actions):
    """(microseconds, plan) of a game."""
    environment = MappingEnvironment([instance], 1)
    total = environment.reset([0], [0])[0] + sum(environment.step([0], [0], [action])[0] for action in actions)
    return -total, environment.solution(0)


def test_games_are_played_again():
    """The plan of a random game without alias groups leads back to a game of the same time, though not by the same actions
    (what is kept for nothing is passed)."""
    random, different = np.random.default_rng(0), 0
    for seed in range(12):
        instance = dag(ops=15, seed=seed, fast_mib=2.0)
        environment = MappingEnvironment([instance], 1)
        taken, total = [], environment.reset([0], [0])[0]
        while (legal := environment.actions([0])[0])[0] >= 0:
            taken.append(legal[0] if random.random() < 0.7 else random.choice(legal[legal >= 0]))
            total += environment.step([0], [0], taken[-1:])[0]
        again = MAPPING.decisions(instance, environment.solution(0))
        assert len(again) <= len(instance.access_tensor)
        time, plan = played(instance, again)
        assert time <= -total * (1 + 1e-9) and MAPPING.evaluate(instance, plan) <= -total * (1 + 1e-9)
        different += bool((again != PASS).any())
    assert different > 8


def test_plans_of_a_solver_become_games():
    """Plans of a compiler-like greedy, alias groups among them, end as games that save the greater part of what they save."""
    slow = plans = games = 0.0
    for seed in range(10):
        instance = mixed(size=12, seed=seed)
        found = _solved(instance)
        time, plan = played(instance, MAPPING.decisions(instance, found))
        assert abs(MAPPING.evaluate(instance, plan) - time) <= 1e-9 * time
        base = MAPPING.describe(instance)["all_slow_microseconds"]
        slow, plans, games = slow + 1, plans + MAPPING.evaluate(instance, found) / base, games + time / base
    assert slow - games > 0.6 * (slow - plans) > 0


def test_demonstrations():
    """Episodes of a teacher have the objective of its plan as a game; all of the policy is on what was done."""
    instances = [mixed(size=8, seed=seed) for seed in range(3)]
    eyes = AttentionPolicy(**token_sizes(MAPPING, "game", "", instances[0]), width=1, heads=1, layers=1)
    episodes = demonstrate(eyes, MAPPING, instances, Teacher("learned-priority", 1), None, np.random.default_rng(0))
    for k, instance in enumerate(instances):
        time, _ = played(instance, MAPPING.decisions(instance, _solved(instance)))
        assert abs(time + episodes.objective[k]) <= 1e-9 * time
    moves = episodes.moves
    assert (moves["policy"][np.arange(len(moves["slot"])), moves["slot"]] == 1).all()
    assert (moves["value"] == moves["returns"]).all()
    taught = lessons(eyes, MAPPING, instances, [_solved(one) for one in instances], 4, np.random.default_rng(1))
    assert set(taught.observed) == {"x", "mask", "scale"} and 0 < taught.lengths.sum() <= 12


def _solved(instance):
    return corl.solve(instance, problem="memory", solver="learned-priority", iterations=1).solution
