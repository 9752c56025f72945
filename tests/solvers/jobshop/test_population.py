"""The population of the tabu search: who is in it, and that one which has converged gives way to a larger one."""

from __future__ import annotations

import pytest

from corl.problems.jobshop.generators import taillard
from corl.rng import random_state
from corl.solvers.jobshop.dispatching import Dispatcher
from corl.solvers.jobshop.population import Population, start_by_rule
from corl.solvers.jobshop.search import new_search
from corl.solvers.jobshop.selection import shop_of

INSTANCE = taillard(jobs=8, machines=5, seed=1)


@pytest.fixture
def offer():
    """A population of three, and a function that adds a new random sequence with a given makespan to it."""
    dispatcher = Dispatcher(INSTANCE)
    population, search = Population(3, dispatcher, (0,)), new_search(shop_of(INSTANCE), random_state(0))

    def add(value, again=False):
        if not again:
            start_by_rule(search, dispatcher, 0, 5.0)
        population.add(search, search.selection.sequence, value)

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
    assert population.room == 3
    for value in (6, 8):
        add(value)
        assert sorted(population.values) == [5, 6, 6] and population.room == 3
    add(9)
    assert population.values == [5] and population.room == 6 and population.size == 3
    for value in (11, 12, 13, 14, 15):
        add(value)
    assert sorted(population.values) == [5, 11, 12, 13, 14, 15]
