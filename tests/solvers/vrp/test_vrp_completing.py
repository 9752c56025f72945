"""Ruin and recreate completes partial plans."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.vrp.environment import VrpEnvironment
from corl.problems.vrp.environments.savings.environment import SavingsEnvironment
from corl.problems.vrp.generators import uniform
from corl.problems.vrp.problem import Vrp
from corl.solvers.vrp.ruin.solver import RuinRecreate


@pytest.mark.parametrize("begun", [0, 1, 4, 11, 20])
def test_completions_are_legal_and_good(begun):
    """Every right action is legal where it is right, the plan costs no more than that by savings, the judge agrees, and the pool
    stays as it was."""
    instance, random = uniform(size=20, seed=begun), np.random.default_rng(begun)
    environment = SavingsEnvironment([instance], 2)
    total = environment.reset([0], [0])[0]
    for _ in range(begun):
        listed = environment.actions([0])[0]
        total += environment.step([0], [0], [random.choice(listed[listed >= 0])])[0]
    expected = total - environment.observe([0])["plan"][0]
    before = [np.copy(array) for array in environment.state[1:]]
    steps = RuinRecreate().complete(environment, 0, 2000, 1)
    assert all(np.array_equal(a, b) for a, b in zip(before, environment.state[1:]))
    for right in steps:
        for action in right:
            assert np.isfinite(environment.step([0], [1], [action])[0])
        total += environment.step([0], [0], right[:1])[0]
    assert environment.actions([0])[0, 0] < 0 and len(steps) == 20 - begun
    assert -total == pytest.approx(Vrp().evaluate(instance, environment.solution(0)))
    assert begun == 20 or total >= expected - 1e-9


def test_others_are_refused():
    """The environment with windows and prizes."""
    with pytest.raises(UsageError, match="accepted: the environment 'savings'"):
        RuinRecreate().complete(VrpEnvironment([uniform(size=10)], 1), 0, 10, 0)
