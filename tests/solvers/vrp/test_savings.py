"""The first plan by savings: the textbook's, within capacities, and only where there are capacities alone."""

from __future__ import annotations

import numpy as np
import pytest

from corl.solvers.vrp.ruin.construction import cost_of, insert_all, restore
from corl.solvers.vrp.ruin.conversion import new_plan, new_work, routes_in, routing_data
from corl.solvers.vrp.ruin.savings import applies, savings_plan

ANY = 1 << 40


def textbook(instance):
    """Clarke and Wright with lists: routes' ends are joined in the order of savings, each way round."""
    apart = np.linalg.norm(instance.points[:, None] - instance.points[None], axis=2)
    pairs = [(apart[0, i] + apart[0, j] - apart[i, j], i, j) for j in range(1, instance.n) for i in range(1, j)]
    routes = {i: [i] for i in range(1, instance.n)}
    for _, i, j in sorted(pairs, reverse=True):
        one, two = routes[i], routes[j]
        if one is two or instance.demand[one + two].sum() > instance.vehicles.capacity[0]:
            continue
        if i not in (one[0], one[-1]) or j not in (two[0], two[-1]):
            continue
        joined = (one if one[-1] == i else one[::-1]) + (two if two[0] == j else two[::-1])
        routes.update(dict.fromkeys(joined, joined))
    return {min(tuple(route), tuple(route[::-1])) for route in routes.values()}


@pytest.mark.parametrize("seed", range(3))
def test_the_textbook_plan(make, seed):
    """With everybody a neighbour of everybody the routes are those of the plain algorithm, and cheaper than insertion."""
    instance = make("exact", 60, seed)
    data = routing_data(instance, 59)
    assert applies(instance, data)
    plan, greedy = new_plan(instance, data), new_plan(instance, data)
    work = new_work(data, plan, 0)
    restore(data, plan, work, savings_plan(instance, data))
    found = [tuple(route.visits.tolist()) for route in routes_in(instance, plan, plan.prev[: data.clients])]
    assert {min(route, route[::-1]) for route in found} == textbook(instance)
    insert_all(data, greedy, work, ANY)
    assert cost_of(data, plan) < cost_of(data, greedy)


def test_few_neighbours_still_serve_everybody(make):
    """Joined are neighbours alone, and nobody is left out or carried beyond the capacity."""
    instance = make("plain", 80, 1)
    data = routing_data(instance, 3)
    plan = new_plan(instance, data)
    restore(data, plan, new_work(data, plan, 0), savings_plan(instance, data))
    assert (plan.route[:80] >= 0).all() and (plan.spare_capacity >= 0).all() and (plan.size > 0).sum() < 80


@pytest.mark.parametrize("feature", ["matrix", "windows", "prizes", "depots", "fleet", "length", "all"])
def test_capacities_alone(make, feature):
    """Instances with more than capacities begin by insertion."""
    instance = make(feature, 10, 1)
    assert not applies(instance, routing_data(instance, 5))
