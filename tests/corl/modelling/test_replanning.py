"""Replanning of routing models: every way to go on is considered, what is done stays, names and numbers are kept."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from corl.errors import UsageError
from corl.modelling import RoutingModel

LIMITS = {"time_limit": None, "iterations": 600, "seed": 1}


def town(clients=6, seed=0, **vehicle):
    """Technicians without loads, windows and integral times."""
    random = np.random.default_rng(seed)
    model = RoutingModel("town")
    model.add_depot("yard", x=50, y=50, window=(0, 900))
    for k in range(clients):
        x, y = random.integers(0, 100, 2).tolist()
        begin = int(random.integers(0, 150))
        model.add_client(f"c{k}", x=x, y=y, service=10, window=(begin, begin + 400))
    model.add_vehicle("van", **{"count": 2, "fixed_cost": 10} | vehicle)
    return model


def place(model, name):
    return (50, 50) if name == "yard" else model.instance().points[1 + model._clients.known[name]]


def cheapest_way_on(model, fixed, now):
    """The least cost of all ways to go on: each vehicle's fixed (client, begin), then any of the other clients in any order.

    fixed: For each of the two vehicles, the visits that are done; a vehicle is ready at the end of its last service, or at now.
    """
    instance = model.instance()
    names = model._clients.listed()
    travel = {(a, b): math.dist(place(model, a), place(model, b)) for a in ("yard", *names) for b in ("yard", *names)}
    free = [name for name in names if name not in {client for visits in fixed for client, _ in visits}]
    best = math.inf
    for order in itertools.permutations(free):
        for cut in range(len(free) + 1):
            cost = 0.0
            for visits, rest in zip(fixed, (order[:cut], order[cut:])):
                path = ["yard", *[client for client, _ in visits], *rest, "yard"]
                if len(path) == 2:
                    continue
                cost += 10 + sum(travel[leg] for leg in itertools.pairwise(path))
                time = max(now, visits[-1][1] + 10) if visits else now
                for one, two in itertools.pairwise(path[len(visits) :]):
                    arrival = time + travel[one, two]
                    node = 0 if two == "yard" else 1 + names.index(two)
                    if arrival > instance.latest[node] + 1e-9:
                        cost = math.inf
                    time = max(arrival, instance.earliest[node]) + (0 if two == "yard" else 10)
            best = min(best, cost)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_way_on_is_found(seed):
    """All permutations of what is left, divided among both vehicles in all ways."""
    model = town(5, seed)
    plan = model.solve(iterations=300)
    now = 130
    routes = {route.number: route for route in plan.routes}
    fixed = [[(s.name, s.begin) for s in routes[k].stops if s.begin < now] if k in routes else [] for k in (1, 2)]
    model.add_client("new", x=20, y=80, service=10)
    done = {("van", k + 1): dict(visits) for k, visits in enumerate(fixed) if visits}
    after = model.replan(now=now, done=done, under_way={}, **LIMITS)
    assert after.objective == pytest.approx(cheapest_way_on(model, fixed, now), rel=1e-9)
    for route in after.routes:
        visits = fixed[route.number - 1]
        assert [(s.name, s.begin) for s in route.stops[: route.done]] == [(n, pytest.approx(t)) for n, t in visits]
        assert all(s.arrival >= now - 1e-6 for s in route.stops[route.done :])


def test_nothing_new_changes_nothing():
    """An optimal plan is continued as it is at any time, again and again; the fixed part grows."""
    model = town(6, 2)
    plan = first = model.solve(iterations=600)
    fixed = -1
    for now in (5, 60, 150, 250, 420):
        plan = model.replan(now=now, **LIMITS)
        assert plan.objective == pytest.approx(first.objective)
        assert not plan.changes(first, by=1e-3), now
        assert sum(route.fixed for route in plan.routes) >= fixed
        fixed = sum(route.fixed for route in plan.routes)
    assert fixed == 6 and plan.before is not None and plan.before.before is None


def test_changes_are_listed():
    """New, cancelled, dropped, moved and later clients; the table has a row for each, and prints."""
    model = RoutingModel("street", time="min")
    model.add_depot("yard", x=0, y=0)
    for k, x in enumerate((10, 20, 30)):
        model.add_client(f"east {k}", x=x, y=0, service=5, window=(0, 300))
    model.add_client("west", x=-10, y=0, service=5)
    model.add_client("far", x=-200, y=0, prize=500)
    model.add_vehicle("A", max_distance=600)
    model.add_vehicle("B", fixed_cost=1, max_distance=600)
    plan = model.solve(iterations=300)
    with pytest.raises(UsageError, match="before: None is not accepted"):
        plan.changes()
    model.remove_client("east 1")
    model.remove_client("far")
    model.add_client("far", x=-290, y=0, prize=1)
    model.add_client("soon", x=8, y=6)
    after = model.replan(now=1, done={}, under_way={}, **LIMITS)
    found = {each.client: each.change for each in after.changes(by=0.5)}
    assert found["east 1"] == "cancelled" and found["soon"] == "new" and found["far"] == "dropped"
    frame = after.changes().to_frame()
    assert list(frame.columns) == ["client", "change", "vehicle_before", "vehicle", "begin_before", "begin"]
    assert str(after.changes()).splitlines()[0].split() == [
        "client",
        "change",
        "vehicle",
        "before",
        "vehicle",
        "begin",
        "before",
        "begin",
    ]
    moved = model.replan(now=2, done={}, under_way={"A": "west", "B": "east 0"}, **LIMITS)
    assert {route.vehicle: route.names[0] for route in moved.routes} == {"A": "west", "B": "east 0"}
    assert {"moved"} <= {each.change for each in moved.changes()}


def test_reality_differs_from_the_plan():
    """Vehicles that were faster or slower, longer or shorter services: the times that are given are those of the result."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        model = town(8, seed)
        plan = model.solve(iterations=300)
        done, time = {}, 0.0
        for route in plan.routes:
            times, time = {}, 0.0
            for name in route.names[:2]:
                time += float(random.integers(1, 60))
                times[name] = time
            done["van", route.number] = times
        after = model.replan(now=130, done=done, **LIMITS)
        assert after.status in ("feasible", "optimal")
        for route in after.routes:
            given = done.get((route.vehicle, route.number), {})
            assert {stop.name: pytest.approx(stop.begin) for stop in route.stops[: route.done]} == given
            assert route.fixed - route.done == (len(route.stops) > route.done and route.fixed > route.done)
            assert all(a.departure <= b.arrival + 1e-6 for a, b in itertools.pairwise(route.stops))


