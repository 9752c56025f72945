"""Files of instances with rules: what they mean, what is wrong in one line, and that JSON gives all of them back."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from corl.errors import InputError, UsageError
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.routes import Route
from corl.registry import recognise
from support.families import vrp_rules as cases

VRP = Vrp()
HEAD = """TYPE : {}
DIMENSION : 5
EDGE_WEIGHT_TYPE : EUC_2D
ROUNDING : NINT
VEHICLES : 2
CAPACITY : 10
NODE_COORD_SECTION
1 0 0
2 10 0
3 10 10
4 0 10
5 20 20
"""
DEMANDS = "DEMAND_SECTION\n1 0\n2 5\n3 3\n4 2\n5 1\n"
DEPOT = "DEPOT_SECTION\n1\n-1\nEOF\n"
SHIPMENTS = """PICKUP_AND_DELIVERY_SECTION
1 0 0 100 0 0 0
2 5 0 90 3 0 4
3 4 0 90 3 0 5
4 -5 0 90 3 2 0
5 -4 0 90 3 3 0
"""
LI_LIM = """2 10 1
0 0 0 0 0 100 0 0 0
1 10 0 5 0 90 3 0 3
2 10 10 4 0 90 3 0 4
3 0 10 -5 0 90 3 1 0
4 20 20 -4 5 90 3 2 0
"""
JSON = {
    "problem": "vrp", "speed": 2.0,
    "depots": [{"id": 0, "x": 0, "y": 0, "window": [0, 500]}],
    "clients": [{"id": i, "x": i, "y": i * i, "demand": 2} for i in range(1, 6)],
    "vehicles": [{"capacity": 20, "count": 3}],
}  # fmt: skip


def read(folder, word, *sections):
    """The instance in a VRPLIB file."""
    (folder / "a.vrp").write_text(HEAD.format(word) + "".join(sections) + DEPOT)
    return VRP.read(folder / "a.vrp")


@pytest.mark.parametrize("name", [*cases.RULES, *cases.STRUCTURE])
def test_json_gives_everything_back(tmp_path, name):
    """To the bit; VRPLIB says that it does not know the rule."""
    instance = cases.make_rules(name, 8, 1)
    VRP.write(instance, tmp_path / "a.json")
    assert _same(instance, VRP.read(tmp_path / "a.json"))
    if instance.rules.names:
        with pytest.raises(UsageError, match=r"VRPLIB's format does not know .*; write a \.json file"):
            VRP.write(instance, tmp_path / "a.vrp")


def _same(a, b):
    if dataclasses.is_dataclass(a) and b is not None:
        return all(_same(getattr(a, each.name), getattr(b, each.name)) for each in dataclasses.fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return a == b or (dataclasses.is_dataclass(a) and not a.names)  # rules that ask for nothing


def test_backhauls_and_pick_ups(tmp_path):
    """BACKHAUL_SECTION is what clients hand over: after the deliveries in a VRPB, else in any order."""
    backhauls = "BACKHAUL_SECTION\n1 0\n2 0\n3 4\n4 0\n5 0\n"
    linehauls = "LINEHAUL_SECTION\n1 0\n2 5\n3 0\n4 2\n5 1\n"
    for word, last in (("VRPB", True), ("VRPSPD", False)):
        instance = read(tmp_path, word, linehauls, backhauls)
        assert instance.rules.pickups[:, 0].tolist() == [0, 0, 4, 0, 0] and instance.rules.backhauls_last is last
    with pytest.raises(InputError, match="has a pickup"):
        read(tmp_path, "VRPB", linehauls, backhauls.replace("1 0", "1 2"))
    with pytest.raises(InputError, match="client 3 has a demand too"):
        read(tmp_path, "VRPB", DEMANDS, backhauls)


def test_pick_up_and_delivery(tmp_path):
    """Li and Lim's lines, with windows and service; a pair has the same amount."""
    instance = read(tmp_path, "PDPTW", SHIPMENTS)
    assert instance.rules.shipments.tolist() == [[1, 3], [2, 4]] and instance.rules.amounts.tolist() == [[5], [4]]
    assert instance.latest.tolist() == [100, 90, 90, 90, 90] and instance.service.tolist() == [0, 3, 3, 3, 3]
    assert instance.edge_weight_type == "EUC_2D"  # ROUNDING says so
    faults = [
        ("4 -5", "4 -6", "pickup in line 2"), ("2 5 0 90 3 0 4", "2 5 0 90 3 0 9", "pickup in line 2"),
        ("5 -4 0 90 3 3 0\n", "", "4 lines for 5 nodes"), ("4 0 90", "4 -1 90", "times from 0"),
    ]  # fmt: skip
    for old, new, message in faults:
        with pytest.raises(InputError, match=message) as caught:
            read(tmp_path, "PDPTW", SHIPMENTS.replace(old, new, 1))
        assert caught.value.field == "PICKUP_AND_DELIVERY_SECTION" and caught.value.line


