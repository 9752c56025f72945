"""The simplex tableau of candidates: against dense algebra and linear programs, as bounds of gains, and as a policy sees it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from corl.problems.milp.generators import auctions, facility_location, multiple_knapsack
from corl.problems.milp.problem import Milp
from corl.problems.milp_branching.candidates import Feature
from corl.run import Run
from corl.solvers.milp.branching.network import BranchingNetwork
from corl.solvers.milp.imitation.teacher import strong_branching
from corl.solvers.milp.scip.candidates import positions
from corl.solvers.milp.scip.lp_reading import Column, Row
from corl.solvers.milp.scip.model import Engine
from corl.solvers.milp.scip.rule import Rule
from corl.solvers.milp.scip.tableau import Tableau, tableau_lines

PROGRAMS = {
    "auctions": auctions(items=70, bids=350, seed=3),
    "facility-location": facility_location(customers=20, facilities=20, seed=5),
    "multiple-knapsack": multiple_knapsack(items=30, knapsacks=4, seed=1),
}
OWN = len(Feature)


def grown(program, choose, nodes=8):
    """Let `choose` see the nodes of a program's tree."""
    run = Run(Milp().of(program), program, seed=1, iterations=nodes)
    run.start()
    engine = Engine(program, run, {"separating/maxroundsroot": 0, "presolving/maxrounds": 0, "presolving/maxrestarts": 0})
    try:
        engine.add(Rule(engine.model, engine.callbacks, choose), "ours", "")
        engine.solve(lambda kind, value: None)
    finally:
        engine.close()


def lines_of(node):
    """[k, len(Tableau)] of all candidates."""
    out = np.full((len(node.candidates), len(Tableau)), np.nan)
    assert tableau_lines(node.pointer, node.candidates, np.arange(len(out)), out)
    return out


def expected(node):
    """The same by a dense inverse, and penalties by linear programs."""
    graph, model = node.lp, node.model
    n, m = len(graph.columns), len(graph.rows)
    matrix = np.zeros((m, n))
    matrix[graph.edge_row, graph.edge_column] = graph.edge_value
    columns, rows = model.getLPColsData(), model.getLPRowsData()
    basic = [graph.columns[:, Column.BASIS_BASIC] == 1.0, graph.rows[:, Row.BASIS_BASIC] == 1.0]
    inverse = np.linalg.inv(matrix[~basic[1]][:, basic[0]])
    cost = np.concatenate([graph.columns[:, Column.RED_COST], graph.rows[:, Row.DUAL_SOL]])
    norm = np.sqrt((graph.columns[:, Column.OBJ_COEF] ** 2).sum())
    sides = [(c.getLb(), c.getUb()) for c in columns] + [(r.getLhs(), r.getRhs()) for r in rows]
    upper = np.concatenate([graph.columns[:, Column.BASIS_UPPER], graph.rows[:, Row.BASIS_UPPER]]) == 1.0
    found = []
    for j, x in zip(positions(node.candidates), node.features[:, Feature.FRACTION]):
        row = np.zeros(m)
        row[~basic[1]] = inverse[np.flatnonzero(basic[0]).tolist().index(j)]
        step = np.concatenate([np.where(basic[0], 0.0, -row @ matrix), row])  # of the candidate, with each nonbasic
        room = np.array([min(high - low, 1e9) for low, high in sides])
        free = np.concatenate([~basic[0], ~basic[1]]) & (room > 1e-9) & (np.abs(step) > 1e-9)
        line = [np.log((row**2).sum())]
        toward = np.where(upper, -step, step)  # when each moves the only way that it can
        for distance in (-x, 1.0 - x):
            of_use = free & (toward * distance > 0.0)
            size, price = np.abs(step[of_use]), np.abs(cost[of_use]) / norm
            limits = [(0.0, most) for most in room[of_use]]
            best = linprog(price, A_eq=size[None], b_eq=[abs(distance)], bounds=limits) if of_use.any() else None
            length = abs(distance) / np.sqrt((size**2).sum() + 1e-9)
            along = abs(distance) * (size * price).sum() / ((size**2).sum() + 1e-9)
            cheapest = min(best.fun, 1e3) if best is not None and best.status == 0 else 1e3
            line += [np.log(max(value, 1e-7)) for value in (length, along, cheapest)]
        found.append(line)
    return np.array(found)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if k else ()) for k, name in enumerate(PROGRAMS)])
