"""The kernels of ruin and recreate: changes add up, and are undone to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from corl.solvers.vrp.ruin.construction import cost_of, insert_all
from corl.solvers.vrp.ruin.conversion import new_plan, new_work, routes_in, routing_data
from corl.solvers.vrp.ruin.recreate import PRIZE_FACTOR, recreate, remove_unprofitable
from corl.solvers.vrp.ruin.routes import insert, remove, undo
from corl.solvers.vrp.ruin.state import BLINK, LOGGED, TOUCHED, UNSERVED
from corl.solvers.vrp.ruin.strings import ruin

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "all", "ends")
ANY = 1 << 40


def begun(instance, seed=0):
    data = routing_data(instance, 10)
    plan = new_plan(instance, data)
    work = new_work(data, plan, seed)
    insert_all(data, plan, work, ANY)
    return data, plan, work


def picture(data, plan):
    """All of a plan that has a meaning: rings, legs, times of clients that are served, loads, and the stacks of free slots."""
    served = np.flatnonzero(plan.route >= 0)
    stacks = [plan.free[at : at + size].tolist() for at, size in zip(plan.stack_start, plan.free_size)]
    parts = [
        plan.next[served],
        plan.prev[served],
        plan.route,
        plan.leg[served],
        plan.spare_capacity,
        plan.length,
        plan.size,
        plan.counts,
    ]
    if data.timed:
        parts += [plan.earliest_start[served], plan.latest_start[served]]
    return [part.tolist() for part in parts] + stacks


def iterate(data, plan, work, turn):
    """The change of cost of one ruin and recreate; some open routes at a loss, every third takes out what does not pay."""
    change = ruin(data, plan, work)
    opening = turn % 3 == 0
    opens = data.rules is None and turn % 4 == 1
    change += recreate(data, plan, work, ANY, True, np.inf, PRIZE_FACTOR if opening else 1.0, opens)
    return change + remove_unprofitable(data, plan, work) if opening else change


@pytest.mark.parametrize("turns", [60, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("feature", FEATURES)
def test_undo_restores_everything(make, feature, turns):
    """After undo a plan is what it was, every bit of it, whatever ruin and recreate did."""
    data, plan, work = begun(make(feature, 30, 1))
    for turn in range(turns):
        before = picture(data, plan)
        iterate(data, plan, work, turn)
        changed = picture(data, plan) != before
        undo(data, plan, work)
        assert picture(data, plan) == before
        if changed:
            iterate(data, plan, work, turn)
            if work.counts[UNSERVED]:
                undo(data, plan, work)


@pytest.mark.parametrize("feature", FEATURES)
def test_changes_add_up(make, feature):
    """What ruin and recreate say that they change is the difference of the costs from scratch."""
    data, plan, work = begun(make(feature, 30, 2))
    cost = cost_of(data, plan)
    for turn in range(200):
        change = iterate(data, plan, work, turn)
        if work.counts[UNSERVED]:
            undo(data, plan, work)
        else:
            assert cost_of(data, plan) == pytest.approx(cost + change, rel=1e-9)
            cost = cost_of(data, plan)


@pytest.mark.parametrize("feature", ["windows", "all"])
def test_times_are_those_of_the_whole_route(make, feature):
    """Earliest and latest starts, kept up to date change by change, are what a walk along each route gives."""
    instance = make(feature, 40, 3)
    data, plan, work = begun(instance)
    for turn in range(100):
        iterate(data, plan, work, turn)
        if work.counts[UNSERVED]:
            undo(data, plan, work)
        for node in np.flatnonzero(plan.route[: data.clients] >= 0):
            before, successor = plan.prev[node], plan.next[node]
            arrival = plan.earliest_start[before] + data.service[before] + plan.leg[before]
            assert plan.earliest_start[node] == max(data.earliest[node], arrival)
            assert plan.latest_start[node] == min(
                data.latest[node], plan.latest_start[successor] - plan.leg[node] - data.service[node]
            )
            assert plan.earliest_start[node] <= plan.latest_start[node]


def test_one_client_out_and_in(make):
    """Taking a client out and putting it back where it was changes nothing, and the two changes cancel."""
    instance = make("fleet", 12, 4)
    data, plan, work = begun(instance)
    before, cost = routes_in(instance, plan, plan.prev[: data.clients]), cost_of(data, plan)
    for client in range(data.clients):
        work.counts[LOGGED] = work.counts[TOUCHED] = 0
        after = plan.prev[client]
        change = remove(data, plan, work, client)
        assert cost + change == pytest.approx(cost_of_served(data, plan), rel=1e-9)
        assert insert(data, plan, work, client, after) == pytest.approx(-change, rel=1e-9)
    again = routes_in(instance, plan, plan.prev[: data.clients])
    assert [route.visits.tolist() for route in before] == [route.visits.tolist() for route in again]


def cost_of_served(data, plan):
    """The cost of a plan, were the clients without a route not there."""
    free = data._replace(prize=np.zeros(data.clients))
    return cost_of(free, plan)


@pytest.mark.parametrize("feature", ["plain", "matrix", "windows"])
def test_neighbours(make, feature):
    """A client's neighbours are others, each once; the sample beyond the nearest is of clients farther away."""
    instance = make(feature, 60, 7)
    near, alone = routing_data(instance, 8, 12), routing_data(instance, 8)
    assert near.near.shape == (60, 20) and (near.near[:, :8] == alone.near).all()
    for client in range(60):
        row = near.near[client].tolist()
        assert len(set(row)) == 20 and client not in row
    if feature == "plain":
        assert (near.near_distance[:, 8:].min(axis=1) >= near.near_distance[:, 7]).all() and (
            np.diff(near.near_distance, axis=1) >= 0
        ).all()
        assert near.near_distance[:, -1].mean() > 2 * near.near_distance[:, 8].mean()
    assert routing_data(instance, 50, 30).near.shape == (60, 59)


@pytest.mark.parametrize("feature", ["plain", "exact", "windows", "fleet"])
def test_an_allowance_only_rejects(make, feature):
    """From the same plan and random numbers: what costs less than is allowed is made all the same, and nothing else."""
    data, plan, work = begun(make(feature, 30, 6))
    rejected = 0
    for turn in range(200):
        state, blink, work.stamp[:] = work.random.copy(), work.counts[BLINK], 0
        change = ruin(data, plan, work)
        change += recreate(data, plan, work, ANY, True, np.inf, 1.0, False)
        missed, made = work.counts[UNSERVED], picture(data, plan)
        undo(data, plan, work)
        allowed = (turn % 20 - 5) * 2.0
        work.random[:], work.counts[BLINK], work.stamp[:] = state, blink, 0
        freed = ruin(data, plan, work)
        again = freed + recreate(data, plan, work, ANY, True, allowed - freed + data.slack, 1.0, False)
        if missed == 0 and change < allowed:
            assert work.counts[UNSERVED] == 0 and again == pytest.approx(change) and picture(data, plan) == made
        else:
            rejected += work.counts[UNSERVED] > 0
            undo(data, plan, work)
    assert rejected > 10