def test_li_and_lim(tmp_path):
    """The same in their own files: no word in them, a line of three numbers and then lines of nine."""
    (tmp_path / "lr.txt").write_text(LI_LIM)
    instance = recognise(tmp_path / "lr.txt").read(tmp_path / "lr.txt")
    assert (instance.name, instance.edge_weight_type, instance.vehicles.count.tolist()) == ("lr", "EXACT_2D", [2])
    assert instance.rules.shipments.tolist() == [[1, 3], [2, 4]] and instance.rules.amounts.tolist() == [[5], [4]]
    faults = [
        ("3 0 10 -5", "3 0 10 -6", 3, "delivery"), ("0 90 3 0 3", "0 90 3 0 7", 3, "delivery"), ("5 90", "95 90", 6, "latest"),
        ("3 2 0\n", "3 2\n", 6, "task"), ("2 10 1", "0 10 1", 1, "vehicles"), ("90 3 1 0", "90 3 1.5 0", 5, "pickup"),
        ("3 0 3\n", "3 4 3\n", 3, "delivery"),
    ]  # fmt: skip
    for old, new, line, field in faults:
        assert old in LI_LIM
        (tmp_path / "lr.txt").write_text(LI_LIM.replace(old, new, 1))
        with pytest.raises(InputError) as caught:
            VRP.read(tmp_path / "lr.txt")
        assert (caught.value.field, caught.value.line) == (field, line)


def test_trips_and_releases(tmp_path):
    """Reloads at depots, as many as one likes unless a number is given; a .sol file has a 0 for each."""
    reloads, release = "VEHICLES_RELOAD_DEPOT_SECTION\n1 1\n2 1\n", "RELEASE_TIME_SECTION\n1 0\n2 7\n3 0\n4 0\n5 0\n"
    instance = read(tmp_path, "MTVRPTWR", DEMANDS, reloads, release)
    assert instance.rules.reloads.tolist() == [5] and instance.rules.release.tolist() == [0, 7, 0, 0, 0]
    routes = [Route(0, np.array([1, 2, 0, 3, 4], np.int32))]
    VRP.write_solution(instance, routes, tmp_path / "a.sol")
    assert (tmp_path / "a.sol").read_text().startswith("Route #1: 1 2 0 3 4\n")
    assert VRP.read_solution(instance, tmp_path / "a.sol")[0].visits.tolist() == [1, 2, 0, 3, 4]
    assert VRP.to_json(instance, routes) == [[2, 3, 1, 4, 5]] and VRP.from_json(instance, [[2, 3, 1, 4, 5]])[0].visits[2] == 0
    given = read(tmp_path, "MTVRPTWR", "VEHICLES_MAX_RELOADS : 1\n", DEMANDS, reloads, release)
    assert given.rules.reloads.tolist() == [1]
    with pytest.raises(InputError, match="vehicle 2 is missing"):
        read(tmp_path, "MTVRPTWR", DEMANDS, reloads.replace("2 1\n", ""), release)


def test_groups_and_vehicles_of_clients(tmp_path):
    """A group of one is a client like any other; vehicles with the same clients are one type; times cost."""
    groups = "MUTUALLY_EXCLUSIVE_GROUP_SECTION\n1 2 3\n2 4\n3 5\n"
    instance = read(tmp_path, "GVRP", DEMANDS, groups)
    assert instance.rules.groups.tolist() == [-1, 0, 0, -1, -1] and instance.rules.group_required.tolist() == [True]
    assert instance.required.tolist() == [False, False, False, True, True]
    with pytest.raises(InputError, match="in two groups"):
        read(tmp_path, "GVRP", DEMANDS, groups.replace("2 4", "2 2 4"))
    allowed = "VEHICLES_ALLOWED_CLIENTS_SECTION\n1 2 3\n2 2 3 4 5\n"
    instance = read(tmp_path, "SDVRPTW", DEMANDS, allowed)
    assert instance.rules.allowed.tolist() == [[True, True, True, False, False], [True] * 5] and instance.vehicles.types == 2
    costs = "VEHICLES_UNIT_DURATION_COST_SECTION\n1 2\n2 3\n"
    assert read(tmp_path, "CVRP", DEMANDS, costs).rules.duration_cost.tolist() == [2, 3]
    assert read(tmp_path, "OVRP", DEMANDS).rules.stays_out.tolist() == [True]


