"""Generated instances are what their sources say, and what cannot be served is known where that is cheap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.vrp.feasibility import unservable
from corl.problems.vrp.generators import solomon, uniform, x
from corl.problems.vrp.instance import Vehicles, VrpInstance


def test_uniform():
    """The literature's capacities and demands; a seed gives the same instance; optional clients have prizes."""
    assert [uniform(size=n).vehicles.capacity[0] for n in (20, 50, 100, 200, 1000)] == [30, 40, 50, 80, 250]
    one, again, other = uniform(size=40), uniform(size=40), uniform(size=40, seed=1)
    assert np.array_equal(one.points, again.points) and not np.array_equal(one.points, other.points)
    assert set(one.demand[1:]) <= set(range(1, 10)) and one.required[1:].all() and not one.prize.any()
    free = uniform(size=200, optional=0.4)
    assert 50 < (~free.required[1:]).sum() < 110 and ((free.prize > 0) == (~free.required & (np.arange(201) > 0))).all()


@pytest.mark.parametrize("clients", ["random", "clustered", "mixed"])
@pytest.mark.parametrize("size", [1, 2, 9, 120])
def test_x_places(size, clients):
    """As many different places as clients, on the grid; clusters are denser than chance."""
    made = x(size=size, clients=clients, depot="corner", seed=size)
    assert made.n == size + 1 and len(np.unique(made.points[1:], axis=0)) == size
    assert (made.points == np.rint(made.points)).all() and made.points.min() >= 0 and made.points.max() <= 1000
    assert made.points[0].tolist() == [0, 0] and x(size=3, depot="centre").points[0].tolist() == [500, 500]
    if size == 120:
        apart = np.hypot(*(made.points[1:, None] - made.points[None, 1:]).transpose(2, 0, 1))
        nearest = np.sort(apart, axis=1)[:, 1].mean()
        assert nearest < 25 if clients == "clustered" else nearest > 25


@pytest.mark.parametrize(
    ("demand", "low", "high"), [(1, 1, 1), (2, 1, 10), (3, 5, 10), (4, 1, 100), (5, 50, 100), (6, 1, 100), (7, 1, 100)]
)
def test_x_demands(demand, low, high):
    """The seven distributions and the capacity that follows from the route size."""
    made = x(size=400, demand=demand, route_size=8, seed=2)
    drawn = made.demand[1:]
    assert low <= drawn.min() and drawn.max() <= high and (high == 1 or len(set(drawn)) > 4)
    assert made.vehicles.capacity[0] == max(drawn.max(), np.ceil(8 * drawn.sum() / 400))
    if demand == 6:
        even = (made.points[1:, 0] < 500) == (made.points[1:, 1] < 500)
        assert drawn[even].max() <= 50 < drawn[~even].min()
    if demand == 7:
        assert 0.65 < (drawn <= 10).mean() < 1 and not ((drawn > 10) & (drawn < 50)).any()


@pytest.mark.parametrize("kind", ["R", "C", "RC"])
@pytest.mark.parametrize("series", [1, 2])
@pytest.mark.parametrize("size", [1, 30, 250])
def test_solomon_clients_can_be_served(size, kind, series):
    """Every client is in reach of a vehicle of its own; without windows only the depot's hours are left."""
    made = solomon(size=size, kind=kind, series=series, seed=size)
    away = made.distances_from(0)
    begin = np.maximum(made.earliest, away)
    assert (begin <= made.latest)[1:].all() and (begin + made.service + away <= made.latest[0])[1:].all()
    assert made.scale == 10 and unservable(made) == ""
    assert not solomon(size=size, kind=kind, series=series, windows=0.0).earliest.any()


@pytest.mark.parametrize(
    "call",
    [
        lambda: uniform(size=0), lambda: uniform(capacity=5), lambda: uniform(optional=1.5), lambda: x(depot="north"),
        lambda: x(clients="some"), lambda: x(demand=8), lambda: x(route_size=0.5), lambda: solomon(kind="Q"),
        lambda: solomon(series=3), lambda: solomon(windows=2.0), lambda: x(size=10**7),
    ],
)  # fmt: skip
def test_parameters_are_checked(call):
    """A UsageError says what is accepted."""
    with pytest.raises(UsageError, match="accepted: "):
        call()


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_what_is_called_unservable_is(random_vrp, best_cost, seed):
    """Of one vehicle type: where `unservable` gives a reason, enumeration finds no solution."""
    instance = random_vrp(seed, 3)
    vehicles = instance.vehicles
    one = Vehicles(vehicles.capacity.max(), vehicles.count[0], max_distance=vehicles.max_distance[0] / 4)
    instance = replace(instance, vehicles=one)
    if unservable(instance):
        assert best_cost(instance) == np.inf


def test_reasons():
    """Too much demand for the fleet; a client that is out of reach in time; nothing where stops on the way may help."""
    made = uniform(size=30)
    few = replace(made, vehicles=Vehicles(np.array([30.0]), np.array([3])))
    assert unservable(few).startswith("the required clients' demand") and unservable(made) == ""
    late = replace(made, earliest=np.zeros(31), latest=np.full(31, 0.1))
    assert unservable(late).startswith("no vehicle can serve client ")
    detour = np.array([[0.0, 9, 1], [9, 0, 1], [1, 1, 0]])
    demand, vehicles, none = np.array([0.0, 1, 1]), Vehicles(np.array([9.0])), np.zeros(3)
    far = VrpInstance("far", "EXPLICIT", demand, vehicles, matrix=detour, earliest=none, latest=np.full(3, 5.0))
    assert unservable(far) == ""
    assert unservable(replace(far, latest=np.full(3, 3.0))).startswith("no vehicle can serve client 2")
