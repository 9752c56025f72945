"""Files of vehicle routing: what they mean; what is wrong is one line with its place, and nothing else is raised."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corl.errors import Infeasible, InputError, UsageError
from corl.problems.vrp.evaluation import Route
from corl.problems.vrp.problem import Vrp
from corl.registry import recognise

VRP = Vrp()
SMALL = """NAME : small
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
1 0 0
2 10 0
3 10 10
4 0 10
DEMAND_SECTION
1 0
2 5
3 3
4 2
DEPOT_SECTION
1
-1
EOF
"""
MATRIX = """DIMENSION : 3
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : FULL_MATRIX
CAPACITY : 10
EDGE_WEIGHT_SECTION
0 1 2
3 0 4
5 6 0
DEMAND_SECTION
1 4
2 0
3 6
DEPOT_SECTION
2
-1
"""
SOLOMON = """tiny

VEHICLE
NUMBER     CAPACITY
  2         50

CUSTOMER
CUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE   TIME

    0      40         50          0          0       1236          0
    1      45         68         10        912.25    967         90
    2      45         70         30        825        870         90
"""
DEPOTS = """TYPE : MDVRPTW
DIMENSION : 5
VEHICLES : 3
CAPACITY : 10
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
9 0 0
4 1 0
5 5 5
6 2 2
8 3 4
DEMAND_SECTION
9 1
4 0
5 1
6 2
8 0
TIME_WINDOW_SECTION
9 0 5.55
4 0 100
5 1 90
6 2 80
8 0 100
VEHICLES_DEPOT_SECTION
1 8
2 4
3 8
VEHICLES_MAX_DURATION : 50
DEPOT_SECTION
8
4
-1
EOF
"""
UNITS = {
    "problem": "vrp", "name": "bakery", "units": {"distance": "km", "time": "min", "load": "kg"}, "speed": 0.5,
    "coordinates": "latlon",
    "depots": [{"id": 100, "lat": 48.2, "lon": 16.37, "window": ["08:00", "17:30"]}],
    "clients": [
        {"id": 1, "lat": 48.21, "lon": 16.4, "demand": 12.5, "window": [None, 600], "service": 4},
        {"id": 2, "lat": 48.1, "lon": 16.3, "demand": 7, "prize": 3.5},
    ],
    "vehicles": [{"capacity": 20, "count": 2, "fixed_cost": 5, "unit_cost": 0.4, "max_duration": 240}],
}  # fmt: skip


def read(folder, content, name="file.vrp"):
    """The instance in a file of this content."""
    (folder / name).write_text(content)
    return VRP.read(folder / name)


def test_a_depot_that_is_not_first(tmp_path):
    """Depots come first inside; ids, matrix and demands follow."""
    instance = read(tmp_path, MATRIX)
    assert instance.ids.tolist() == [2, 1, 3] and instance.demand.tolist() == [0, 4, 6]
    assert instance.matrix.tolist() == [[0, 3, 4], [1, 0, 2], [6, 5, 0]]


def test_several_depots_and_vehicles(tmp_path):
    """Vehicles that are alike are one type; tenths with windows; depots by id; demands may be unsorted."""
    instance = read(tmp_path, DEPOTS.replace("EUC_2D", "EUC_2D\nROUNDING : DIMACS"))
    assert instance.ids.tolist() == [8, 4, 9, 5, 6] and instance.depots == 2
    assert instance.vehicles.count.tolist() == [2, 1] and instance.vehicles.start.tolist() == [0, 1]
    assert instance.latest[2] == 55 and instance.vehicles.max_duration.tolist() == [500, 500]
    routes = [Route(0, np.array([2, 3], np.int32)), Route(1, np.array([4], np.int32))]
    value = VRP.to_json(instance, routes)
    assert value == [{"depot": 8, "vehicle": 0, "visits": [9, 5]}, {"depot": 4, "vehicle": 1, "visits": [6]}]
    found = VRP.from_json(instance, json.loads(json.dumps(value)))
    assert [route.vehicle for route in found] == [0, 1] and [route.visits.tolist() for route in found] == [[2, 3], [4]]
    for depot in (4, None, True, [[]], [[1, 2], [3]]):  # NumPy compared the lists with a depot, and failed
        with pytest.raises(InputError, match="type 0 have depot 8"):
            VRP.from_json(instance, [{"depot": depot, "vehicle": 0, "visits": [9, 5]}])
    with pytest.raises(UsageError, match="use JSON"):
        VRP.write_solution(instance, routes, tmp_path / "a.sol")


def test_solomon(tmp_path):
    """The first customer is the depot; everything in whole tenths, cut."""
    instance = read(tmp_path, SOLOMON, "tiny.txt")
    assert (instance.name, instance.scale, instance.ids.tolist()) == ("tiny", 10, [0, 1, 2])
    assert instance.earliest.tolist() == [0, 9122, 8250] and instance.vehicles.count.tolist() == [2]
    assert instance.distances_from(0)[1] == 186 and VRP.evaluate(instance, [[2], [1]]) == (2 * 206 + 2 * 186) / 10
    assert recognise(tmp_path / "tiny.txt").name == "vrp"


def test_real_world_units():
    """Kilometres from degrees, minutes from a speed, times of day, a client that may be left out."""
    instance = VRP.adapt(UNITS)
    assert instance.earliest.tolist() == [240, 0, 0] and instance.latest.tolist() == [525, 300, np.inf]
    assert instance.service.tolist() == [0, 2, 0] and instance.required.tolist() == [False, True, False]
    assert instance.vehicles.max_duration.tolist() == [120] and instance.units == ("km", "min", "kg")
    apart = np.radians(0.01) * 6371.0088, np.radians(0.03) * 6371.0088 * np.cos(np.radians(48.205))
    assert instance.distances_from(0)[1] == pytest.approx(np.hypot(*apart), rel=1e-4)
    assert VRP.evaluate(instance, [[1]]) == pytest.approx(2 * 0.4 * np.hypot(*apart) + 5 + 3.5, rel=1e-4)
    with pytest.raises(Infeasible):
        VRP.evaluate(instance, [[2]])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"clients": None}, "clients"), ({"depots": None}, "depots"), ({"vehicles": [{"skills": 1}]}, "vehicles[0].skills"),
        ({"split": []}, "split"), ({"shape": 1}, None), ({"speed": 0}, "speed"), ({"speed": "fast"}, "speed"),
        ({"units": {"distance": "parsec"}}, "units.distance"), ({"problem": "tsp"}, "problem"),
        ({"clients": [{"lat": 1, "lon": 2, "window": [5, 3]}]}, "clients[0].window"),
        ({"clients": [{"lat": 1, "lon": 2, "window": ["8am", None]}]}, "clients[0].window[0]"),
        ({"clients": [{"lat": 1, "lon": 2, "demand": 21}]}, "demand"), ({"clients": [{"lat": 1}]}, "clients[0].lon"),
        ({"clients": [{"lat": 91, "lon": 2}]}, "clients[0].lat"), ({"clients": [{"lat": 1, "lon": 2, "id": 100}]}, "ids"),
        ({"vehicles": [{"depot": 7}]}, "vehicles[0].depot"), ({"vehicles": [{"count": 1.5}]}, "vehicles[0].count"),
        ({"matrix": [[0, 1], [1, 0]]}, "matrix"), ({"clients": [{"lat": 1, "lon": 2, "required": 1}]}, "clients[0].required"),
        ({"matrix": [[0, 1, 1], [1, 0, -2], [1, 1, 0]]}, "matrix"), ({"fleet": ["fewest"]}, "fleet"),
    ],
)  # fmt: skip
def test_faults_in_json(tmp_path, change, field):
    """The field is named; what is not supported is refused by name; JSON that is none has a line."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, json.dumps(UNITS | change), "a.json")
    assert caught.value.field == field and "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"a\.json:2: not JSON"):
        read(tmp_path, '{"problem": "vrp",\n,}', "a.json")


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("DEPOT_SECTION\n1\n-1\n", "", 16, "DEPOT_SECTION", "missing; a vehicle routing problem needs it"),
        ("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n", 16, "DEPOT_SECTION", "there must be a depot"),
        ("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n7\n", 17, "DEPOT_SECTION", "node 7 is not in the instance"),
        ("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n1\n1\n", 18, "DEPOT_SECTION", "depot 1 is given twice"),
        ("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n1\n2\n3\n4\n", 21, "DEPOT_SECTION", "there must be a client"),
        ("2 5\n", "2 11\n", 11, "demand", "client 2's demand 11 is above the capacity of every vehicle, 10"),
        ("2 5\n", "2 -5\n", 13, "DEMAND_SECTION", "-5 is not accepted"),
        ("2 5\n", "2 5 1\n", 13, "DEMAND_SECTION", "accepted: 2 numbers on a line"),
        ("2 5\n", "3 5\n", 14, "DEMAND_SECTION", "node 3 is given twice"),
        ("2 5\n", "", 14, "DEMAND_SECTION", "3 lines for 4 nodes; node 2 is missing"),
        ("1 0\n2 5", "1 4\n2 5", 12, "DEMAND_SECTION", "depot 1 has demand 4"),
        ("CAPACITY : 10", "", 19, "CAPACITY", "missing"),
        ("CAPACITY : 10", "CAPACITY : ten", 5, "CAPACITY", "'ten' is not accepted"),
        ("TYPE : CVRP", "TYPE : SDVRP", 2, "TYPE", "split deliveries are not supported"),
        ("TYPE : CVRP", "TYPE : ABC", 2, "TYPE", "'ABC' is not known"),
        ("DIMENSION : 4", "DIMENSION : 5", 10, "NODE_COORD_SECTION", "4 lines of coordinates; DIMENSION says 5"),
        ("EDGE_WEIGHT_TYPE : EUC_2D", "EDGE_WEIGHT_TYPE : XRAY1", 4, "EDGE_WEIGHT_TYPE", "'XRAY1' is not known"),
        ("CAPACITY", "ROUNDING : up\nCAPACITY", 5, "ROUNDING", "'up' is not known; accepted: NINT, EXACT, DIMACS"),
        ("CAPACITY", "SPEED : 3\nCAPACITY", 5, "SPEED", "not supported in this format"),
        ("CAPACITY", "CAPACTIY : 3\nCAPACITY", 5, "CAPACTIY", "not a known keyword; the most similar are: CAPACITY"),
        ("DEMAND_SECTION", "BACKHAUL_SECTION\n3\nDEMAND_SECTION", 12, "BACKHAUL_SECTION", "accepted: 2 numbers on a line"),
        ("CAPACITY", "VEHICLES : 0\nCAPACITY", 5, "VEHICLES", "'0' is not accepted"),
        ("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n1\n2\n", None, "demand", ""),
    ],
)  # fmt: skip
def test_faults_in_vrplib(tmp_path, old, new, line, field, message):
    """File, line, field and what is accepted, on one line."""
    assert old in SMALL
    content = SMALL.replace(old, new, 1)
    if field == "demand" and not message:
        content = content.replace("2 5\n", "2 0\n")
        assert read(tmp_path, content).depots == 2
        return
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, content)
    assert (caught.value.field, caught.value.line) == (field, line) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "old", "new", "line", "field"),
    [
        (MATRIX, "3 0 4", "3 0 -4", 7, "EDGE_WEIGHT_SECTION"),
        (MATRIX, "5 6 0\n", "5 6\n", 8, "EDGE_WEIGHT_SECTION"),
        (DEPOTS, "5 1 90", "5 91 90", 21, "TIME_WINDOW_SECTION"),
        (DEPOTS, "2 4\n", "2 5\n", 26, "VEHICLES_DEPOT_SECTION"),
        (DEPOTS, "2 4\n", "", 26, "VEHICLES_DEPOT_SECTION"),
        (DEPOTS, "VEHICLES_DEPOT_SECTION\n1 8\n2 4\n3 8\n", "", 29, "VEHICLES_DEPOT_SECTION"),
        (DEPOTS, "VEHICLES : 3\n", "", 32, "VEHICLES"),
        (SOLOMON, "2         50", "2", 5, "VEHICLE"),
        (SOLOMON, "2         50", "-2 50", 5, "NUMBER"),
        (SOLOMON, "870", "820", 12, "due date"),
        (SOLOMON, "825 ", "", 12, "CUSTOMER"),
        (SOLOMON, "30        825", "51 825", 10, "demand"),
    ],
)  # fmt: skip
def test_faults_elsewhere(tmp_path, content, old, new, line, field):
    """Negative distances, windows that end before they begin, vehicles without a depot, Solomon's format."""
    assert old in content
    with pytest.raises(InputError) as caught:
        read(tmp_path, content.replace(old, new, 1))
    assert (caught.value.field, caught.value.line) == (field, line) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "rounding", "kind"),
    [
        ("small", "", "EUC_2D"), ("tai75a", "", "EXACT_2D"), ("CMT6", "", "EXACT_2D"), ("tai75a", "NINT", "EUC_2D"),
        ("small", "EXACT", "EXACT_2D"), ("small", "dimacs", "TENTHS_2D"), ("Golden_1", "", "EXACT_2D"), ("taiwan", "", "EUC_2D"),
    ],
)  # fmt: skip
def test_what_euc_2d_means(tmp_path, name, rounding, kind):
    """The nearest integer, unless ROUNDING or the set's convention says otherwise."""
    content = SMALL.replace("NAME : small", f"NAME : {name}" + (f"\nROUNDING : {rounding}" if rounding else ""))
    assert read(tmp_path, content).edge_weight_type == kind


