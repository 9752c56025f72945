"""Dp completes knapsacks that a policy has partly filled."""

from __future__ import annotations

import numpy as np
import pytest

from corl import registry
from corl.errors import UsageError
from corl.problems.knapsack.environment import KnapsackEnvironment
from corl.problems.knapsack.environments.core.environment import CoreEnvironment
from corl.problems.knapsack.problem import Knapsack
from corl.solvers.knapsack.dp.solver import Dp


@pytest.mark.parametrize("kind", [KnapsackEnvironment, CoreEnvironment])
def test_completions_are_optimal(random_instance, most, kind):
    """From the start the most there is; whatever else is right leads to as much; the pool stays as it was."""
    several = 0
    for seed in range(20):
        instance = random_instance(3 + seed % 8, 1, seed)
        environment = kind([instance], 2)
        total = environment.reset([0], [0])[0]
        before = [array.copy() for array in environment.state]
        steps = Dp().complete(environment, 0, 1000, 0)
        assert all(np.array_equal(a, b) for a, b in zip(before, environment.state))
        for right in steps:
            several += len(right) > 1
            for item in right:
                value = total + environment.step([0], [1], [item])[0]
                for first, *_ in Dp().complete(environment, 1, 1000, 0):
                    value += environment.step([1], [1], [first])[0]
                assert value == pytest.approx(most(instance)), seed
            total += environment.step([0], [0], right[:1])[0]
        assert environment.actions([0])[0, 0] < 0
        assert total == pytest.approx(most(instance)) == Knapsack().evaluate(instance, environment.solution(0))
    assert several


def test_others_are_refused():
    """An environment of another problem."""
    graph = registry.problem("orienteering").generators["generation-1"](size=8)
    with pytest.raises(UsageError, match="it completes knapsacks"):
        Dp().complete(registry.problem("orienteering").environment([graph], 1), 0, 10, 0)