def test_a_shipment_that_is_picked_up_stays_on_its_vehicle():
    """Though the other vehicle is nearer to its destination; a shipment that is not picked up yet may move."""
    model = RoutingModel("parcels")
    model.add_depot("hub", x=0, y=0)
    for name, x in (("from", 10), ("to", 20), ("pick", 30), ("drop", 40)):
        model.add_client(name, x=x, y=0)
    model.add_shipment("from", "to", amount=2)
    model.add_shipment("pick", "drop", amount=2)
    model.add_vehicle("A", capacity=3)
    model.add_vehicle("B", capacity=3)
    after = model.replan(now=15, done={"A": {"from": 10}}, under_way={"B": ("pick", 16)}, **LIMITS)
    routes = {route.vehicle: route.names for route in after.routes}
    assert routes == {"A": ["from", "to"], "B": ["pick", "drop"]}
    assert {route.vehicle: route.stops[1].arrival for route in after.routes} == {"A": 25, "B": 26}
    after = model.replan(now=15, done={"A": {"from": 10}}, under_way={"B": "hub"}, **LIMITS)
    assert {route.vehicle: route.names for route in after.routes} == {"A": ["from", "to", "pick", "drop"]}


def test_loads_skills_breaks_and_shifts():
    """A van's parcels stay on it, new ones leave the depot later; the electrician's client stays his; breaks and shifts hold."""
    model = RoutingModel("mix", time="min")
    model.add_depot("hub", x=0, y=0)
    model.add_client("a", x=10, y=0, demand=1)
    model.add_client("b", x=100, y=0, demand=1)
    model.add_client("socket", x=0, y=10, needs={"power"}, service=30)
    model.add_vehicle("van", count=2, capacity=5, shift=("07:00", "15:00"), breaks=[("11:00", "12:00", 30)])
    model.add_vehicle("electrician", capacity=0, skills={"power"}, shift=("07:00", "15:00"))
    model.solve(iterations=200)
    model.add_client("c", x=101, y=0, demand=1)  # next to b, but its parcel is at the hub
    after = model.replan(now="08:00", done={("van", 1): {"a": "07:40"}}, under_way={("van", 1): "b"}, **LIMITS)
    routes = {(route.vehicle, route.number): route for route in after.routes}
    assert routes["van", 1].names == ["a", "b"] and routes["van", 2].names == ["c"]
    assert routes["van", 2].leaves >= 480 and routes["electrician", 1].names == ["socket"]
    exchanged = model.replan(
        now="08:00", done={("van", 1): {"a": "07:40"}}, under_way={("van", 1): "b"}, own_loads=False, **LIMITS
    )
    assert {route.names[-1] for route in exchanged.routes} == {"c", "socket"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"now": 50, "done": {("van", 1): {"nobody": 3}}}, "there is no client 'nobody'"),
        ({"now": 50, "done": {("van", 1): {"c0": 51}}}, "'c0': 51 is after now, 50"),
        ({"now": 50, "done": {"van": {"c0": 5}}}, r"of vehicle 'van' there are 2; accepted: \('van', 1\)"),
        ({"now": 50, "done": {("van", 3): {"c0": 5}}}, "van.*3 is not accepted; accepted: an integer from 1 to 2"),
        ({"now": 50, "done": {"bus": {"c0": 5}}}, "there is no vehicle 'bus'"),
        ({"now": 50, "done": [1]}, "done: .* is not accepted"),
        ({"now": 50, "done": {("van", 1): ["c0"]}}, "accepted: a dict from clients to times"),
        ({"now": 50, "done": {("van", 1): {"c0": 5}, ("van", 2): {"c0": 5}}}, "client 'c0' is visited twice"),
        ({"now": 50, "done": {}, "under_way": {("van", 1): "c0", ("van", 2): "c0"}}, "client 'c0' is visited twice"),
        ({"now": 50, "done": {}, "under_way": {("van", 1): "nowhere"}}, "there is no client 'nowhere'"),
        ({"now": -1}, "now: -1 is not accepted"),
        ({"now": "noon"}, "now: 'noon' is not accepted"),
        ({"now": 50, "plan": 3}, "plan: 3 is not accepted"),
    ],
)
def test_one_line_says_what_is_wrong(arguments, message):
    """With the names of the model."""
    model = town(4, 0)
    model.solve(iterations=50)
    with pytest.raises(UsageError, match=message) as caught:
        model.replan(**arguments)
    assert "\n" not in str(caught.value)


