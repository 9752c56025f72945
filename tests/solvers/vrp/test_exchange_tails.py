"""Exchange of tails, change of depots: changes add up, what a plan keeps stays true, limits are kept, refusals are undone."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.solvers.vrp.ruin.construction import cost_of, insert_all, place_route
from corl.solvers.vrp.ruin.conversion import new_plan, new_work, routes_in, routing_data
from corl.solvers.vrp.ruin.depots import change_depots
from corl.solvers.vrp.ruin.recreate import recreate
from corl.solvers.vrp.ruin.routes import undo
from corl.solvers.vrp.ruin.state import DONE, SERVED, TOUCHED, UNSERVED, USED
from corl.solvers.vrp.ruin.strings import ruin
from corl.solvers.vrp.ruin.two_opt_star import exchange_tails

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "all", "ends")
ANY = 1 << 40


def consistent(data, plan):
    """Whether rings, legs, times, loads, lengths, sizes and counts of a plan are what a walk along its routes gives."""
    used, served = 0, 0
    for slot in range(len(plan.size)):
        depot = data.clients + slot
        nodes, node = [depot], plan.next[depot]
        while node < data.clients:
            nodes.append(node)
            node = plan.next[node]
        assert node == depot and plan.size[slot] == len(nodes) - 1
        used, served = used + (len(nodes) > 1), served + len(nodes) - 1
        inside = np.array(nodes[1:], int)
        assert (plan.route[inside] == slot).all()
        assert (plan.prev[nodes[1:] + [depot]] == nodes).all()
        if data.timed:
            for k, client in enumerate(nodes[1:]):
                arrival = plan.earliest_start[nodes[k]] + data.service[nodes[k]] + plan.leg[nodes[k]]
                successor = plan.next[client]
                assert plan.earliest_start[client] == max(data.earliest[client], arrival) <= plan.latest_start[client]
                assert plan.latest_start[client] == min(
                    data.latest[client], plan.latest_start[successor] - plan.leg[client] - data.service[client]
                )
        if data.limited and len(inside):
            assert plan.length[slot] == pytest.approx(plan.leg[nodes].sum() + data.added_length[inside].sum(), rel=1e-9)
    free = sum(plan.free_size)
    assert (used, served) == (plan.counts[USED], plan.counts[SERVED]) and used + free == len(plan.size)
    for kind, (at, size) in enumerate(zip(plan.stack_start, plan.free_size)):
        stack = plan.free[at : at + size]
        assert len(set(stack.tolist())) == size and (plan.size[stack] == 0).all() and (plan.type[stack] == kind).all()


@pytest.mark.parametrize("turns", [100, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.parametrize("feature", FEATURES)
def test_changes_add_up(make, feature, turns):
    """The plan stays feasible and whole, and costs what the changes say; ruin and recreate in between see nothing amiss."""
    instance = make(feature, 40, 1)
    data = routing_data(instance, 15)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    insert_all(data, plan, work, ANY)
    cost, exchanged = cost_of(data, plan), 0
    for turn in range(turns):
        change = exchange_tails(data, plan, work, 0.2 * cost)
        plan.counts[DONE] += 1
        if np.isfinite(change):
            exchanged += 1
            assert work.counts[TOUCHED] == 2 and work.touched[0] != work.touched[1]
            assert cost_of(data, plan) == pytest.approx(cost + change, rel=1e-9)
            cost = cost_of(data, plan)
        if turn % 20 == 0:
            consistent(data, plan)
            Vrp().evaluate(instance, routes_in(instance, plan, plan.prev[: data.clients]))
            cost += ruin(data, plan, work) + recreate(data, plan, work, ANY, True, np.inf, 1.0, False)
            plan.counts[DONE] += 1
            if work.counts[UNSERVED]:
                undo(data, plan, work)
            cost = cost_of(data, plan)
    assert exchanged > turns / 40


@pytest.mark.parametrize("feature", ["depots", "ends", "all"])
def test_changes_of_depot_add_up(make, feature):
    """Routes go to vehicles that start elsewhere for what the change says; a refusal is undone to the bit."""
    instance = make(feature, 40, 1)
    data = routing_data(instance, 15)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    insert_all(data, plan, work, ANY)
    cost, changed, refused = cost_of(data, plan), 0, 0
    for _ in range(600):
        before, start = plan.next.copy(), data.metric_node[data.clients :]
        change = change_depots(data, plan, work, 0.2 * cost)
        if np.isfinite(change):
            changed += 1
            one, other = set(work.touched[: work.counts[TOUCHED]].tolist())
            assert start[one] != start[other]
            assert cost_of(data, plan) == pytest.approx(cost + change, rel=1e-9)
            cost = cost_of(data, plan)
            consistent(data, plan)
            Vrp().evaluate(instance, routes_in(instance, plan, plan.prev[: data.clients]))
        else:
            refused += 1
            undo(data, plan, work)
            assert (plan.next == before).all()
            consistent(data, plan)
        plan.counts[DONE] += 1
    assert changed > 10 and refused > 10


def test_routes_find_the_depot_they_lie_at():
    """Two pairs of clients, each served from the depot that is far: their routes exchange vehicles."""
    points = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 3.0], [3.0, 0.0], [100.0, 3.0], [97.0, 0.0]])
    vehicles = Vehicles(np.array([2.0, 2.0]), count=np.array([1, 1]), start=np.array([0, 1]), end=np.array([0, 1]))
    instance = VrpInstance("pairs", "EXACT_2D", np.array([0.0, 0, 1, 1, 1, 1]), vehicles, points=points, depots=2)
    data = routing_data(instance, 5)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    place_route(data, plan, work, np.array([2, 3], np.int32), 0)
    place_route(data, plan, work, np.array([0, 1], np.int32), 1)
    before = cost_of(data, plan)
    change = np.inf
    while change == np.inf:
        change = change_depots(data, plan, work, 0.0)
        if change == np.inf:
            undo(data, plan, work)
    assert cost_of(data, plan) == pytest.approx(before + change) and cost_of(data, plan) < 25
    consistent(data, plan)


def test_a_crossing_is_undone(make):
    """Two routes that cross are disentangled: no exchange is left that pays."""
    instance = make("plain", 30, 3)
    data = routing_data(instance, 29)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    for order in np.array_split(np.random.default_rng(0).permutation(30).astype(np.int32), 10):
        place_route(data, plan, work, order, 0)
    before = cost_of(data, plan)
    for _ in range(2000):
        exchange_tails(data, plan, work, -1e-9)
    settled = plan.next.copy()
    assert cost_of(data, plan) < 0.9 * before
    for _ in range(500):
        assert exchange_tails(data, plan, work, -1e-9) == np.inf
    assert (plan.next == settled).all()


def test_two_short_routes_become_one(make):
    """A tail that is a whole route comes behind another route's last client, and the slot of what was left is free again."""
    instance = make("plain", 2, 5)
    data = routing_data(instance, 5)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    for client in (0, 1):
        place_route(data, plan, work, np.array([client], np.int32), 0)
    before = cost_of(data, plan)
    change = exchange_tails(data, plan, work, 0.0)
    assert change < 0 and cost_of(data, plan) == pytest.approx(before + change)
    assert plan.counts[USED] == 1
    consistent(data, plan)


def test_a_way_over_the_depot_becomes_two_routes():
    """Two clients on opposite sides of the depot: a split costs nothing, is not a gain, and leaves a route to each."""
    points = np.array([[50.0, 0.0], [0.0, 0.0], [100.0, 0.0]])
    instance = VrpInstance("line", "EXACT_2D", np.array([0.0, 1.0, 1.0]), Vehicles(np.array([5.0])), points=points)
    data = routing_data(instance, 5)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    place_route(data, plan, work, np.array([0, 1], np.int32), 0)
    assert all(exchange_tails(data, plan, work, 0.0) == np.inf for _ in range(20))
    change = next(c for c in (exchange_tails(data, plan, work, 1.0) for _ in range(50)) if c < np.inf)
    assert plan.counts[USED] == 2 and change == 0.0 and cost_of(data, plan) == 200.0
    consistent(data, plan)
