"""Clusters, balance and rosters: what is refused and why, by hand; the judge's words; files; days that are generated."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import Infeasible, InputError
from corl.problems.vrp.generators_rules import day
from corl.problems.vrp.partial import partial_routes
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.routes import Route

VRP = Vrp()
LINE = [[abs(a - b) for a in range(6)] for b in range(6)]


def given(vehicles=({"count": 2},), **more):
    """Five clients on a line, at distances 1 to 5 from the depot."""
    clients = [{"id": k, "demand": 1} for k in range(1, 6)]
    fields = {"depots": [{"id": 0}], "clients": clients, "vehicles": list(vehicles), "matrix": LINE}
    return VRP.adapt({"problem": "vrp"} | fields | more)


def routes(*lists):
    """Routes of vehicle types 0, 1, ..., or of (type, visits)."""
    return [Route(each[0], np.array(each[1], np.int32)) if isinstance(each, tuple) else each for each in lists]


CLUSTER = [{"clients": [1, 3, 4]}]
JUDGED = {
    "in a row": (CLUSTER, [[2, 1, 3, 4, 5]], None),
    "another visit in between": (CLUSTER, [[1, 2, 3, 4, 5]], "route 1 visits 2 between clients of the cluster 1, 3, 4"),
    "two routes": (CLUSTER, [[1, 3], [2, 4, 5]], "routes 1 and 2 both serve clients of the cluster 1, 3, 4"),
    "in any order": ([CLUSTER[0] | {"in_a_row": False}], [[1, 2, 3, 5, 4]], None),
    "in any order, on two routes": ([CLUSTER[0] | {"in_a_row": False}], [[1, 2, 3], [4, 5]], "routes 1 and 2 both serve"),
}


@pytest.mark.parametrize("name", JUDGED)
def test_clusters(name):
    """The judge names the route, the visit and the clients."""
    clusters, visits, words = JUDGED[name]
    if words is None:
        assert VRP.evaluate(given(clusters=clusters), visits) > 0
    else:
        with pytest.raises(Infeasible, match=words):
            VRP.evaluate(given(clusters=clusters), visits)


def test_a_reload_interrupts_a_row():
    """A visit to the depot is a visit in between; without a row it is none."""
    vehicles = [{"reloads": 1}]
    with pytest.raises(Infeasible, match="route 1 visits 0 between"):
        VRP.evaluate(given(vehicles, clusters=[{"clients": [1, 2]}]), [[1, 0, 2, 3, 4, 5]])
    assert VRP.evaluate(given(vehicles, clusters=[{"clients": [1, 2], "in_a_row": False}]), [[1, 0, 2, 3, 4, 5]]) == 12


def test_balance():
    """Of two routes, 4 and 10 long: the longest, and the range; of one route the range is 0; weights are by units of the file."""
    two = [[1, 2], [3, 4, 5]]
    assert VRP.evaluate(given(balance={"measure": "longest", "weight": 3}), two) == 14 + 3 * 10
    assert VRP.evaluate(given(balance={"measure": "range"}), two) == 14 + 6
    assert VRP.evaluate(given(balance={"measure": "range"}), [[1, 2, 3, 4, 5]]) == 10
    timed = given(balance={"measure": "longest", "of": "duration", "weight": 2}, speed=0.5)
    assert VRP.evaluate(timed, two) == 14 + 2 * 20


def test_rosters():
    """Two shifts of one vehicle: limits of both together, and a cost that is paid once."""
    vehicles = [{"count": 1, "name": "early"}, {"count": 1, "name": "late"}]
    made = {"clients": [{"id": k, "name": f"c{k}"} for k in range(1, 6)], "depots": [{"id": 0, "name": "yard"}]}
    roster = {"vehicles": [0, 1], "max_duration": 16, "fixed_cost": 7}
    both = routes((0, [1, 2, 3]), (1, [4, 5]))
    assert VRP.evaluate(given(vehicles, rosters=[roster], **made), both) == 16 + 7
    for key, word in (("max_duration", "take"), ("max_driving", "drive")):
        tight = given(vehicles, rosters=[{"vehicles": [0, 1], key: 15}], **made)
        with pytest.raises(Infeasible, match=f"the routes of vehicle types 'early', 'late' {word} 16 together; the limit is 15"):
            VRP.evaluate(tight, both)
        assert VRP.evaluate(tight, routes((1, [1, 2, 3, 4, 5]))) == 10


BAD = {
    "a depot": ({"clusters": [{"clients": [0]}]}, "0 is no client"),
    "in two clusters": ({"clusters": [{"clients": [1, 2]}, {"clients": [2]}]}, "2 is in two clusters; accepted: one"),
    "shipments": (
        {"clusters": CLUSTER, "clients": [{"id": k} for k in range(1, 6)], "shipments": [{"from": 1, "to": 2}]},
        "clusters of clients together with shipments are not supported",
    ),
    "under way": (
        {"clusters": CLUSTER, "vehicles": [{"count": 1, "begun": [1]}]}, "together with routes under way are not supported",
    ),
    "another measure": ({"balance": {"measure": "mean"}}, "balance.*accepted: longest, range"),
    "durations with breaks": (
        {"balance": {"measure": "range", "of": "duration"}, "vehicles": [{"breaks": [{"window": [0, 9], "duration": 1}]}]},
        "breaks together with maximum durations or costs of time are not supported",
    ),
    "no such vehicle": ({"rosters": [{"vehicles": [7]}]}, "rosters.*accepted"),
    "in two rosters": ({"rosters": [{"vehicles": [0]}, {"vehicles": [0]}]}, "0 is in two rosters; accepted: one"),
    "several vehicles": ({"rosters": [{"vehicles": [0]}]}, "vehicle type 0 is a shift of one vehicle; accepted: count 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name):
    """In one line, by its field."""
    fields, words = BAD[name]
    vehicles = fields.get("vehicles", [{"count": 2}])
    with pytest.raises(InputError, match=words) as error:
        given(vehicles, **{key: value for key, value in fields.items() if key != "vehicles"})
    assert "\n" not in str(error.value)


def test_clusters_that_no_vehicle_can_serve():
    """Too much for one vehicle, or its clients for different vehicles; and just not so."""
    cluster = {"clusters": [{"clients": [1, 2, 3]}]}
    assert "the demand of the cluster 1, 2, 3 exceeds" in VRP.infeasible(given([{"capacity": 2}], **cluster))
    assert VRP.infeasible(given([{"capacity": 3}], **cluster)) == ""
    assert "exceeds" in VRP.infeasible(given([{"capacity": 2, "reloads": 1}], **cluster))
    soft = {"clusters": [{"clients": [1, 2, 3], "in_a_row": False}]}
    assert VRP.infeasible(given([{"capacity": 2, "reloads": 1}], **soft)) == ""
    split = [{"allowed": [1, 2]}, {"allowed": [2, 3, 4, 5]}]
    assert VRP.infeasible(given(split, **cluster)) == "no vehicle can serve all clients of the cluster 1, 2, 3"


def test_an_incomplete_start_keeps_clusters_on_one_route():
    """Of given routes that divide a cluster, those of its clients that are on the first of them."""
    kept, note = partial_routes(given(clusters=CLUSTER), [[1, 2], [3, 4, 5]], False)
    assert [route.visits.tolist() for route in kept] == [[1, 2], [5]] and "2 visits" in note


@pytest.mark.parametrize("ask", ["clusters", "soft_clusters"])
def test_generated_clusters(ask):
    """Two to six clients, near one another, which fit into a vehicle and have no windows."""
    made = day(size=80, ask=ask, seed=4)
    sizes = np.bincount(made.rules.clusters[made.rules.clusters >= 0])
    assert sizes.max() <= 6 and len(sizes) > 8 and made.rules.cluster_in_a_row.all() == (ask == "clusters")
    assert (np.bincount(made.rules.clusters[1:] + 1, made.demand[1:])[1:] <= made.vehicles.capacity[0]).all()
    assert (made.earliest[made.rules.clusters >= 0] == 0).all()


def test_generated_shifts():
    """A vehicle has a shift on each of two days; every client can be served on one of them at least, some only on one."""
    made = day(size=60, ask="shifts", seed=4)
    vehicles = made.vehicles.types // 2
    assert made.rules.roster.tolist() == [*range(vehicles), *range(vehicles)]
    first, second = made.rules.allowed[0, 1:], made.rules.allowed[vehicles, 1:]
    assert (first | second).all() and 0 < (first & ~second).sum() < 60 and 0 < (second & ~first).sum() < 60
