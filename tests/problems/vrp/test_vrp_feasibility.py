"""What is infeasible by hand is said to be, with the reason; and one number less tight it is not."""

from __future__ import annotations

import pytest

import corl
from corl.errors import Infeasible
from corl.problems.vrp.feasibility import unservable

_FAR = [[0, 10, 10, 10], [10, 0, 2, 2], [10, 2, 0, 2], [10, 2, 2, 0]]  # three clients close together, far from the depot


def instance_of(clients, vehicles, depots=({"id": 0},), matrix=_FAR, **more):
    size = len(depots) + len(clients)
    given = {
        "problem": "vrp", "name": "t", "depots": [dict(each) for each in depots], "vehicles": [dict(each) for each in vehicles],
        "clients": [{"id": len(depots) + k} | each for k, each in enumerate(clients)],
        "matrix": [row[:size] for row in matrix[:size]],
    }  # fmt: skip
    return corl.problem("vrp").adapt(given | more)


def late_break(closes):
    return {"shift": [0, 70], "breaks": [{"window": [20, closes], "duration": 10}]}


TIGHT = {
    "longest durations": (
        lambda limit: instance_of([{"service": 50}] * 3, [{"count": 1, "max_duration": limit}]),
        173, 174, "3 clients must be served (1, 2, 3): their time is at least 156",
    ),
    "two vehicles for five": (
        lambda limit: instance_of(
            [{"service": 500}] * 5, [{"count": 1, "max_duration": limit}] * 2,
            matrix=[[9 * (i != j) for j in range(6)] for i in range(6)],
        ),
        1535, 1536, "5 clients must be served (1, 2, 3, 4, 5); the 2 vehicles",
    ),
    "time in all": (
        lambda limit: instance_of(
            [{"service": 5}, {"service": 50}, {"service": 50}], [{"count": 2, "max_duration": limit}],
        ),
        73, 77, "their time is at least 111; the 2 vehicles that can serve them have 110",
    ),
    "a vehicle's own clients": (
        lambda limit: instance_of(
            [{"service": 50}, {"service": 50}, {}], [{"allowed": [3]}, {"count": 1, "shift": [0, limit]}],
        ),
        121, 122, "2 clients must be served (1, 2)",
    ),
    "a break before or after a service": (
        lambda closes: instance_of([{"service": 40}], [late_break(closes)]),
        49, 50, "client 1 because of the hours of depots and vehicles and breaks",
    ),
    "a break before a service": (
        lambda service: instance_of([{"service": service}], [late_break(30)]), 31, 30, "breaks and rests from driving together",
    ),
    "a leg longer than may be driven": (
        lambda most: instance_of([{}], [{"max_driving": most, "rest": 5}]), 9, 10, "breaks and rests from driving (1 such)",
    ),
    "leaving after the depot has closed: release": (
        lambda closes: instance_of(
            [{"release": 30}], [{"depot": 0, "end_depot": 1}], ({"id": 0, "window": [0, closes]}, {"id": 1}),
        ),
        29, 30, "its release time and the hours of depots and vehicles together",
    ),
    "leaving after the depot has closed: shift": (
        lambda closes: instance_of(
            [{}], [{"shift": [30, 90], "depot": 0, "end_depot": 1}], ({"id": 0, "window": [0, closes]}, {"id": 1}),
        ),
        29, 30, "client 2 because of the hours of depots and vehicles",
    ),
    "waiting makes a route longer": (
        lambda limit: instance_of(
            [{"window": [90, 95]}], [{"max_duration": limit, "end_depot": 1}], ({"id": 0, "window": [0, 60]}, {"id": 1}),
        ),
        31, 32, "its window and the hours of depots and vehicles and the longest duration together",
    ),
    "a group": (
        lambda closes: instance_of(
            [{"window": [0, 5]}, {"window": [0, closes]}, {}], [{}], groups=[{"clients": [1, 2], "required": True}],
        ),
        9, 10, "no vehicle can serve any of the group 1, 2 because of its window",
    ),
    "the ends of a shipment": (
        lambda end: instance_of(
            [{}, {}, {}], [{"allowed": [1, 3]}, {"allowed": [2, 3]}], shipments=[{"from": 1, "to": end, "amount": 1}],
        ),
        2, 3, "no vehicle can serve both client 1 and client 2, where its shipment goes",
    ),
    "nothing to bring first": (
        lambda demand: instance_of([{"pickup": 2}, {"demand": demand}], [{"capacity": 5}], backhauls_last=True),
        0, 1, "no vehicle can serve client 1: it has a pickup, and no delivery can precede it",
    ),
    "too little to bring first": (
        lambda room: instance_of([{"pickup": 3}, {"pickup": 3}, {"demand": 1}], [{"capacity": room}], backhauls_last=True),
        5, 6, "6 is to be collected; a trip collects only after a delivery",
    ),
    "under way and allowed": (
        lambda own: instance_of([{}, {}], [{"count": 1, "begun": [1], "allowed": [own]}, {}]),
        2, 1, "the vehicle of type 0 is under way to 1: it may not serve client 1",
    ),
    "under way and capacity": (
        lambda capacity: instance_of(
            [{"demand": 3}, {"demand": 3}, {}], [{"count": 1, "begun": [1, 2], "capacity": capacity}, {"capacity": 9}],
        ),
        5, 6, "the vehicle of type 0 is under way to 1, 2: its route has load 6 when it leaves; the capacity is 5",
    ),
    "under way and groups": (
        lambda other: instance_of(
            [{}, {}, {}], [{"count": 1, "begun": [1, other]}, {}], groups=[{"clients": [1, 2], "required": True}],
        ),
        2, 3, "vehicles are under way to client 1 and client 2, which are of one group",
    ),
    "under way and backhauls": (
        lambda first: instance_of([{"pickup": 2}, {"demand": 3}], [{"count": 1, "begun": [first]}, {}], backhauls_last=True),
        1, 2, "its route collects without delivering anything",
    ),
    "under way and shipments": (
        lambda first: instance_of([{}, {}], [{"count": 1, "begun": [first]}, {}], shipments=[{"from": 1, "to": 2, "amount": 1}]),
        2, 1, "a vehicle is under way to client 2 without its shipment from client 1",
    ),
    "under way and windows": (
        lambda closes: instance_of([{"service": 7}, {"window": [0, closes]}], [{"count": 1, "begun": [1, 2]}, {}]),
        18, 19, "under way to 1, 2: it does not reach client 2 in time",
    ),
    "under way and the longest distance": (
        lambda most: instance_of([{}, {}], [{"count": 1, "begun": [1, 2], "max_distance": most}, {}]),
        21, 22, "its route is at least 22 long; the limit is 21",
    ),
    "under way and hours": (
        lambda end: instance_of([{"service": 7}, {}], [{"count": 1, "begun": [1], "shift": [0, end]}, {}]),
        26, 27, "under way to 1: it is not back in time",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TIGHT)
def test_infeasible_by_hand(name):
    """With the reason; and with the next number the instance has a solution, of which nothing is said."""
    make, tight, enough, reason = TIGHT[name]
    assert reason in unservable(make(tight))
    assert unservable(make(enough)) == ""


def test_a_client_that_is_reached_over_another_is_servable():
    """A leg that is too long for the driver, with a stop between; and a break that is to be taken there."""
    detour = [[0, 10, 5, 5], [10, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]]
    drive = instance_of([{}] * 3, [{"max_driving": 9, "rest": 1}], matrix=detour)
    routes = corl.problem("vrp").from_json(drive, [[2, 1, 3]])
    assert corl.problem("vrp").evaluate(drive, routes) == 20 and unservable(drive) == ""
    pause = instance_of([{}] * 3, [{"breaks": [{"window": [4, 6], "duration": 3}]}], matrix=detour)
    with pytest.raises(Infeasible):
        corl.problem("vrp").evaluate(pause, corl.problem("vrp").from_json(pause, [[1], [2], [3]]))
    routes = corl.problem("vrp").from_json(pause, [[2, 1, 3]])
    assert corl.problem("vrp").evaluate(pause, routes) == 20 and unservable(pause) == ""


def test_the_judge_holds_the_leaving_against_the_first_depot():
    """A vehicle that leaves after its depot has closed, for a release time or its shift, ends at another depot in vain."""
    for vehicle, client in (({}, {"release": 30}), ({"shift": [30, 90]}, {})):
        made = instance_of([client], [vehicle | {"end_depot": 1}], ({"id": 0, "window": [0, 29]}, {"id": 1}))
        with pytest.raises(Infeasible, match="route 1 leaves depot 0 at 30; which closes at 29"):
            corl.problem("vrp").evaluate(made, [[2]])
        made = instance_of([client], [vehicle | {"end_depot": 1}], ({"id": 0, "window": [0, 30]}, {"id": 1}))
        assert corl.problem("vrp").evaluate(made, [[2]]) == 12


def test_nobody_to_serve():
    """No clients: a valid instance, whose only plan is empty and costs nothing, in JSON and back."""
    made = corl.problem("vrp").adapt({"problem": "vrp", "matrix": [[0]], "depots": [{"id": 0}], "clients": [], "vehicles": [{}]})
    assert corl.problem("vrp").evaluate(made, []) == 0.0 and unservable(made) == ""
    assert corl.problem("vrp").describe(made)["clients"] == 0
