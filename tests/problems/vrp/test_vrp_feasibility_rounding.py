"""What the judge lets pass for its tolerance is never called infeasible; and large instances are looked at for a short time."""

from __future__ import annotations

import random

import numpy as np
import pytest

import corl
from corl.errors import Infeasible
from corl.problems.vrp import vehicle_travel
from corl.problems.vrp.evaluation import Route, objective, schedule
from corl.problems.vrp.feasibility import unservable
from corl.problems.vrp.instance import VrpInstance

_ONE_ADDRESS = [[0, 0.1, 0.1], [0.2, 0, 0], [0.2, 0, 0]]  # there and back: 0.30000000000000004
_APART = [[0, 3.5, 3.5], [3.5, 0, 3.5], [3.5, 3.5, 0]]  # 10.5 in all


def instance_of(matrix, vehicles, window=None, clients=None, **more):
    depot = {"id": 0} if window is None else {"id": 0, "window": window}
    clients = [{}] * (len(matrix) - 1) if clients is None else clients
    given = {"problem": "vrp", "depots": [depot], "clients": [{"id": k} | each for k, each in enumerate(clients, 1)]}
    return corl.problem("vrp").adapt(given | {"matrix": matrix, "vehicles": vehicles} | more)


@pytest.mark.parametrize(
    ("matrix", "vehicle", "window"),
    [
        (_ONE_ADDRESS, {"count": 1, "max_distance": 0.3}, None),
        (_ONE_ADDRESS, {"count": 2, "max_distance": 0.3}, None),
        (_ONE_ADDRESS, {"count": 1, "max_duration": 0.3}, None),
        (_ONE_ADDRESS, {"count": 1}, [0, 0.3]),
        (_ONE_ADDRESS, {"count": 1}, [1.1, 1.4]),
        (_APART, {"count": 1}, [1e9, 1e9 + 10]),
        (_APART, {"count": 1, "max_duration": 10}, [1e9, 1e9 + 100]),
        (_APART, {"count": 1, "max_duration": 10}, [1e9, 1e12]),
    ],
)
def test_what_the_tolerance_lets_pass_is_not_infeasible(matrix, vehicle, window):
    """One vehicle goes to both clients, by the judge; no proof says that it cannot."""
    made = instance_of(matrix, [vehicle], window)
    assert objective(made, [[1, 2]]) > 0 and unservable(made) == ""


def test_far_past_the_tolerance_is_infeasible():
    """The same with limits that the judge does not let pass."""
    for vehicle, window in (({"max_distance": 0.29}, None), ({"max_duration": 0.29}, None), ({}, [1.1, 1.39])):
        made = instance_of(_ONE_ADDRESS, [vehicle | {"count": 1}], window)
        with pytest.raises(Infeasible):
            objective(made, [[1, 2]])
        assert unservable(made)
    assert unservable(instance_of(_APART, [{"count": 1}], [1e9, 1e9 + 6]))


def planned(seed):
    """An instance every limit of which is what a known plan takes, or as much less as the judge's tolerance allows; the plan."""
    draw = random.Random(seed)
    n, base = draw.randint(2, 6), draw.choice([0.0, 0.1, 1e3, 1e9])
    spots = [(round(draw.random(), 2), round(draw.random(), 2)) for _ in range(draw.randint(1, n))]
    places = [spots[0], *(draw.choice(spots) for _ in range(n))]
    matrix = [[float(np.hypot(a - c, b - d)) for c, d in places] for a, b in places]
    if draw.random() < 0.5:  # one way is not the other
        matrix = [[length * draw.choice([1, 2]) for length in row] for row in matrix]
    clients = [{"service": draw.choice([0, 0.1]), "window": [base + draw.choice([0, 0.7]), 1e11]} for _ in range(n)]
    nodes = draw.sample(range(1, n + 1), n)
    cut = draw.randint(1, n)
    plan = [Route(k, np.array(part, np.int32)) for k, part in enumerate(filter(None, (nodes[:cut], nodes[cut:])))]
    vehicles = [{"count": 1} for _ in plan]
    loose = instance_of(matrix, vehicles, [base, 1e11], clients)
    times = [schedule(loose, route) for route in plan]
    less = draw.choice([0.0, 0.9e-9])
    for vehicle, route in zip(vehicles, times):
        found = {
            "max_distance": route.distance * (1 - less), "max_duration": max(0.0, route.duration - less * route.back),
            "shift": [base, max(base, route.back * (1 - less))],
        }  # fmt: skip
        vehicle |= {key: found[key] for key in draw.sample(sorted(found), draw.randint(1, 3))}
    closes = max(base, max(route.back for route in times) * (1 - draw.choice([0.0, less])))
    for client, node in zip(clients, range(1, n + 1)):
        begin = next(t.begin[list(r.visits).index(node)] for t, r in zip(times, plan) if node in r.visits)
        client["window"][1] = max(client["window"][0], float(begin) + draw.choice([0.0, 1.0]))
    return instance_of(matrix, vehicles, [base, draw.choice([closes, 1e11])], clients), plan


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_limits_of_a_known_plan_are_not_infeasible(first):
    """Fractional numbers, clients at one address, late hours: where the judge accepts the plan no proof says there is none."""
    accepted = 0
    for seed in range(first, first + 100):
        made, plan = planned(seed)
        try:
            objective(made, plan)
        except Infeasible:
            continue
        accepted += 1
        assert unservable(made) == "", seed
    assert accepted > 60


