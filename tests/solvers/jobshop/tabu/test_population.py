"""The population of the tabu search: who is in it, and that one which has converged gives way to a larger one."""

from __future__ import annotations

import pytest

from corl.rng import random_state
from corl.solvers.jobshop.tabu.population import Population


@pytest.fixture
def offer():
    """A population of three, and a function that adds a new member, or the last one again, with a given value to it."""
    population, number = Population(3, lambda one, other: one == other, grows=True), iter(range(100))
    last = [()]

    def add(value, again=False):
        if not again:
            last[0] = (next(number),)
        population.add(last[0], value)

    return population, add


def test_the_worst_goes(offer):
    """While there is room all stay; then one that is no worse takes the worst one's place; the same one comes in once."""
    population, add = offer
    for value in (7, 5, 6, 8):
        add(value)
    assert sorted(population.values) == [5, 6, 7]
    add(6)
    add(6, again=True)
    assert sorted(population.values) == [5, 6, 6]


def test_it_grows_where_it_has_converged(offer):
    """After as many searches as members that made none better, equal ones included, the best is left beside five new ones."""
    population, add = offer
    for value in (7, 5, 6, 9, 7, 6):  # the last takes the place of a 7, so two without effect do not count
        add(value)
    assert population.capacity == 3
    for value in (6, 8):
        add(value)
        assert sorted(population.values) == [5, 6, 6] and population.capacity == 3
    add(9)
    assert population.values == [5] and population.capacity == 6 and population.size == 3
    for value in (11, 12, 13, 14, 15):
        add(value)
    assert sorted(population.values) == [5, 11, 12, 13, 14, 15]


def test_parents():
    """There are none while there is room, then two different ones; without growth a converged population stays."""
    population, random = Population(2, lambda one, other: one == other, grows=False), random_state(0)
    population.add((0,), 5)
    assert population.parents(random) is None
    population.add((1,), 6)
    for _ in range(20):
        population.add((0,), 5)
        assert set(population.parents(random)) == {(0,), (1,)}
    assert population.capacity == 2
