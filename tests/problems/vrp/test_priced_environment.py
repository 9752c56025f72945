"""The relaxation of the environment "priced": a valid bound, prices that no q-route undercuts, features of the plane alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.vrp.environments.priced.environment import PricedEnvironment
from corl.problems.vrp.environments.priced.features import PAIRS, TOKENS, priced
from corl.problems.vrp.environments.savings.environment import SavingsEnvironment
from corl.problems.vrp.environments.savings.features import TOKENS as SAVINGS_TOKENS
from corl.problems.vrp.environments.savings.features import savings
from corl.problems.vrp.environments.savings.savings import SHAPES
from corl.problems.vrp.generators import uniform
from corl.problems.vrp.instance import Vehicles


def played(environment, steps, seed=0):
    """Row 0 after each of `steps` random actions: the observations, and the cost so far."""
    random, cost = np.random.default_rng(seed), 0.0
    environment.reset([0], [0])
    for _ in range(steps):
        observed, listed = environment.observe([0]), environment.actions([0])[0]
        yield observed, cost
        cost -= environment.step([0], [0], [random.choice(listed[listed >= 0])])[0]


def optimum(instance):
    """The least cost of all routes, by dynamic programming over sets of clients, each as a tuple in ascending order."""
    apart = np.stack([instance.distances_from(i) for i in range(instance.n)])
    clients, capacity = range(1, instance.n), instance.vehicles.capacity[0]

    def route(chosen):
        return min(apart[[0, *order], [*order, 0]].sum() for order in permutations(chosen))

    sets = [chosen for size in range(1, instance.n) for chosen in combinations(clients, size)]
    routes = {chosen: route(chosen) for chosen in sets if instance.demand[list(chosen)].sum() <= capacity}
    best = {(): 0.0}
    for chosen in sets:
        parts = [part for part in routes if chosen[0] in part and set(part) <= set(chosen)]
        best[chosen] = min(routes[part] + best[tuple(sorted(set(chosen) - set(part)))] for part in parts)
    return best[tuple(clients)]


def test_the_bound_is_valid():
    """At the start it is at most the cost of an optimum of 6 clients; later at most that of the plan."""
    for seed in range(3):
        instance = replace(uniform(size=6, seed=seed), vehicles=Vehicles(np.array([15.0])))
        best = optimum(instance)
        for step, (observed, _) in enumerate(played(PricedEnvironment([instance], 1), 5, seed)):
            assert observed["bound"][0] <= (observed["plan"][0] if step else best) + 1e-9
            assert step == 0 or observed["bound"][0] > 0.5 * observed["plan"][0]


def test_a_bound_that_is_attained():
    """A single client, and two that fit one vehicle: the bound is the cost, and the action of least reduced cost is right."""
    for size in (1, 2):
        instance = uniform(size=size, seed=5)
        observed, _ = next(iter(played(PricedEnvironment([instance], 1), 1)))
        assert observed["bound"][0] == pytest.approx(observed["plan"][0])
        assert observed["reduced"][0, :size].min() == pytest.approx(0.0, abs=1e-9)


def test_reduced_costs_are_not_negative():
    """Prices leave no q-route of negative reduced cost, and no way on is cheaper than the cheapest."""
    for observed, _ in played(PricedEnvironment([uniform(size=30, seed=2)], 1), 29):
        listed = observed["mask"][0, :-2]
        assert (observed["reduced"][0, listed] >= -1e-9).all() and (observed["fresh_reduced"][0, listed] >= -1e-9).all()


def test_it_shows_what_savings_does_and_more():
    """The first features are those of `savings`; then, of each shape parameter, how far its plan is above the best."""
    instance = uniform(size=25, seed=4)
    both = zip(played(PricedEnvironment([instance], 1), 24), played(SavingsEnvironment([instance], 1), 24))
    for (observed, _), (plain, _) in both:
        tokens, less = priced(observed), savings(plain)
        assert tokens.x.shape[2] == TOKENS and tokens.pairs.shape[3] == PAIRS
        assert np.array_equal(tokens.x[..., :SAVINGS_TOKENS], less.x) and np.array_equal(tokens.pairs[..., :-1], less.pairs)
        assert np.isfinite(tokens.x).all()
        by_shape = tokens.x[0, :-2, TOKENS - 1 - len(SHAPES) : TOKENS - 1]
        assert np.allclose(by_shape.min(axis=1), tokens.x[0, :-2, 0], atol=1e-5)


@pytest.mark.parametrize("change", ["turn", "scale"])
def test_the_plane_may_be_turned(change):
    """Turned or scaled: the same tokens, along an episode."""
    instance = uniform(size=20, seed=1)
    turn = np.array([[np.cos(0.7), np.sin(0.7)], [-np.sin(0.7), np.cos(0.7)]]) if change == "turn" else 4.0 * np.eye(2)
    pools = [PricedEnvironment([each], 1) for each in (instance, replace(instance, points=instance.points @ turn))]
    for pool in pools:
        pool.reset([0], [0])
    for _ in range(12):
        a, b = (priced(pool.observe([0])) for pool in pools)
        assert np.allclose(a.x, b.x, atol=1e-3) and np.allclose(a.pairs, b.pairs, atol=1e-3)
        action = pools[0].actions([0])[0, 0]
        for pool in pools:
            pool.step([0], [0], [action])


def test_what_is_refused():
    """Features of the other environment."""
    with pytest.raises(UsageError, match="for the environment 'priced'"):
        priced(SavingsEnvironment([uniform(size=10)], 1).observe([0]))
