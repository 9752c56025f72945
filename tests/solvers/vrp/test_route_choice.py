"""The pool of routes and the choice among them."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.optimize

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solvers.vrp.ruin.construction import cost_of, insert_all, place_route, restore
from corl.solvers.vrp.ruin.conversion import load_routes, new_plan, new_work, routes_in, routing_data
from corl.solvers.vrp.ruin.pool import new_pool, store_all, store_touched
from corl.solvers.vrp.ruin.recreate import recreate
from corl.solvers.vrp.ruin.route_selection import select_routes
from corl.solvers.vrp.ruin.search import Search
from corl.solvers.vrp.ruin.solver import RuinRecreate
from corl.solvers.vrp.ruin.state import BEST, CURRENT, DONE, UNSERVED
from corl.solvers.vrp.ruin.strings import ruin

FEATURES = ("plain", "matrix", "windows", "prizes", "depots", "fleet", "all", "ends")
ANY = 1 << 40


def begun(instance, size=64, longest=30):
    data = routing_data(instance, 10)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    insert_all(data, plan, work, ANY)
    return data, plan, work, new_pool(data, plan, size, longest)


def walk(data, plan, work, pool, iterations):
    """Ruin and recreate, everything accepted, everything gathered."""
    for _ in range(iterations):
        plan.counts[DONE] += 1
        ruin(data, plan, work)
        recreate(data, plan, work, ANY, False, np.inf, 1.0, False)
        store_touched(data, plan, work, pool)


@pytest.mark.parametrize("feature", FEATURES)
def test_routes_keep_their_cost(make, feature):
    """A route of the pool costs, alone in a plan, what the pool says."""
    instance = make(feature, 20, 1)
    data, plan, work, pool = begun(instance)
    walk(data, plan, work, pool, 50)
    free = data._replace(prize=np.zeros(data.clients))
    held = np.flatnonzero(pool.tag)
    assert len(held) > 20
    for place in held:
        alone = new_plan(instance, data)
        place_route(data, alone, work, pool.visits[place, : pool.length[place]].copy(), pool.kind[place])
        assert cost_of(free, alone) == pytest.approx(pool.cost[place], rel=1e-12)


def test_the_cheaper_order_is_kept(make):
    """Of two orders of the same clients the pool holds the cheaper one, whichever came first."""
    instance = make("plain", 4, 3)
    orders = [np.array(order, np.int32) for order in ([0, 1, 2], [1, 0, 2], [2, 0, 1])]
    for turn in range(3):
        data, _, work, pool = begun(instance)
        costs = []
        for order in orders[turn:] + orders[:turn]:
            plan = new_plan(instance, data)
            place_route(data, plan, work, order, 0)
            store_all(data, plan, pool)
            costs.append(cost_of(data._replace(prize=np.zeros(data.clients)), plan))
        held = np.flatnonzero(pool.tag)
        assert pool.cost[held].tolist() == [min(costs)] and len(set(costs)) > 1


def test_the_oldest_is_forgotten(make):
    """A full pool holds as many routes as it has places, and all routes of the last plan."""
    instance = make("plain", 24, 2)
    data, plan, work, pool = begun(instance, size=64)
    walk(data, plan, work, pool, 2000)
    assert np.count_nonzero(pool.tag) == 64
    plan.counts[DONE] += 1
    store_all(data, plan, pool)
    assert np.count_nonzero(pool.last_iteration == plan.counts[DONE]) == np.count_nonzero(plan.size)


@pytest.mark.parametrize("feature", FEATURES)
def test_restore_makes_the_same_plan(make, feature):
    """A plan that was left is come back to: same routes, same cost, same times; and ruin and recreate go on from it."""
    instance = make(feature, 20, 4)
    data, plan, work, pool = begun(instance)
    kept, cost = plan.prev[: data.clients].copy(), cost_of(data, plan)
    routes = sorted((route.vehicle, route.visits.tolist()) for route in routes_in(instance, plan, kept))
    walk(data, plan, work, pool, 30)
    restore(data, plan, work, kept)
    again = routes_in(instance, plan, plan.prev[: data.clients])
    assert sorted((route.vehicle, route.visits.tolist()) for route in again) == routes
    assert cost_of(data, plan) == pytest.approx(cost, rel=1e-12)
    walk(data, plan, work, pool, 30)
    assert work.counts[UNSERVED] == 0 or feature != "plain"


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("seconds", [20.0, np.inf])
def test_the_choice_is_optimal(make, feature, seconds):
    """The routes chosen are the cheapest that serve each client at most once and everybody that must be, by enumeration."""
    instance = make(feature, 9, 5)
    data, plan, work, pool = begun(instance, size=256)
    walk(data, plan, work, pool, 150)
    counts = instance.vehicles.count
    if feature in ("fleet", "all"):  # vehicles of the first type are scarce
        counts = np.array([2, *counts[1:]])
    optimum = cheapest(data, pool, counts)
    places = select_routes(data, pool, counts, optimum * 1.01 + 1.0, 10_000, seconds)
    assert places is not None
    visits = np.concatenate([pool.visits[place, : pool.length[place]] for place in places])
    assert len(set(visits.tolist())) == len(visits)
    missed = np.setdiff1d(np.arange(data.clients), visits)
    assert pool.cost[places].sum() + data.prize[missed].sum() == pytest.approx(optimum, rel=1e-9)
    for kind in np.flatnonzero(counts >= 0):
        assert np.count_nonzero(pool.kind[places] == kind) <= counts[kind]
    assert select_routes(data, pool, counts, optimum, 10_000, seconds) is None
    assert select_routes(data, pool, counts, optimum * 2.0 + 1.0, 10_000, 1e-6) is None  # too little time for a single column


def test_nothing_is_printed(make, monkeypatch, capfd):
    """What HiGHS prints does not get into the standard output."""
    milp = scipy.optimize.milp
    monkeypatch.setattr(scipy.optimize, "milp", lambda *given, **more: (os.write(1, b"a line of HiGHS"), milp(*given, **more))[1])
    data, plan, work, pool = begun(make("plain", 9, 5), size=256)
    walk(data, plan, work, pool, 150)
    assert select_routes(data, pool, np.array([-1]), 10.0 * cost_of(data, plan), 10_000, np.inf) is not None
    assert capfd.readouterr() == ("", "a line of HiGHS")


def hot(instance, neighbours=10):
    """A search that has made twelve iterations."""
    run = Run(Vrp(), instance, iterations=600)
    run.start()
    search = Search(instance, neighbours, 10, run)
    assert search.serve_all(5.0)
    kept = search.keep_routes()
    search.cool(20.0, 20.0, 0.02)
    return search, kept


@pytest.mark.parametrize("feature", ["plain", "windows", "prizes", "fleet", "all"])
def test_the_search_goes_on_from_the_chosen_plan(make, feature):
    """Where the pool holds the routes of a better plan, that plan or a better one is reported and becomes the present one."""
    instance = make(feature, 30, 8)
    good = Run(Vrp(), instance, iterations=3000)
    good.start()
    RuinRecreate().solve(instance, good)
    search, kept = hot(instance)
    assert kept and search.plan.cost[BEST] > good.objective * instance.scale * 1.001
    plan = new_plan(instance, search.data)
    load_routes(instance, search.data, plan, search.work, good.solution)
    plan.counts[DONE] = search.done
    store_all(search.data, plan, search.pool)
    search.choose_routes(float("inf"))
    assert search.run.objective <= good.objective * (1 + 1e-9)
    assert search.plan.cost[CURRENT] == search.plan.cost[BEST] == pytest.approx(cost_of(search.data, search.plan), rel=1e-12)
    search.cool(1.0, 0.1, 1.0)
    search.report()
    assert search.done == 600 and search.run.objective <= good.objective * (1 + 1e-9)


def test_without_better_routes_the_best_plan_is_kept(make):
    """A choice that finds nothing better goes on from the best plan."""
    search, _ = hot(make("plain", 30, 8))
    search.pool.tag[:] = 0
    best = float(search.plan.cost[BEST])
    search.choose_routes(float("inf"))
    assert search.plan.cost[CURRENT] == search.plan.cost[BEST] == pytest.approx(best, rel=1e-12)


def test_long_routes_are_not_kept():
    """Where one vehicle could carry everybody there is nothing to choose from."""
    points = np.random.default_rng(4).integers(0, 100, (71, 2)).astype(float)
    demand = np.concatenate([[0.0], np.ones(70)])
    vehicle = Vehicles(np.array([1000.0]), fixed_cost=1000.0)
    search, kept = hot(VrpInstance("long", "EUC_2D", demand, vehicle, points=points), 70)
    assert not kept and len(search.pool.tag) == 0


def cheapest(data, pool, counts):
    """The least cost of a choice, by dynamic programming over (clients, vehicles of the first type used)."""
    most = int(counts[0]) if counts[0] >= 0 else data.clients
    everyone = 1 << data.clients
    least = np.full((everyone, most + 1), np.inf)
    least[0] = 0.0
    held = np.flatnonzero(pool.tag)
    masks = [sum(1 << int(client) for client in pool.visits[place, : pool.length[place]]) for place in held]
    for mask in range(1, everyone):
        lowest = mask & -mask
        least[mask] = least[mask ^ lowest] + data.prize[lowest.bit_length() - 1]
        for place, part in zip(held, masks):
            if part & lowest and part & mask == part:
                if pool.kind[place] > 0:
                    least[mask] = np.minimum(least[mask], least[mask ^ part] + pool.cost[place])
                else:
                    least[mask, 1:] = np.minimum(least[mask, 1:], least[mask ^ part, :-1] + pool.cost[place])
    return float(least[everyone - 1, most])


def test_branch_and_bound_gets_the_columns_that_there_is_time_for(make, monkeypatch):
    """A quarter of the time, a quarter of the columns; with next to none it is not begun, as no clock would end it in time."""
    from corl.solvers.vrp.ruin import route_selection

    instance, given = make("plain", 60, 2), []
    data, plan, work, pool = begun(instance, 4096)
    walk(data, plan, work, pool, 400)
    monkeypatch.setattr(route_selection, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(route_selection, "_RELAXATION_SHARE", 1e4)  # a loaded machine ends the relaxation in time, too
    monkeypatch.setattr(route_selection, "_solve_integer", lambda cost, *_: given.append(len(cost)))
    best = 10.0 * cost_of(data, plan)
    for seconds in (0.2, 0.05, 0.02):
        assert route_selection.select_routes(data, pool, instance.vehicles.count, best, 5000, seconds) is None
    assert given == [500, 125]


@pytest.mark.parametrize(("speed", "count"), [(150_000.0, 7), (20_000.0, 1)])
def test_coolings_are_as_many_as_there_is_time_for(make, speed, count):
    """With a time limit the number of coolings and the first temperature follow the measured speed of iterations."""

    class Clocked(Run):
        """A run whose clock counts iterations."""

        @property
        def elapsed(self):
            return (self._done + self._granted) / speed

    instance, seen = make("plain", 30, 1), []
    run = Clocked(Vrp(), instance, time_limit=3_000_000.0 / 150_000.0 * 0.5)
    solver = RuinRecreate()
    search = Search(instance, 10, 0, run)
    assert search.serve_all(5.0)
    planned = solver._expected_iterations(search, run)
    seen.append(solver._cooling_count(instance.clients, planned, long_routes=False))
    assert planned == pytest.approx(speed * run.time_limit, rel=0.05)
    assert seen == [count]
    assert solver._first_temperature(3000, planned) == pytest.approx(5.0 * np.sqrt(planned / 6e6), rel=1e-9)
