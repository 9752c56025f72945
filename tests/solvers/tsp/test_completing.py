"""Completing a partial tour: the way on is as short as by brute force, from any state, and it is what follows earns."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from corl import registry
from corl.errors import UsageError
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.generators import asymmetric, uniform
from corl.problems.tsp.problem import Tsp
from corl.solvers.tsp.eax.solver import Eax
from corl.solvers.tsp.ils.solver import Ils


@pytest.mark.parametrize(("solver", "make"), [(Eax(), uniform), (Ils(), uniform), (Ils(), asymmetric)])
def test_the_way_on_is_shortest(solver, make):
    """After any beginning of nine cities, the one city that there is at first included."""
    instance, random = make(size=9, seed=5), np.random.default_rng(0)
    for begun in range(2, 8):
        environment = TspEnvironment([asymmetric(size=4), instance], 3)
        environment.reset([1], [1], [4])
        for _ in range(begun):
            listed = environment.actions([1])[0]
            environment.step([1], [1], [random.choice(listed[listed >= 0])])
        before = [np.array(array) for array in (environment.state.order, environment.state.visited)]
        way = [int(step[0]) for step in solver.complete(environment, 1, 200, 3)]
        assert all(np.array_equal(*pair) for pair in zip(before, (environment.state.order, environment.state.visited)))
        begin, rest = before[0][1, : begun + 1].tolist(), before[0][1, begun + 1 : 9].tolist()
        assert sorted(way) == sorted(rest)
        best = min(Tsp().evaluate(instance, np.array([*begin, *order])) for order in permutations(rest))
        assert Tsp().evaluate(instance, np.array([*begin, *way])) == pytest.approx(best)


@pytest.mark.parametrize(("solver", "make"), [(Eax(), uniform), (Ils(), uniform), (Ils(), asymmetric)])
def test_a_tour_completed_from_its_first_city_is_good(solver, make):
    """Within a per cent of a longer search; the same for the same seed."""
    import corl

    instance = make(size=40, seed=3)
    environment = TspEnvironment([instance], 1)
    environment.reset([0], [0], [17])
    way, again = ([int(step[0]) for step in solver.complete(environment, 0, 1000, 1)] for _ in range(2))
    best = corl.solve(instance, problem="tsp", solver="ils", iterations=5000).objective
    assert way == again and Tsp().evaluate(instance, np.array([17, *way])) <= 1.01 * best


def test_what_cannot_be_completed():
    """An ATSP by eax; a state of another problem; each in one line."""
    environment = TspEnvironment([asymmetric(size=6)], 1)
    with pytest.raises(UsageError, match=r"^Eax completes no tour of asymmetric-6 because it takes symmetric distances only$"):
        Eax().complete(environment, 0, 10, 0)
    sacks = registry.problem("knapsack")
    other = sacks.environment([sacks.generators["uniform"](size=5)], 1)
    with pytest.raises(UsageError, match=r"^solvers of the tsp complete tours; accepted: an environment of the problem tsp$"):
        Ils().complete(other, 0, 10, 0)
