"""The judge of vehicle routing: against plain Python that tries every departure, and what it says of each fault."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import Infeasible, InputError
from corl.problems.vrp.evaluation import Route, objective, schedule
from corl.problems.vrp.instance import Vehicles, VrpInstance


@settings(deadline=None, max_examples=150)
@given(seed=st.integers(0, 10**6), routed=st.integers(0, 10**6))
def test_the_judge_is_plain_python(random_vrp, plain_cost, seed, routed):
    """Random routes by random vehicles: the same objective, and infeasible for one where it is for the other."""
    instance, random = random_vrp(seed), np.random.default_rng(routed)
    clients = random.permutation(np.arange(instance.depots, instance.n))
    clients = clients[: random.integers(0, len(clients) + 1)] if random.random() < 0.5 else clients
    cuts = np.sort(random.integers(0, len(clients) + 1, random.integers(0, 5)))
    parts = [part for part in np.split(clients, cuts) if len(part)]
    routes = [Route(int(random.integers(instance.vehicles.types)), part.astype(np.int32)) for part in parts]
    expected = plain_cost(instance, routes)
    if expected is None:
        with pytest.raises(Infeasible):
            objective(instance, routes)
    else:
        assert objective(instance, routes) == pytest.approx(expected, rel=1e-12, abs=1e-9)


def square(**changes):
    """A depot in a corner of a square of side 10 and three clients at the others."""
    given = {
        "name": "square", "edge_weight_type": "EUC_2D", "demand": np.array([0.0, 2, 3, 4]),
        "vehicles": Vehicles(np.array([9.0])), "points": np.array([[0.0, 0], [10, 0], [10, 10], [0, 10]]),
        "ids": np.array([7, 1, 2, 3]),
    }  # fmt: skip
    return VrpInstance(**(given | changes))


def test_a_square():
    """Around it, one by one, and with a fixed cost and a weight for each route."""
    assert objective(square(), [[1, 2, 3]]) == 40
    assert objective(square(), [[1], [2], [3]]) == 20 + 28 + 20
    dear = square(vehicles=Vehicles(np.array([9.0]), fixed_cost=5.0, unit_cost=2.0))
    assert objective(dear, [[1, 2], [3]]) == 2 * (34 + 20) + 10
    assert square(fleet="fewest").route_weight == 100 and objective(square(fleet="fewest"), [[1, 2, 3]]) == 140


def test_prizes():
    """What is left out costs its prize; what is required must be visited."""
    free = square(prize=np.array([0.0, 5, 6, 0]), required=np.array([False, False, False, True]))
    assert objective(free, [[3]]) == 20 + 11
    with pytest.raises(Infeasible, match="client 3 must be visited"):
        objective(free, [[1]])
    assert objective(square(required=np.zeros(4, bool)), []) == 0


def test_a_vehicle_leaves_late():
    """The duration is the least possible: leaving late, waiting only where a later window forces it."""
    windows = {
        "earliest": np.array([0.0, 100, 0, 200]),
        "latest": np.array([500.0, 150, 500, 250]),
        "service": np.array([0.0, 1, 1, 1]),
    }
    plan = schedule(square(**windows), Route(0, np.array([1, 3], np.int32)))
    assert plan.leave == 140 and plan.begin.tolist() == [150, 200] and plan.back == 211 and plan.duration == 71
    tight = Vehicles(np.array([9.0]), max_duration=70.0)
    with pytest.raises(Infeasible, match=r"route 1 takes 71; the limit is 70"):
        objective(square(**windows, vehicles=tight), [[1, 3], [2]])


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ([[1, 2]], r"client 3 must be visited and is not \(1 such\)"),
        ([[1, 2, 3], [1]], "client 1 is visited twice, in routes 1 and 2"),
        ([[1, 2, 1], [3]], "client 1 is visited twice, in routes 1 and 1"),
        ([[1, 2, 3], []], "route 2 visits no client"),
        ([[0, 1, 2, 3]], "route 1 visits node index 0; clients are 1 to 3"),
        ([[1, 2, 4]], "route 1 visits node index 4"),
        ([[1.0, 2, 3]], "a list of integers, not of float64"),
        ([[[1], [2, 3]]], "route 1 is no list of clients"),
        ([[[1, 2, 3]]], "route 1 is no list"),
        ([Route(1, np.array([1, 2, 3]))], "route 1 has vehicle type 1; accepted: 0 to 0"),
        ("123", "a solution is a list of routes"),
        (None, "a solution is a list of routes"),
    ],
)
def test_no_solution(solution, message):
    """Each fault is named, in the file's ids."""
    with pytest.raises(Infeasible, match=message):
        objective(square(), solution)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vehicles": Vehicles(np.array([8.0]))}, "route 1 has load 9; the capacity is 8"),
        ({"vehicles": Vehicles(np.array([9.0]), max_distance=39.0)}, "route 1 has length 40; the limit is 39"),
        (
            {"earliest": np.zeros(4), "latest": np.array([99.0, 99, 19, 99])},
            "route 1 comes to client 2 at 20; its window ends at 19",
        ),
        ({"earliest": np.zeros(4), "latest": np.full(4, 39.0)}, "route 1 is back at depot 7 at 40; which closes at 39"),
    ],
)
def test_broken_limits(changes, message):
    """Capacity, length, windows and the depot's hours."""
    with pytest.raises(Infeasible, match=message):
        objective(square(**changes), [[1, 2, 3]])


