"""RoutingModel with clusters, balance and shifts over days: the instance, the routes by vehicle and day, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import InputError, UsageError
from corl.modelling import RoutingModel

LIMITS = {"iterations": 300, "seed": 1}


def week(**vehicle):
    """Four clients, two of which can be served on one day only, and a van with a shift on each of two days."""
    model = RoutingModel("week", time="h", speed=2)
    model.add_depot("yard", x=0, y=0)
    model.add_client("Ada", x=1, y=0, service=1, window=("08:00", "12:00"), days=[0])
    model.add_client("Bob", x=0, y=1, service=1, days=[1])
    model.add_client("Cid", x=1, y=1, service=1, needs={"crane"})
    model.add_client("Dan", x=2, y=1, service=1)
    shifts = [(0, "07:00", "13:00"), (1, "07:00", "13:00")]
    model.add_vehicle("van", **{"shifts": shifts, "skills": {"crane"}, "max_total_duration": 9} | vehicle)
    return model


def test_routes_by_vehicle_and_day():
    """Days of clients are kept, times are those of the day, and the table names vehicle and day."""
    routes = week().solve(**LIMITS)
    by_day = {route.day: route for route in routes.routes}
    assert set(by_day) == {0, 1} and all((route.vehicle, route.number) == ("van", 1) for route in routes.routes)
    assert "Ada" in by_day[0].names and "Bob" in by_day[1].names
    assert all(7 <= route.leaves < route.returns <= 13 for route in routes.routes)
    assert sum(route.returns - route.leaves for route in routes.routes) <= 9
    pytest.importorskip("pandas")
    table = routes.to_frame()
    assert list(table.columns[:4]) == ["route", "vehicle", "number", "day"] and set(table["day"]) == {0, 1}


def test_the_types_of_shifts():
    """A type for each shift; with limits of all shifts also for each vehicle, and a roster that names its shifts."""
    loose = week(max_total_duration=None, count=3).instance()
    assert loose.vehicle_names == ("van, shift 1 (day 0)", "van, shift 2 (day 1)") and loose.vehicles.count.tolist() == [3, 3]
    assert loose.rules.roster is None and loose.rules.shift.tolist() == [[14, 26], [14, 26]]
    tight = week(count=2, vehicle_cost=5).instance()
    assert tight.vehicle_names[2] == "van 2, shift 1 (day 0)" and tight.rules.roster.tolist() == [0, 0, 1, 1]
    assert tight.rules.roster_duration.tolist() == [18, 18] and tight.rules.roster_cost.tolist() == [5, 5]
    assert tight.rules.allowed[:, 1:].tolist() == [[True, False, True, True], [False, True, True, True]] * 2


def test_days_and_vehicles_without_shifts():
    """Such a vehicle serves the clients without days, if it has their skills."""
    model = week()
    model.add_vehicle("bike")
    instance = model.instance()
    assert instance.vehicle_names[-1] == "bike" and instance.rules.allowed[-1, 1:].tolist() == [False, False, False, True]


def test_clusters_and_balance():
    """By the clients' names, and as the judge sees them; a removed client leaves its cluster."""
    model = RoutingModel("parcels")
    model.add_depot("hub", x=0, y=0)
    for k in range(6):
        model.add_client(f"c{k}", x=k + 1, y=0)
    model.add_vehicle("bike", count=2)
    model.add_cluster(["c0", "c5"])
    model.add_cluster(["c1", "c4"], in_a_row=False)
    model.balance_routes("longest", of="distance", weight=100)
    rules = model.instance().rules
    assert rules.clusters.tolist() == [-1, 0, 1, -1, -1, 1, 0] and rules.cluster_in_a_row.tolist() == [True, False]
    assert tuple(rules.balance) == ("longest", "distance", 100)
    visits = [route.names for route in model.solve(**LIMITS).routes]
    row = next(each for each in visits if "c0" in each)
    assert abs(row.index("c0") - row.index("c5")) == 1 and any({"c1", "c4"} <= set(each) for each in visits)
    model.remove_client("c5")
    assert np.bincount(model.instance().rules.clusters[1:] + 1).tolist() == [2, 1, 2]


REFUSED = {
    "a limit of all shifts without shifts": (
        lambda: week(shifts=None), "max_total_duration concerns all shifts of a vehicle; accepted: together with shifts",
    ),
    "a shift and shifts": (lambda: week(shift=(7, 9)), "vehicle 'van' has shift and shifts; accepted: one of them"),
    "any number of vehicles": (lambda: week(count=None), "need a count; accepted: count=1 or more"),
    "no days": (lambda: week().add_client("Eve", x=1, y=1, days=[]), "one day at least"),
    "replanning": (lambda: week().replan(now=8), "the model has vehicles with several shifts"),
    "an unknown client": (lambda: week().add_cluster(["Adda"]), "there is no client 'Adda'"),
    "another measure": (lambda: week().balance_routes("mean"), "accepted: 'longest', 'range'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    """In one line that says what is accepted."""
    call, words = REFUSED[name]
    with pytest.raises(UsageError, match=words):
        call()


def test_errors_name_the_shift():
    """An error of the instance names the vehicle's shift."""
    with pytest.raises(InputError, match=r"vehicle 'van, shift 2 \(day 1\)'"):
        week(shifts=[(0, 7, 13), (1, 13, 7)]).instance()