def test_a_duration_is_held_against_when_the_vehicle_is_back():
    """Client 1 alone takes too long for its own hours; behind client 2, which opens late, it is within the tolerance."""
    matrix = [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    made = instance_of(matrix, [{"max_duration": 2 - 1e-6}], [0, 1e12], [{}, {"window": [2000, 1e12]}])
    assert objective(made, [[1, 2]]) == 2 and unservable(made) == ""
    sooner = instance_of(matrix, [{"max_duration": 2 - 1e-6}], [0, 1e12], [{}, {"window": [20, 1e12]}])
    assert "the longest duration" in unservable(sooner)


def test_every_way_home_is_longer_than_may_be_driven():
    """A route that is under way cannot come home, which is said."""
    made = instance_of([[0, 1], [3, 0]], [{"count": 1, "max_driving": 2, "rest": 1, "begun": [1]}])
    assert "the vehicle of type 0 is under way to 1: it is not back in time" in unservable(made)
    made = instance_of([[0, 1], [2, 0]], [{"count": 1, "max_driving": 2, "rest": 1, "begun": [1]}])
    assert unservable(made) == ""


def large(kind, closes):
    """Clients on a line from the depot, the farthest with a window that ends then."""
    n = 400
    latest = np.full(n, 1e6)
    latest[-1] = closes
    points = np.column_stack([np.arange(n) * 0.4, np.zeros(n)])
    return VrpInstance(
        "l", kind, np.zeros(n), corl.problem("vrp").adapt(_TINY).vehicles, points=points, earliest=np.zeros(n), latest=latest
    )


_TINY = {"problem": "vrp", "matrix": [[0, 1], [1, 0]], "depots": [{"id": 0}], "clients": [{"id": 1}], "vehicles": [{}]}


@pytest.mark.parametrize(("kind", "proven"), [("EXACT_2D", (1, 150)), ("EUC_2D", (0,)), ("CEIL_2D", (1,))])
def test_shortest_ways_in_large_instances_are_cut_short(kind, proven, monkeypatch):
    """After few steps a proof is found where it is cheap, and none where a way over many stops is (rounded legs of 0.4 are 0)."""
    asked = []
    monkeypatch.setattr(vehicle_travel, "_MAX_DISTANCE_COUNT", (400 * 20, 400 * 20))
    row = vehicle_travel.VehicleTravel.row
    monkeypatch.setattr(vehicle_travel.VehicleTravel, "row", lambda *given: asked.append(given) or row(*given))
    for closes in proven:
        if kind == "EUC_2D":
            assert unservable(large(kind, closes)) == ""
        else:
            assert unservable(large(kind, closes)).startswith("no vehicle can serve client 400 because of its window")
    assert 0 < len(asked) < 300 * len(proven)


def test_shortest_ways_that_are_cut_short_are_never_longer(monkeypatch):
    """Whatever the number of steps after which the search ends, its lengths are at most those of a whole search."""
    draw = np.random.default_rng(3)
    for kind in ("EXPLICIT", "EXACT_2D", "EUC_2D"):
        given = {"matrix": draw.random((30, 30))} if kind == "EXPLICIT" else {"points": draw.random((30, 2)) * 5}
        made = VrpInstance("s", kind, np.zeros(30), corl.problem("vrp").adapt(_TINY).vehicles, **given)
        whole = [
            vehicle_travel.VehicleTravel(made, 0).from_node(0, False, True),
            vehicle_travel.VehicleTravel(made, 0).back(False, True),
        ]
        for steps in (0, 1, 5, 20):
            monkeypatch.setattr(vehicle_travel, "_MAX_DISTANCE_COUNT", (30 * steps, 30 * steps))
            short = [
                vehicle_travel.VehicleTravel(made, 0).from_node(0, False, True),
                vehicle_travel.VehicleTravel(made, 0).back(False, True),
            ]
            assert all((a <= b).all() for a, b in zip(short, whole))
        monkeypatch.undo()
