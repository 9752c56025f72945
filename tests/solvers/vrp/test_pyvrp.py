"""PyVRP as a solver: feasible with every feature, from the user's solution, refused where it is not installed."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.problems.vrp.generators import x
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.rules import SideConstraints
from corl.run import Run
from corl.solvers.vrp.pyvrp import PyVrp
from support.families import vrp_rules as cases

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "duration", "fewest", "all", "ends")


def solve(instance, iterations, warm_start=None):
    run = Run(Vrp(), instance, iterations=iterations, seed=1, warm_start=warm_start)
    run.start()
    if not run.infeasible:
        PyVrp().solve(instance, run)
    return run


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature(make, least, feature):
    """Six clients are served at the least cost, by enumeration; distances that are not whole cost a rounding."""
    pytest.importorskip("pyvrp")
    instance = make(feature, 6, 1)
    run = solve(instance, 400)
    assert run.objective == pytest.approx(least(instance), rel=1e-3 if feature == "exact" else 1e-9)
    again = solve(instance, 1, warm_start=run.solution)
    assert again.objective == run.objective


@pytest.mark.parametrize("name", [name for name in cases.RULES if not PyVrp().accepts(cases.make_rules(name, 5, 0))])
def test_every_rule(name):
    """Five clients are served at the least cost, by enumeration, and from there again."""
    pytest.importorskip("pyvrp")
    for seed in range(3):
        instance = cases.make_rules(name, 5, seed)
        best, run = cases.least_cost(instance), solve(instance, 1000)
        if best == np.inf:
            assert run.solution is None
            continue
        assert run.objective == pytest.approx(best, rel=2e-3), (name, seed)
        assert solve(instance, 1, warm_start=run.solution).objective == run.objective


@pytest.mark.parametrize("name", [name for name in cases.MIXES if not PyVrp().accepts(cases.make_rules(name, 5, 0))])
def test_every_mix_of_rules(name):
    """Whatever it reports the judge accepts, and none of it is below the optimum by enumeration."""
    pytest.importorskip("pyvrp")
    for seed in range(3):
        instance = cases.make_rules(name, 4, seed)
        run = solve(instance, 200)
        if run.solution is not None:
            assert run.objective >= cases.least_cost(instance) * (1 - 1e-9)


@pytest.mark.chance
def test_it_is_killed_where_it_does_not_hear():
    """Of 6,000 clients it computes neighbours for eight seconds; it has a process of its own, which ends with the limit."""
    pytest.importorskip("pyvrp")
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = corl.solve(x(size=6000), solver="pyvrp", time_limit=0.5)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.limit == "time_limit" and "pyvrp" in result.versions
    assert 0.0 < after.ru_utime - before.ru_utime < 5.0  # imports, half a second, and a moment until it is killed


def test_refusals(make, monkeypatch):
    """Without the package the message says what to install; matrices that are too large are refused."""
    monkeypatch.setitem(sys.modules, "pyvrp", None)
    with pytest.raises(UsageError, match=r'in a checkout pip install "\.\[peers\]"'):
        PyVrp().prepare(make("plain", 6, 1))
    n = 12_001
    assert PyVrp().accepts(cases.make_rules("breaks", 5, 1)) == "it takes no breaks"
    large = VrpInstance("large", "EUC_2D", np.zeros(n), Vehicles(np.array([1.0])), points=np.zeros((n, 2)))
    assert "n x n" in PyVrp().accepts(large)


def _given(clients, vehicles, depot=None, end=None, **more):
    depots = [{"id": 0} | (depot or {}), {"id": 9} | (end or {})]
    clients = [{"id": k} | each for k, each in enumerate(clients, 1)]
    matrix = [[0 if i == j else 2 + (i + j) % 3 for j in range(len(clients) + 2)] for i in range(len(clients) + 2)]
    return Vrp().adapt({"problem": "vrp", "depots": depots, "clients": clients, "vehicles": vehicles, "matrix": matrix} | more)


LEFT_OUT = {
    "released too late": lambda: _given([{"release": 20, "window": [0, 10], "prize": 5}, {}], [{}]),
    "a shift after the depot has closed": lambda: _given([{}, {}], [{"shift": [20, 30]}, {}], {"window": [0, 19]}),
    "a shift after the last depot has closed": lambda: _given(
        [{}, {}], [{"shift": [20, 30], "end_depot": 9}, {}], end={"window": [0, 19]}
    ),
    "nothing to bring first": lambda: _given([{"pickup": 3, "prize": 5}] * 2, [{"capacity": 5}], backhauls_last=True),
    "a group none of which is there": lambda: _given(
        [{"release": 20, "window": [0, 10], "prize": 5}, {}], [{}], groups=[{"clients": [1], "required": False}]
    ),
    "nobody in time": lambda: _given([{"window": [0, 1], "prize": 4}] * 2, [{}]),
    "no vehicle in time": lambda: _given([{"prize": 9}], [{"shift": [20, 30], "end_depot": 9}], {"window": [0, 19]}),
    "no vehicles": lambda: _given([{"prize": 4}], [{"count": 0}]),
    "no clients": lambda: _given([], [{}]),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_no_vehicle_can_do_is_left_out(name):
    """What PyVRP has no place for, a window that is over before it begins above all, costs its prize and nothing else."""
    pytest.importorskip("pyvrp")
    instance = LEFT_OUT[name]()
    run = solve(instance, 200)
    assert not run.discarded
    assert run.objective == pytest.approx(
        cases.least_cost(instance if instance.rules else replace(instance, rules=SideConstraints()))
    )


def test_release_times_of_shipments_are_refused():
    """By name: PyVRP would not wait for them."""
    shipment = [{"from": 1, "to": 2, "amount": 1}]
    assert PyVrp().accepts(_given([{}, {}], [{}], shipments=shipment)) == ""
    late = _given([{"release": 3}, {}], [{}], shipments=shipment)
    assert PyVrp().accepts(late) == "it takes no release times of shipments"


def test_dear_distances():
    """Where a unit of distance costs 1,000, loads in smaller units keep the penalties large enough for a feasible solution."""
    pytest.importorskip("pyvrp")
    made = x(size=60, seed=1)
    fewest = int(np.ceil(made.demand.sum() / made.vehicles.capacity[0])) + 1
    vehicles = replace(made.vehicles, unit_cost=np.array([1000.0]), count=np.array([fewest]))
    assert solve(replace(made, edge_weight_type="EXACT_2D", vehicles=vehicles), 300).solution is not None
