"""`ruin-recreate` with every rule: exact on small instances, feasible on larger ones, the same bits from the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solvers.vrp.ruin.construction import cost_of
from corl.solvers.vrp.ruin.search import Search
from corl.solvers.vrp.ruin.solver import RuinRecreate
from support.families.vrp_rules import MIXES, RULES, STRUCTURE, least_cost, make_rules


def _solved(instance, iterations, seed=0):
    run = Run(Vrp(), instance, iterations=iterations, seed=seed)
    run.start()
    if not run.infeasible:
        RuinRecreate().solve(instance, run)
    return run


@pytest.mark.parametrize("name", [*RULES, *MIXES, *STRUCTURE])
def test_small_instances_are_solved_to_the_optimum(name):
    """Five or six clients; an optimum that is infinite means that no solution is reported."""
    for seed in range(3):
        instance = make_rules(name, 5, seed)
        best, run = least_cost(instance), _solved(instance, 3000)
        if best == np.inf:
            assert run.solution is None
        else:
            assert run.objective == pytest.approx(best, rel=1e-9), (name, seed)


@pytest.mark.parametrize("name", [*RULES, *STRUCTURE])
def test_the_plan_s_value_is_the_judge_s(name):
    """Thirty clients: what is reported is feasible, and the kernels' sum of costs is the judge's."""
    instance, run, search = _first_with_a_plan(name)
    search.cool(1.0, 0.05, 1.0)
    search.report()
    search.return_to_best()
    assert cost_of(search.data, search.plan) / instance.scale == pytest.approx(run.objective, rel=1e-9)
    assert _solved(instance, 1000).objective == _solved(instance, 1000).objective


def _first_with_a_plan(name):
    for seed in range(20):
        instance = make_rules(name, 30, seed)
        run = Run(Vrp(), instance, iterations=2000, seed=1)
        search = Search(instance, 20, 10, run)
        if not Vrp().infeasible(instance) and search.serve_all(5.0):
            return instance, run, search
    raise AssertionError("no plan for any of twenty random instances")


def _given(matrix, clients, vehicles, depots=({"id": 0},), **more):
    clients = [{"id": len(depots) + k} | each for k, each in enumerate(clients)]
    return Vrp().adapt({"problem": "vrp", "matrix": matrix, "depots": [*depots], "clients": clients, "vehicles": vehicles} | more)


TRIANGLE = [[0, 4, 6, 5], [4, 0, 3, 7], [6, 3, 0, 4], [5, 7, 4, 0]]
SMALL = {
    "under way, and optional": (
        lambda: _given(TRIANGLE, [{}, {"prize": 1}, {"prize": 2}], [{"count": 1, "begun": [2]}, {"fixed_cost": 9}]), 15.0,
    ),
    "under way, and of a group": (
        lambda: _given(
            TRIANGLE, [{}, {}, {}], [{"count": 1, "begun": [2]}, {}], groups=[{"clients": [2, 3], "required": False}],
        ),
        13.0,
    ),
    "under way, with nothing to bring": (
        lambda: _given(
            TRIANGLE, [{}, {"demand": 1}, {"pickup": 1}], [{"count": 1, "begun": [1]}, {"fixed_cost": 50}], backhauls_last=True,
        ),
        16.0,
    ),
    "a trip before a reload": (
        lambda: _given(
            [[0, 0, 9, 1], [0, 0, 9, 1], [9, 9, 0, 9], [1, 1, 9, 0]], [{"demand": 4}, {"demand": 3}],
            [{"capacity": 4, "count": 1, "fixed_cost": 40}, {"capacity": 3, "depot": 1, "reloads": 1, "count": 1}],
            ({"id": 0}, {"id": 1}),
        ),
        60.0,
    ),
    "a shipment and the longest distance": (
        lambda: _given(TRIANGLE, [{}, {}, {}], [{"max_distance": 13}], shipments=[{"from": 2, "to": 1, "amount": 1}]), 23.0,
    ),
    "a break that somebody must be visited for": (
        lambda: _given(
            [[0, 3, 4], [3, 0, 5], [4, 5, 0]], [{}, {"prize": 9}],
            [{"stays_out": True, "shift": [5, None], "breaks": [{"window": [2, 8], "duration": 4}]}],
        ),
        8.0,
    ),
    "groups of which the dearer clients go together": (
        lambda: _given(
            [[0, 2, 3, 2, 3], [2, 0, 9, 9, 9], [3, 9, 0, 9, 1], [2, 9, 9, 0, 9], [3, 9, 1, 9, 0]], [{}] * 4, [{}],
            groups=[{"clients": [1, 2]}, {"clients": [3, 4]}],
        ),
        7.0,
    ),
    "waiting for the last depot to open": (
        lambda: _given(
            TRIANGLE, [{"window": [0, 10]}, {}], [{"end_depot": 1, "duration_cost": 5}],
            ({"id": 0}, {"id": 1, "window": [30, 90]}),
        ),
        147.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_by_hand(name):
    """Of a few clients, with several seeds: what is reported is feasible, and the optimum by hand and by enumeration."""
    make, best = SMALL[name]
    instance = make()
    assert least_cost(instance) == best
    for seed in range(6):
        run = _solved(instance, 300, seed)
        assert (run.objective, run.discarded) == (best, 0)


def test_fewest_routes_where_all_are_under_way():
    """No route can be dropped: that phase ends, and so does the run, by iterations alone."""
    vehicles = [{"count": 1, "begun": [1]}, {"count": 1, "begun": [2]}]
    run = _solved(_given([row[:3] for row in TRIANGLE[:3]], [{}, {}], vehicles, fleet="fewest"), 80)
    assert len(run.solution) == 2 and run.limit == "iterations"


def test_leaving_before_the_depot_closes():
    """A vehicle that is to wait for a release time ends at another depot in vain once its own has closed; another one serves."""
    depots = ({"id": 0, "window": [0, 9]}, {"id": 1})
    vehicles = [{"depot": 0, "end_depot": 1}, {"depot": 1, "fixed_cost": 30}]
    instance = _given(TRIANGLE, [{"release": 10}, {}], vehicles, depots)
    run = _solved(instance, 200)
    assert run.objective == least_cost(instance) and run.discarded == 0
    assert next(route.vehicle for route in run.solution if 2 in route.visits) == 1