def test_units_in_json():
    """Times by the speed; what a unit of time costs too; several windows; groups; shipments; breaks."""
    clients = [dict(client) for client in JSON["clients"]]
    clients[0] |= {"window": [10, 50], "release": 3}
    clients[1]["demand"] = clients[2]["demand"] = 0
    given = {
        "clients": clients, "groups": [{"clients": [4, 5], "required": False}],
        "shipments": [{"from": 2, "to": 3, "amount": 7}],
        "vehicles": [{"capacity": 20, "count": 3, "duration_cost": 6, "shift": [5, 400], "reload_depots": [0]}],
    }  # fmt: skip
    instance = VRP.adapt(JSON | given)
    rules = instance.rules
    assert rules.release.tolist() == [0, 6, 0, 0, 0, 0] and rules.duration_cost.tolist() == [3]
    assert rules.shift.tolist() == [[10, 800]] and rules.groups.tolist() == [-1, -1, -1, -1, 0, 0]
    assert rules.shipments.tolist() == [[2, 3]] and not instance.required[4:].any() and rules.reloads is None
    clients[0] = {"id": 1, "x": 1, "y": 1, "windows": [[10, 20], [40, 50]]}
    several = VRP.adapt(JSON | {"clients": clients})
    assert several.rules.closed.tolist() == [[1, 40, 80]] and (several.earliest[1], several.latest[1]) == (20, 100)
    lists = [{"capacity": [20, 5], "count": 3}]
    two = VRP.adapt(JSON | {"vehicles": lists, "clients": [client | {"demand": [2, 1]} for client in JSON["clients"]]})
    assert two.rules.demands.tolist()[1] == [2, 1] and two.rules.capacities.tolist() == [[20, 5]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"groups": [{"clients": [1, 9]}]}, "groups[0].clients[1]"), ({"groups": [{"clients": []}]}, "groups[0].clients"),
        ({"shipments": [{"from": 1}]}, "shipments[0].to"), ({"shipments": [{"from": 1, "to": 0}]}, "shipments[0].to"),
        ({"shipments": [{"from": 1, "to": 2, "amount": 1}]}, "shipments"), ({"backhauls_last": 1}, "backhauls_last"),
        ({"vehicles": [{"allowed": [0]}]}, "vehicles[0].allowed[0]"), ({"vehicles": [{"shift": [9, 3]}]}, "vehicles[0].shift"),
        ({"vehicles": [{"reloads": 1.5}]}, "vehicles[0].reloads"),
        ({"vehicles": [{"breaks": [{}]}]}, "vehicles[0].breaks[0].window"),
        ({"vehicles": [{"max_driving": 5}]}, "vehicles[0].rest"), ({"vehicles": [{"begun": [1]}]}, "begun"),
        ({"vehicles": [{"profile": 1}], "profiles": [{"durations": [[0] * 6] * 6}]}, "vehicles[0].profile"),
        ({"profiles": [{"durations": [[0] * 5] * 6}]}, "profiles[0].durations[0]"),
        ({"vehicles": [{"capacity": [5, 5]}]}, "clients[0].demand"),
        ({"vehicles": [{"reload_depots": [1]}]}, "vehicles[0].reload_depots[0]"),
        ({"clients": [{"id": 1, "x": 0, "y": 1, "windows": [[5, 9], [7, 12]]}]}, "clients[0].windows"),
    ],
)  # fmt: skip
def test_faults_in_json(tmp_path, change, field):
    """The field is named, on one line."""
    (tmp_path / "a.json").write_text(json.dumps(JSON | change))
    with pytest.raises(InputError) as caught:
        VRP.read(tmp_path / "a.json")
    assert caught.value.field == field and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", cases.RULES)
def test_a_part_of_an_instance_keeps_its_rules(name):
    """The first clients alone are an instance."""
    instance = cases.make_rules(name, 30, 1)
    assert VRP.warm_up_instance(instance).clients == 12
