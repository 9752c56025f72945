"""A look ahead by savings: its plans are those of a plain implementation, and the plane may be turned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.vrp.environment import VrpEnvironment
from corl.problems.vrp.environments.savings.environment import SavingsEnvironment
from corl.problems.vrp.environments.savings.features import savings
from corl.problems.vrp.environments.savings.savings import SHAPES
from corl.problems.vrp.generators import solomon, uniform


def plain(instance, shape):
    """The cost of the plan by savings, written down as the papers have it."""
    apart = np.stack([instance.distances_from(i) for i in range(instance.n)])
    routes = [[i] for i in range(1, instance.n)]
    worth = {
        (i, j): apart[0, i] + apart[0, j] - shape * apart[i, j] for i in range(1, instance.n) for j in range(i + 1, instance.n)
    }
    for i, j in sorted((pair for pair in worth if worth[pair] > 0), key=lambda pair: -worth[pair]):
        a, b = (next(route for route in routes if k in route) for k in (i, j))
        if a is b or i not in (a[0], a[-1]) or j not in (b[0], b[-1]):
            continue
        if instance.demand[a + b].sum() <= instance.vehicles.capacity[0]:
            routes.remove(a)
            routes.remove(b)
            routes.append((a if a[-1] == i else a[::-1]) + (b if b[0] == j else b[::-1]))
    return sum(apart[[0, *route], [*route, 0]].sum() for route in routes)


def test_the_first_plan():
    """At the start the plan is the cheapest of those of a plain implementation."""
    for seed in range(5):
        instance = uniform(size=25, seed=seed)
        seen = SavingsEnvironment([instance], 1).observe([0])
        assert seen["plan"][0] == pytest.approx(min(plain(instance, shape) for shape in SHAPES))


def test_an_action_costs_what_was_said():
    """All along a random episode: what is said of an action is its cost and that of the plan in the next state."""
    instance, random = uniform(size=20, seed=3), np.random.default_rng(0)
    environment, ended = SavingsEnvironment([instance], 2), False
    while not ended:
        seen, listed = environment.observe([0]), environment.actions([0])[0]
        assert seen["loads"].max() <= 1.0 + 1e-9 and seen["joined"].max() <= 1.0 + 1e-9
        for slot, action in enumerate(listed[listed >= 0]):
            reward = environment.step([0], [1], [action])[0]
            assert -reward + environment.observe([1])["plan"][0] == pytest.approx(seen["plans"][0, slot], abs=1e-9)
        environment.step([0], [0], [random.choice(listed[listed >= 0])])
        ended = environment.actions([0])[0, 0] < 0


@pytest.mark.parametrize("change", ["turn", "mirror", "move", "scale"])
def test_the_plane_may_be_turned(change):
    """Turned, mirrored, moved or scaled: the same tokens, along an episode."""
    instances = [uniform(size=30, seed=s) for s in range(3)]
    angle = 0.7 if change == "turn" else 0.0
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    turn = np.diag([-1.0, 1.0]) if change == "mirror" else 4.0 * turn if change == "scale" else turn
    shift = 2.0 if change == "move" else 0.0
    one, two = (
        SavingsEnvironment(given, 3)
        for given in (instances, [replace(each, points=each.points @ turn + shift) for each in instances])
    )
    rows = np.arange(3)
    for pool in (one, two):
        pool.reset(rows, rows)
    for step in range(12):
        a, b = savings(one.observe(rows)), savings(two.observe(rows))
        assert np.allclose(a.x, b.x, atol=1e-4) and np.allclose(a.pairs, b.pairs, atol=1e-4) and (a.mask == b.mask).all()
        listed = one.actions(rows)
        chosen = listed[rows, (listed >= 0).sum(axis=1) - 1] if step % 5 == 4 else listed[:, 0]
        for pool in (one, two):
            pool.step(rows, rows, chosen)


def test_what_is_refused():
    """Time windows, optional clients; and features of the other environment."""
    for instance in (solomon(size=10), uniform(size=10, optional=0.5)):
        with pytest.raises(UsageError, match="'savings' takes capacities alone"):
            SavingsEnvironment([instance], 1)
    with pytest.raises(UsageError, match="accepted for others: 'routes'"):
        savings(VrpEnvironment([uniform(size=10)], 1).observe([0]))