def test_a_vehicle_twice():
    """Under its kind and under its number."""
    model = town(4, 0, count=1)
    model.solve(iterations=50)
    with pytest.raises(UsageError, match="is listed twice"):
        model.replan(now=50, done={"van": {"c0": 5}, ("van", 1): {"c1": 5}})


def test_without_a_plan():
    """What has happened suffices; without it, there must be a plan."""
    model = town(4, 0)
    with pytest.raises(UsageError, match="plan: None is not accepted"):
        model.replan(now=5)
    after = model.replan(now=90, done={("van", 2): {"c0": 60}}, **LIMITS)
    assert next(route.names[0] for route in after.routes if route.number == 2) == "c0"


def test_removed_clients_leave_shipments_groups_and_the_matrix():
    """The model is the one in which the client never was."""

    def made(names):
        model = RoutingModel("m")
        model.add_depot("d")
        for k, name in enumerate(names):
            model.add_client(name, demand=0, service=k if name == "x" else 1, needs={"s"} if name == "c" else ())
        model.add_group([name for name in names if name in ("a", "x")])
        model.add_shipment("b", "c", amount=3)
        old = [0, *(1 + list("axbc").index(name) for name in names)]
        matrix = (np.arange(25.0).reshape(5, 5) * (1 - np.eye(5)))[np.ix_(old, old)]
        model.set_matrix(matrix, 2 * matrix)
        model.add_vehicle("v", skills={"s"}, capacity=4)
        return model

    model = made("axbc")
    model.remove_client("x")
    assert model._object() == made("abc")._object()
    model.remove_client("b")
    assert model.instance().rules.shipments is None
    with pytest.raises(UsageError, match="there is no client 'x'"):
        model.remove_client("x")
