"""Kernels of clusters and of costs that couple routes, against plain Python; OR-Tools with clusters and the longest distance."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.generators_rules import day
from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solvers.vrp.ortools import OrTools
from corl.solvers.vrp.ruin.conversion import load_routes, new_plan, new_work, routes_in, routing_data
from corl.solvers.vrp.ruin.coupling import coupled_change, joined_change
from corl.solvers.vrp.ruin.search import Search
from corl.solvers.vrp.ruin.solver import RuinRecreate
from support.families.vrp_rules import least_cost, make_rules


def loaded(name, seed):
    """Data and plan of an instance with one client for each route, or a few."""
    instance = make_rules(name, 12, seed)
    data = routing_data(instance, 11)
    plan = new_plan(instance, data)
    random = np.random.default_rng(seed)
    nodes = random.permutation(np.arange(instance.depots, instance.n)).tolist()
    routes = [nodes[k : k + 2] for k in range(0, len(nodes), 2)]
    load_routes(instance, data, plan, new_work(data, plan, 0), routes)
    return instance, data, plan, routes


def cost(balance, amounts):
    """What these amounts of all routes cost."""
    return balance.weight * (max(amounts) - (min(amounts) if balance.measure == "range" else 0.0)) if amounts else 0.0


@pytest.mark.parametrize("name", ["longest route", "range and pickups", "longest duration and durations"])
def test_changes_of_a_balance(name):
    """Of one route, and of two of which one may become empty: the difference of the costs from scratch, to the bit of a sum."""
    instance, data, plan, routes = loaded(name, 3)
    state, balance, random = plan.segments.structure, instance.rules.balance, np.random.default_rng(5)
    kept = state.distance if balance.of == "distance" else state.duration
    now = {slot: float(kept[slot]) for slot in np.flatnonzero(state.is_used).tolist()}
    assert len(now) == len(routes)
    for _ in range(300):
        one, two = random.choice(len(plan.size), 2, replace=False).tolist()
        amounts = random.integers(0, 200, 2).astype(float).tolist()
        then = now | {one: amounts[0]}
        found = coupled_change(plan, data.rules, one, amounts[0], 0.0, amounts[0])
        assert found == pytest.approx(cost(balance, [*then.values()]) - cost(balance, [*now.values()]), abs=1e-9)
        used = bool(random.random() < 0.7)
        then = {slot: amount for slot, amount in then.items() if slot != two} | ({two: amounts[1]} if used else {})
        found = joined_change(plan, data.rules, one, amounts[0], amounts[0], two, amounts[1], amounts[1], used)
        assert found == pytest.approx(cost(balance, [*then.values()]) - cost(balance, [*now.values()]), abs=1e-9)


def test_where_a_route_may_be_cut():
    """After a search: a cut after a node divides the clusters that have clients before and after it, each counted once."""
    instance = day(size=40, ask="soft_clusters", seed=3)
    search = Search(instance, 20, 10, Run(Vrp(), instance, iterations=400, seed=1))
    assert search.serve_all(5.0)
    search.cool(1.0, 0.05, 1.0)
    divided, clusters = 0, instance.rules.clusters
    for route in routes_in(instance, search.plan, search.plan.prev[: search.data.clients]):
        of = clusters[route.visits].tolist()
        for k, node in enumerate(route.visits.tolist()):
            both = (set(of[: k + 1]) & set(of[k + 1 :])) - {-1}
            assert search.plan.segments.structure.cut[node - instance.depots] == len(both)
            divided += len(both)
    assert divided > 10


@pytest.mark.parametrize("name", ["rows", "clusters", "longest route"])
def test_ortools_finds_the_optimum_of_small_instances(name):
    """Five clients: the engine's model of clusters and of the longest distance is the judge's."""
    for seed in range(3):
        instance = make_rules(name, 5, seed)
        best = least_cost(instance)
        if best == np.inf:
            continue
        run = Run(Vrp(), instance, time_limit=600.0, target=best)
        run.start()
        assert OrTools().accepts(instance) == "" and not run.infeasible
        OrTools().solve(instance, run)
        assert run.objective == pytest.approx(best, rel=1e-9)


def test_what_ortools_refuses():
    """By its name: a range, durations, rosters, and clusters together with optional clients."""
    words = {
        "range and pickups": "it takes no pick-ups", "longest duration and durations": "it takes no travel times",
        "rosters": "it takes no several shifts of one vehicle", "clusters and prizes": "together with optional clients",
    }  # fmt: skip
    for name, said in words.items():
        assert said in OrTools().accepts(make_rules(name, 5, 1))
        assert RuinRecreate().accepts(make_rules(name, 5, 1)) == ""