@pytest.mark.parametrize(("word", "kind"), [("HFVRP", "EXACT_2D"), ("mdvrptw", "EXACT_2D"), ("VRPTW", "TENTHS_2D")])
def test_what_euc_2d_means_for_a_type(tmp_path, word, kind):
    """Published costs of several depots and of fleets are of unrounded distances, also with time windows."""
    windows = "TIME_WINDOW_SECTION\n1 0 100\n2 0 100\n3 0 100\n4 0 100\nDEPOT_SECTION"
    content = SMALL.replace("CVRP", word).replace("DEPOT_SECTION", "DEPOT_SECTION" if word == "HFVRP" else windows)
    assert read(tmp_path, content).edge_weight_type == kind


def test_distance_limits(tmp_path):
    """DISTANCE is of the length, or with service times of the duration (CMT's instances)."""
    limited = read(tmp_path, SMALL.replace("CAPACITY", "DISTANCE : 30\nCAPACITY"))
    assert limited.vehicles.max_distance[0] == 30 and limited.vehicles.max_duration[0] == np.inf
    timed = read(tmp_path, SMALL.replace("CAPACITY", "DISTANCE : 30\nSERVICE_TIME : 4\nCAPACITY"))
    assert timed.vehicles.max_duration[0] == 30 and timed.service.tolist() == [0, 4, 4, 4]
