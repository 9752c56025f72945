"""Nobody to serve, or nobody who can be: a plan without routes is a plan."""

from __future__ import annotations

import pytest

import corl
from corl.problems.vrp.problem import Vrp

SOLVERS = ("ruin-recreate", "pyvrp", "ortools")


def _solved(solver, clients, vehicle=None, **more):
    if solver == "pyvrp":
        pytest.importorskip("pyvrp")
    depots = [{"id": 0, "x": 1, "y": 2}]
    given = {"problem": "vrp", "depots": depots, "clients": clients, "vehicles": [{"capacity": 3} | (vehicle or {})]}
    limits = {"time_limit": 0.2} if solver == "ortools" else {"iterations": 50}
    return corl.solve(Vrp().adapt(given | more), solver=solver, **limits)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fleet", ["distance", "fewest"])
def test_no_clients(solver, fleet):
    """The empty plan is optimal and costs nothing."""
    result = _solved(solver, [], fleet=fleet)
    assert (result.status, result.objective, result.solution) == ("optimal", 0.0, [])


@pytest.mark.parametrize("solver", SOLVERS)
def test_nobody_can_be_served(solver):
    """All clients are optional and too late, or there is no vehicle: the empty plan, for all prizes."""
    clients = [{"id": k, "x": 9 * k, "y": 2, "prize": 4, "window": [0, 1]} for k in (1, 2, 3)]
    for vehicle in ({}, {"count": 0}):
        result = _solved(solver, clients, vehicle)
        assert (result.status, result.objective, result.solution) == ("feasible", 12.0, [])


@pytest.mark.parametrize("name", ["nobody.json", "nobody.vrp"])
def test_files_of_nobody(tmp_path, name):
    """Written and read back, with the plan."""
    given = {"problem": "vrp", "depots": [{"id": 1, "x": 1, "y": 2}], "clients": [], "vehicles": [{"capacity": 3}]}
    made = Vrp().adapt(given)
    Vrp().write(made, tmp_path / name)
    again = Vrp().read(tmp_path / name)
    assert again.clients == 0 and Vrp().evaluate(again, Vrp().from_json(again, Vrp().to_json(made, []))) == 0.0
    assert Vrp().explain(again, []) == {} and Vrp().describe(again)["clients"] == 0
