"""Changes of vehicle, exchanges within groups, and the choice of routes when clients form groups."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.problem import Vrp
from corl.solvers.vrp.ruin.construction import cost_of, insert_all, place_route
from corl.solvers.vrp.ruin.conversion import new_plan, new_work, routes_in, routing_data
from corl.solvers.vrp.ruin.fleet_moves import change_vehicle
from corl.solvers.vrp.ruin.group_exchanges import exchange_members
from corl.solvers.vrp.ruin.pool import new_pool, store_all, store_touched
from corl.solvers.vrp.ruin.recreate import recreate
from corl.solvers.vrp.ruin.route_checks import count_infeasible
from corl.solvers.vrp.ruin.route_selection import select_routes
from corl.solvers.vrp.ruin.routes import remove, undo
from corl.solvers.vrp.ruin.state import DONE, LOGGED, TOUCHED, UNSERVED
from corl.solvers.vrp.ruin.strings import ruin
from support.families.vrp_rules import make_rules

ANY = 1 << 40


def begun(instance, seed=0):
    """Data, plan and working arrays of an instance whose clients are inserted greedily."""
    data = routing_data(instance, 10)
    plan = new_plan(instance, data)
    work = new_work(data, plan, seed)
    insert_all(data, plan, work, ANY)
    return data, plan, work


def routes(instance, data, plan):
    """The current routes as comparable values."""
    return [(route.vehicle, route.visits.tolist()) for route in routes_in(instance, plan, plan.prev[: data.clients])]


@pytest.mark.parametrize("feature", ["depots", "fleet", "all"])
def test_changes_of_vehicle_add_up_and_are_undone(make, feature):
    """Ruin, change of vehicle and recreate report the difference of the costs; undo restores the routes."""
    instance = make(feature, 30, 1)
    data, plan, work = begun(instance)
    cost, changed = cost_of(data, plan), 0
    for _ in range(300):
        before = routes(instance, data, plan)
        change = ruin(data, plan, work)
        moved = change_vehicle(data, plan, work)
        changed += moved not in (0.0, np.inf)
        if moved < np.inf:
            change += moved + recreate(data, plan, work, ANY, True, np.inf, 1.0, False)
        if moved == np.inf or work.counts[UNSERVED]:
            undo(data, plan, work)
            assert routes(instance, data, plan) == before
            assert cost_of(data, plan) == pytest.approx(cost, rel=1e-12)
        else:
            assert cost_of(data, plan) == pytest.approx(cost + change, rel=1e-9)
            cost = cost_of(data, plan)
    assert changed > 0 or feature != "fleet"  # elsewhere each type has a depot of its own
    Vrp().evaluate(instance, routes_in(instance, plan, plan.prev[: data.clients]))


def test_a_small_vehicle_takes_over():
    """A route in a vehicle that is too large for it gets the cheap one, which recreate alone never gives it."""
    vehicles = [{"capacity": 10, "fixed_cost": 50}, {"capacity": 3, "fixed_cost": 5}]
    instance = Vrp().adapt(
        {
            "problem": "vrp", "matrix": [[0, 4, 6], [4, 0, 3], [6, 3, 0]], "depots": [{"id": 0}],
            "clients": [{"id": 1, "demand": 1}, {"id": 2, "demand": 1}], "vehicles": vehicles,
        }
    )  # fmt: skip
    data = routing_data(instance, 2)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    place_route(data, plan, work, np.array([0, 1], np.int32), 0)
    cost, found = cost_of(data, plan), set()
    for _ in range(20):
        work.counts[LOGGED], work.counts[TOUCHED], work.touched[0] = 0, 1, plan.route[0]
        found.add(change_vehicle(data, plan, work))
        cost = min(cost, cost_of(data, plan))
    assert found == {0.0, -45.0, 45.0} and cost == 18.0


def test_a_vehicle_whose_route_was_emptied_is_a_free_one():
    """A route that changes to it gets the slot at the top of the stack of free slots; another one would be in use and free."""
    vehicles = [{"capacity": 10, "count": 1, "unit_cost": 2}, {"capacity": 6, "count": 3}]
    clients = [{"id": k, "demand": 1} for k in (1, 2, 3)]
    points = [[0, 0], [1, 5], [6, 2], [4, 4]]
    depots = [{"id": 0, "x": 0, "y": 0}]
    clients = [client | {"x": x, "y": y} for client, (x, y) in zip(clients, points[1:])]
    instance = Vrp().adapt({"problem": "vrp", "depots": depots, "clients": clients, "vehicles": vehicles})
    changes = 0
    for seed in range(20):
        data = routing_data(instance, 3)
        plan = new_plan(instance, data)
        work = new_work(data, plan, seed)
        for client, kind in enumerate((0, 1, 1)):
            place_route(data, plan, work, np.array([client], np.int32), kind)
        emptied = plan.route[1:3].tolist()
        work.counts[LOGGED] = 0
        for client in (1, 2):
            remove(data, plan, work, client)
        work.counts[TOUCHED], work.touched[:3] = 3, [plan.route[0], *emptied]
        changes += change_vehicle(data, plan, work) != 0.0
        free = [plan.free[first + k] for first, size in zip(plan.stack_start, plan.free_size) for k in range(size)]
        assert sorted(free) == np.flatnonzero(plan.size == 0).tolist()
    assert changes


@pytest.mark.parametrize("name", ["groups", "depots and groups", "some groups"])
def test_exchanges_within_groups_add_up(name):
    """Exchanges never raise the cost, report the difference of the costs, and keep all routes feasible."""
    gained = 0.0
    for seed in range(4):
        data, plan, work = begun(make_rules(name, 30, seed))
        if work.counts[UNSERVED]:
            continue
        for _ in range(100):
            change = ruin(data, plan, work)
            change += recreate(data, plan, work, ANY, True, np.inf, 1.0, False)
            if work.counts[UNSERVED] or count_infeasible(data, plan):
                undo(data, plan, work)
                continue
            cost = cost_of(data, plan)
            gain = exchange_members(data, plan, work, data.rules)
            assert gain <= 0.0 and cost_of(data, plan) == pytest.approx(cost + gain, rel=1e-9)
            assert count_infeasible(data, plan) == 0
            gained += gain
    assert gained < 0.0


def test_routes_are_chosen_when_clients_form_groups():
    """Of routes of different solutions, those are chosen that serve one client of each group at the least cost."""
    for seed in range(6):
        instance = make_rules("groups", 12, seed)
        data, plan, work = begun(instance)
        if work.counts[UNSERVED]:
            continue
        assert data.rules.group_required.all()
        pool, best = new_pool(data, plan, 256, 12), cost_of(data, plan)
        store_all(data, plan, pool)
        for _ in range(200):
            plan.counts[DONE] += 1
            ruin(data, plan, work)
            recreate(data, plan, work, ANY, False, np.inf, 1.0, False)
            store_touched(data, plan, work, pool)
            best = min(best, cost_of(data, plan))
        places = select_routes(data, pool, instance.vehicles.count, best * 1.01 + 1.0, 10_000, np.inf)
        assert places is not None and pool.cost[places].sum() <= best * (1 + 1e-9)
        visits = np.concatenate([pool.visits[place, : pool.length[place]] for place in places])
        groups = data.rules.group[visits]
        assert len(set(groups[groups >= 0].tolist())) == np.count_nonzero(groups >= 0) == len(data.rules.group_required)
        assert set(visits[groups < 0].tolist()) == set(np.flatnonzero(data.rules.group < 0).tolist())
