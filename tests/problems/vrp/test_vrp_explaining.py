"""Why clients are left out, and why an instance has no solution: true, and no limit is named in vain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import corl
from corl.cli.main import main
from corl.errors import Infeasible
from corl.problems.vrp.evaluation import objective
from corl.problems.vrp.feasibility import unservable
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.routes import Route
from corl.problems.vrp.rules import SideConstraints
from support.families import vrp_rules as cases


@pytest.fixture
def line():
    """Clients at 10, 20 and 30 on a line, a tight vehicle; the last two are optional."""
    points = np.array([[0.0, 0], [10, 0], [20, 0], [30, 0]])
    required, prize = np.array([False, True, False, False]), np.array([0.0, 0, 3, 50])
    demand = np.array([0.0, 4, 4, 4])
    return VrpInstance(
        "line", "EUC_2D", demand, Vehicles(np.array([8.0]), np.array([1])), points=points, required=required, prize=prize
    )


def test_what_it_costs_or_the_limit_in_the_way(line, tmp_path, capsys):
    """The cheapest place by the judge; the judge's own words where there is none."""
    assert Vrp().explain(line, [[1]]) == {
        "client 3": "serving it costs 20, in route 1; its prize is 3",
        "client 4": "serving it costs 40, in route 1; its prize is 50",
    }
    found = Vrp().explain(line, [[1, 3]])
    assert found == {"client 3": "it fits nowhere; in route 1: route 1 has load 12; the capacity is 8"}
    result = corl.solve(line, iterations=200)
    assert result.explain() == found
    result.write(tmp_path / "a.json")
    Vrp().write(line, tmp_path / "line.json")
    assert main(["info", str(tmp_path / "line.json"), str(tmp_path / "a.json")]) == 0
    assert "it fits nowhere; in route 1: route 1 has load 12" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    [*(pytest.param(name, marks=pytest.mark.long) for name in ("groups and prizes", "some groups")), "pickups and prizes"],
)
def test_costs_are_the_least_by_enumeration(name):
    """Every place of every route, and a route of its own."""
    checked = 0
    for seed in range(5):
        instance = cases.make_rules(name, 6, seed)
        result = corl.solve(instance, problem="vrp", iterations=500)
        for client, line in result.explain().items():
            node = instance.ids.tolist().index(int(client.split()[1]))
            best = min(_costs(instance, result.solution, node), default=np.inf)
            nowhere = line.startswith(("it fits nowhere", "no vehicle can serve it")) or line.endswith("of its group is served")
            assert nowhere if best == np.inf else line.startswith(f"serving it costs {best:.10g},")
            checked += 1
    assert checked > 3


def _costs(instance, routes, node):
    now = objective(instance, routes)
    for k, route in enumerate([*routes, *(Route(kind, np.zeros(0, np.int32)) for kind in range(instance.vehicles.types))]):
        for place in range(len(route.visits) + 1):
            changed = [*routes[:k], Route(route.vehicle, np.insert(route.visits, place, node)), *routes[k + 1 :]]
            try:
                yield objective(instance, changed) - now + instance.prize[node] / instance.scale
            except Infeasible:
                continue


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in (*cases.RULES, *cases.MIXES) if name not in cases.SLOW),
        *(pytest.param(name, marks=pytest.mark.long) for name in cases.SLOW),
    ],
)
def test_what_is_called_unservable_is(name):
    """With every rule: where there is a reason, enumeration finds no solution."""
    for seed in range(4):
        instance = cases.make_rules(name, 4, seed)
        for change in ({}, {"max_distance": np.array([90.0])}, {"max_duration": np.array([60.0])}, {"capacity": np.array([3.0])}):
            vehicles = replace(instance.vehicles, **{key: np.full(instance.vehicles.types, v[0]) for key, v in change.items()})
            try:
                tight = replace(instance, vehicles=vehicles)
            except corl.InputError:  # the rules have capacities of their own, or pauses
                continue
            if unservable(tight):
                assert cases.least_cost(tight) == np.inf


def test_only_limits_that_are_needed_are_named(line):
    """Alone or together, and no others."""

    def reason(**changes):
        return unservable(replace(line, **changes))

    assert reason() == ""
    heavy = SideConstraints(pickups=np.array([[0.0], [9], [0], [0]]))
    assert reason(rules=heavy) == "no vehicle can serve client 2 because of its demand, pickup or shipment (1 such)"
    zero, late = np.zeros(4), np.array([100.0, 5, 100, 100])
    assert "because of its window (1" in reason(earliest=zero, latest=late)
    hours = np.array([15.0, 90, 90, 90])
    assert "because of the hours of depots and vehicles (1" in reason(earliest=zero, latest=hours)
    both = reason(earliest=np.array([0.0, 50, 0, 0]), latest=np.array([55.0, 60, 60, 60]))
    assert "because of its window and the hours of depots and vehicles together (1" in both
    barred = SideConstraints(allowed=np.array([[True, False, True, True]]))
    assert "because of the vehicles that may serve it (1" in reason(rules=barred)
    released = SideConstraints(release=np.array([0.0, 40, 0, 0]))
    late = np.array([200.0, 45, 9, 9])
    assert "its window and its release time together" in reason(earliest=zero, latest=late, rules=released)