def test_against_dense_algebra(name):
    """All measures of all candidates, at every node that is seen."""
    seen = []

    def look(node):
        seen.append((lines_of(node), expected(node)))
        return -1

    grown(PROGRAMS[name], look)
    assert len(seen) >= 2
    for found, wanted in seen:
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_penalties_are_lower_bounds_of_gains(name):
    """No child of strong branching gains less; and one gains something."""
    seen = []

    def look(node):
        logs = lines_of(node)[:, [Tableau.PENALTY_DOWN, Tableau.PENALTY_UP]]
        costs = np.where(logs > np.log(1.1e-7), np.exp(logs), 0.0)  # 1e-7 is the least that is told apart
        norm = np.linalg.norm(node.lp.columns[:, Column.OBJ_COEF])
        cutoff = node.model.getCutoffbound() - node.model.getLPObjVal()
        seen.append((costs * norm, strong_branching(node.model, node.variables), cutoff))
        return -1

    grown(PROGRAMS[name], look)
    assert any((costs > 0.01).any() for costs, _, _ in seen)
    for costs, gains, cutoff in seen:
        known = np.minimum(costs, 0.999 * cutoff)  # an LP is not solved past the cutoff
        assert (known <= gains + 1e-5 * np.maximum(1.0, gains)).all()


@pytest.mark.parametrize("most", [2, pytest.param(100, marks=pytest.mark.long)])
def test_a_policy_looks_at_the_best_few(most):
    """The best by a perceptron with the tableau at its mean are scored again with what it is; the best is branched on."""
    torch.manual_seed(1)
    network = BranchingNetwork(tableau=most).eval()
    network.mean.copy_(torch.randn(len(network.mean)))
    policy, count = network.branching(), []

    def chosen(node):
        lines = np.zeros((len(node.candidates), OWN + len(Tableau)), np.float32)
        lines[:, :OWN], lines[:, OWN:] = node.features, network.mean[OWN:]
        blind = network.score(torch.from_numpy(lines)).detach().numpy()
        best = np.argsort(-blind, kind="stable")[:most]
        lines[:, OWN:] = lines_of(node)
        wanted = np.full(len(lines), -np.inf)
        wanted[best] = network.score(torch.from_numpy(lines[best])).detach().numpy()
        assert policy.scores(node) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
        assert network.observe(node, best[:1])["lines"] == pytest.approx(lines[best[:1]], rel=1e-5, abs=1e-6)
        count.append(len(lines))
        slot = policy(node)
        assert slot == wanted.argmax()
        return slot

    grown(PROGRAMS["auctions"], chosen)
    assert len(count) >= 3 and max(count) > 2


def test_half_of_the_nodes_are_learned_without_the_tableau():
    """While a network trains, and never afterwards: what is not known is at its mean."""
    torch.manual_seed(2)
    network = BranchingNetwork(tableau=4)
    network.mean.normal_()
    lines = torch.randn(200, 3, len(network.mean))
    batch = network.collate([], [{"lines": lines.numpy(), "mask": np.ones((200, 3), bool)}], np.zeros(200))
    unknown = lines.clone()
    unknown[:, :, OWN:] = network.mean[OWN:]
    with torch.no_grad():
        learned, known, blind = network(batch)[0], network.score(lines), network.score(unknown)
        assert torch.equal(network.eval()(batch)[0], known)
    as_known, as_blind = (torch.isclose(learned, other).all(1) for other in (known, blind))
    assert (as_known ^ as_blind).all() and 60 <= int(as_blind.sum()) <= 140