def test_too_many_vehicles():
    """The fleet is limited by type."""
    fleet = Vehicles(np.array([9.0, 4.0]), count=np.array([1, 1]))
    assert objective(square(vehicles=fleet), [Route(0, np.array([1, 2])), Route(1, np.array([3]))]) == 54
    with pytest.raises(Infeasible, match="2 vehicles of type 1 are used; there are 1"):
        objective(square(vehicles=fleet), [Route(0, np.array([1])), Route(1, np.array([2])), Route(1, np.array([3]))])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"demand": np.array([0.0, 10, 1, 1])}, "demand"),
        ({"demand": np.array([1.0, 1, 1, 1])}, "demand"),
        ({"demand": np.array([0.0, -1, 1, 1])}, "demand"),
        ({"demand": np.zeros(3)}, "demand"),
        ({"points": np.zeros((4, 3))}, "points"),
        ({"points": np.array([[0.0, 0], [10, 0], [10, np.nan], [0, 10]])}, "points"),
        ({"edge_weight_type": "EXPLICIT", "points": None, "matrix": -np.ones((4, 4))}, "matrix"),
        ({"edge_weight_type": "FLAT"}, "edge_weight_type"),
        ({"earliest": np.zeros(4)}, "earliest"),
        ({"earliest": np.full(4, 5.0), "latest": np.array([9.0, 9, 4, 9])}, "latest"),
        ({"ids": np.array([1, 1, 2, 3])}, "ids"),
        ({"depots": 5}, "depots"),
        ({"depots": 0}, "depots"),
        ({"required": np.ones(4, bool)}, "required"),
        ({"fleet": "small"}, "fleet"),
        ({"scale": 10}, "scale"),
        ({"speed": 0.0}, "speed"),
        ({"vehicles": Vehicles(np.array([9.0]), start=1)}, "vehicles"),
    ],
)
def test_instances_are_checked(changes, field):
    """Shapes, ranges and what belongs together: an InputError that names the field."""
    with pytest.raises(InputError) as caught:
        square(**changes)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"capacity": np.array([-1.0])}, "capacity"), ({"capacity": np.array([np.nan])}, "capacity"),
        ({"capacity": np.zeros(0)}, "capacity"), ({"capacity": 3.0, "count": -2}, "count"),
        ({"capacity": 3.0, "count": 1.5}, "count"), ({"capacity": 3.0, "fixed_cost": np.inf}, "fixed_cost"),
        ({"capacity": np.ones(2), "unit_cost": np.ones(3)}, "unit_cost"),
    ],
)  # fmt: skip
def test_vehicles_are_checked(values, field):
    """A fault in the fleet names its field."""
    with pytest.raises(InputError) as caught:
        Vehicles(**values)
    assert caught.value.field == field


def test_arrays_are_read_only():
    """Nobody changes an instance; what it was made from stays the caller's."""
    demand, capacity = np.array([0.0, 2, 3, 4]), np.array([9.0])
    instance = square(demand=demand, vehicles=Vehicles(capacity))
    demand[1] = capacity[0] = 1.0
    assert instance.demand[1] == 2 and instance.vehicles.capacity[0] == 9
    for array in (instance.demand, instance.points, instance.prize, instance.required, instance.ids, instance.vehicles.capacity):
        with pytest.raises(ValueError):
            array[0] = 1
