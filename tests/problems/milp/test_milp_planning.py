"""The generators of planning problems: optima by algorithms that know the problem, not the program; and there is a solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import corl
from corl.problems.milp.generators_planning import generalised_assignment, lot_sizing, network_design


def optimum(program):
    """Return the objective value that HiGHS proves; infinite if it proves that there is no solution."""
    result = corl.solve(program, solver="highs", time_limit=60)
    assert result.status in ("optimal", "infeasible")
    return np.inf if result.status == "infeasible" else result.objective


@pytest.mark.parametrize("seed", range(3))
def test_assignments_of_all_jobs(seed):
    """The optimum over every way to give six jobs to three agents, or a proof that there is none."""
    program = generalised_assignment(jobs=6, agents=3, kind="cde"[seed], seed=seed)
    cost, units, capacity = program.c.reshape(6, 3), program.value[18:].reshape(3, 6).T, program.row_upper[6:]
    fits = [np.inf]
    for agents in itertools.product(range(3), repeat=6):
        loads = [sum(units[i, k] for i, k in enumerate(agents) if k == agent) for agent in range(3)]
        if all(load <= most for load, most in zip(loads, capacity)):
            fits.append(sum(cost[i, k] for i, k in enumerate(agents)))
    assert optimum(program) == pytest.approx(min(fits)) and (program.row_lower[:6] == 1.0).all()


@pytest.mark.parametrize("kind", ["c", "d", "e"])
def test_kinds_of_assignments(kind):
    """Units, costs and capacities are those of the literature."""
    program = generalised_assignment(jobs=200, agents=5, kind=kind, seed=1)
    cost, units = program.c.reshape(200, 5), program.value[1000:].reshape(5, 200).T
    assert program.row_upper[200:].tolist() == np.ceil(0.8 * units.sum(0) / 5).tolist()
    if kind == "c":
        assert (units.min(), units.max(), cost.min(), cost.max()) == (5, 25, 10, 50)
    elif kind == "d":
        assert (units.min(), units.max()) == (1, 100) and np.abs(cost + units - 111).max() == 10
    else:
        assert units.min() == 1 and units.mean() == pytest.approx(11.0, abs=1.0)
        assert np.corrcoef(cost.ravel(), 1.0 / units.ravel())[0, 1] > 0.8


def test_one_item_with_capacity_to_spare():
    """The optimum of Wagner and Whitin's dynamic program: each lot is the demand of the periods until the next one."""
    periods = 7
    program = lot_sizing(items=1, periods=periods, utilisation=0.1, seed=3)
    demand, holding, setup = program.row_lower[:periods], program.c[periods], program.c[-1]
    assert program.row_upper[-1] > demand.sum()
    best = [0.0] * (periods + 1)
    for end in range(1, periods + 1):
        best[end] = min(
            best[begin] + setup + holding * sum((t - begin) * demand[t] for t in range(begin, end)) for begin in range(end)
        )
    assert 2 * setup < best[periods] == pytest.approx(optimum(program))


@pytest.mark.parametrize("seed", range(4))
def test_lots_fit_at_full_utilisation(seed):
    """With a set-up of every item in every period there is a plan, even if the mean load is the whole capacity."""
    program = lot_sizing(items=3, periods=6, utilisation=1.0, seed=seed)
    demand = program.row_lower[:18].reshape(3, 6)
    room = program.row_upper[-1] - program.value[program.first[-2] :][3:].sum()  # of a period after three set-ups
    made, later = np.zeros((3, 6)), demand.copy()
    for period in range(6):  # as much as fits, the earliest demand first
        left = room
        for due, item in itertools.product(range(6), range(3)):
            amount = min(left, later[item, due])
            made[item, period] += amount
            later[item, due] -= amount
            left -= amount
    stock = (made - demand).cumsum(1)
    x = np.concatenate([made.ravel(), stock.ravel(), np.ones(18)])
    assert corl.problem("milp").evaluate(program, x) == pytest.approx(float(program.c @ x))


def test_one_commodity_with_capacity_to_spare():
    """The optimum is a shortest path, whose arcs cost their fixed costs and the demand times the variable ones."""
    nodes, arcs = 7, 16
    program = network_design(nodes=nodes, arcs=arcs, commodities=1, capacity_ratio=0.01, seed=2)
    supply, dense = program.row_lower[:nodes], program.matrix.toarray()[:nodes, :arcs]
    demand, length = supply.max(), program.c[:arcs] * supply.max() + program.c[arcs:]
    distance = np.where(supply > 0.0, 0.0, np.inf)
    for _ in range(nodes):  # Bellman and Ford
        for arc in range(arcs):
            tail, head = dense[:, arc].argmax(), dense[:, arc].argmin()
            distance[head] = min(distance[head], distance[tail] + length[arc])
    assert 10 <= demand <= 100 and optimum(program) == pytest.approx(distance[supply.argmin()])


def test_networks_have_the_ratios_and_a_solution():
    """Fixed costs and capacities are scaled as the paper says; if capacities were too small, a routing fits nevertheless."""
    program = network_design(nodes=6, arcs=14, commodities=4, fixed_ratio=0.4, capacity_ratio=0.5, seed=1)
    variable, fixed, supply = program.c[:14], program.c[56:], program.row_lower[:24]
    demand = supply[supply > 0.0]
    assert 4 * fixed.sum() / (demand.sum() * variable.sum()) == pytest.approx(0.4, rel=0.01) and len(demand) == 4
    capacity = -program.matrix.toarray()[24:38, 56:].diagonal()
    assert 14 * demand.sum() / capacity.sum() == pytest.approx(0.5, rel=0.01)
    for seed in range(2):
        tight = network_design(nodes=6, arcs=10, commodities=6, capacity_ratio=1000.0, seed=seed)
        assert optimum(tight) < np.inf
