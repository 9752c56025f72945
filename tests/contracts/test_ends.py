"""Every run ends by its iterations alone: smallest and degenerate instances, few iterations, no limit of time.

A run that does not return is given up by name (support/tiers.py); the instance is the last line that it printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from families import family
from kinds import no_network

import corl
from corl import registry
from corl.errors import UsageError
from corl.problems.bandits.constraints import Budget
from corl.problems.bandits.instance import BanditInstance
from corl.problems.flowshop.instance import FlowShopInstance
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.rules import Rules
from corl.problems.knapsack.instance import KnapsackInstance
from corl.problems.memory_static.instance import make_instance
from corl.problems.milp.instance import from_triplets
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.instance import TspInstance

NETWORKS = {"policy", "tree-search", "muzero", "heatmap-mcts", "slim", "cp-agent", "sequoia", "iterative-dqn"}
"""They load a network, or learn one: in the long suite alone."""


def _graph(*points: tuple[float, float]) -> TspInstance:
    return TspInstance("points", "EUC_2D", np.array(points, float))


def _tsp() -> list[Any]:
    """One city, two, three; all in one place; asymmetric."""
    square = [(0.0, 0.0), (0.0, 3.0), (4.0, 3.0), (4.0, 0.0)]
    several = [_graph(*square[:n]) for n in (1, 2, 3, 4)] + [_graph(*[(1.0, 1.0)] * 6)]
    return [*several, *(TspInstance("a", "EXPLICIT", matrix=np.triu(np.ones((n, n)), 1), symmetric=False) for n in (1, 2, 4))]


def _vrp() -> list[Any]:
    """One client; all optional, at no price; no costs at all; everything under way; few vehicles; equal places."""
    adapt = corl.problem("vrp").adapt

    def made(clients: int, fields: dict[str, Any], *vehicles: dict[str, Any], **whole: Any) -> Any:
        size = clients + 1
        matrix = [[abs(a - b) for a in range(size)] for b in range(size)]
        nodes = [{"id": k, "demand": 1} | fields for k in range(1, size)]
        return adapt({"matrix": matrix, "depots": [{"id": 0}], "clients": nodes, "vehicles": list(vehicles)} | whole)

    ways = [{"count": 1, "capacity": 9, "begun": [k]} for k in (1, 2)]
    return [
        made(1, {}, {"capacity": 1}), made(3, {"prize": 5}, {"capacity": 1, "count": 1}), made(2, {"prize": 1}, {"count": 0}),
        made(3, {}, {"unit_cost": 0, "capacity": 2}), made(2, {}, *ways, fleet="fewest"), made(4, {}, *ways, fleet="fewest"),
        made(3, {}, {"capacity": 1, "count": 3}, fleet="fewest"), made(3, {}, {"capacity": 2, "count": 1, "reloads": 2}),
        made(2, {}, {}, groups=[{"clients": [1, 2], "required": False}]), made(3, {}, {}, matrix=[[0] * 4] * 4),
        made(2, {"window": [3, 3]}, {"count": 2}), made(3, {"prize": 2}, {"count": 1}, fleet="fewest"),
    ]  # fmt: skip


def _orienteering() -> list[Any]:
    """Start alone; no way to go; nothing to gain; everything within reach; from one end to another."""
    line = _graph((0.0, 0.0), (0.0, 3.0), (0.0, 5.0))
    score = np.array([1.0, 2.0, 3.0])
    return [
        OrienteeringInstance(_graph((0.0, 0.0)), np.array([1.0]), 0.0), OrienteeringInstance(line, score, 0.0),
        OrienteeringInstance(line, 0.0 * score, 20.0), OrienteeringInstance(line, score, 100.0),
        OrienteeringInstance(line, score, 5.0, 0, 2), OrienteeringInstance(_graph(*[(0.0, 0.0)] * 5), np.ones(5), 0.0),
    ]  # fmt: skip


def _knapsack() -> list[Any]:
    """One item that fits or not; nothing weighs, nothing counts, nothing fits, all fits."""
    one, three = np.ones(1), np.arange(1.0, 4.0)
    return [
        KnapsackInstance("a", values, np.atleast_2d(weights), np.array([float(capacity)]))
        for values, weights, capacity in (
            (one, one, 1), (one, one, 0), (three, 0 * three, 0), (0 * three, three, 3), (three, three + 9, 1), (three, three, 6),
        )
    ]  # fmt: skip


def _jobshop() -> list[Any]:
    """One operation; no durations; all of one machine; a job alone; everything fixed; nothing to hurry for."""
    fixed = Rules(fixed_start=np.array([0, 2, 4]), fixed_machine=np.array([0, 0, 0]))
    one = [[(0, 2)]]
    return [
        from_jobs([one], 1), from_jobs([[[(0, 0)]], [[(0, 0)], [(1, 0)]]], 2), from_jobs([one] * 4, 1), from_jobs([one * 3], 1),
        from_jobs([one] * 3, 1, rules=fixed), from_jobs([one * 2, one], 1, rules=Rules(no_wait=np.array([False, True, False]))),
        from_jobs([one] * 3, 1, due=[90] * 3, objective="weighted_tardiness"),
        from_jobs([one] * 3, 1, due=[0] * 3, weight=[0] * 3, objective="weighted_tardiness"),
        from_jobs([one, [[(0, 3), (1, 3)]]], 2),
        from_jobs([[[(0, 1), (1, 1)]]] * 3, 2, due=[9, 9, 9], objective="earliness_tardiness"),
    ]  # fmt: skip


def _flowshop() -> list[Any]:
    """One job, one machine, nothing to do, equal jobs, set-ups alone."""
    setup = np.arange(9).reshape(1, 3, 3)
    shapes = [np.ones((1, 1)), np.ones((1, 3)), np.ones((4, 1)), np.zeros((3, 2)), np.ones((4, 3))]
    plain = [FlowShopInstance("a", shape.astype(np.int64), None, objective)
             for shape in shapes for objective in ("makespan", "total_completion_time")]  # fmt: skip
    return [*plain, FlowShopInstance("a", np.zeros((3, 1), np.int64), setup)]


def _static() -> list[Any]:
    """One buffer, none of any size, all placed already, all at once, one after the other."""
    zeros, order = np.zeros(3, int), np.arange(3)
    return [
        make_instance("a", [0], [1], [5]), make_instance("a", zeros, zeros + 4, zeros),
        make_instance("a", zeros, zeros + 2, order + 1),
        make_instance("a", zeros, zeros + 2, zeros + 2, fixed=2 * order), make_instance("a", order, order + 1, order + 1),
        make_instance("a", zeros, zeros + 1, zeros + 3, alignment=zeros + 4),
    ]  # fmt: skip


def _memory() -> list[Any]:
    """Short programs, and fast memories that hold nothing, or everything."""
    return [family("memory").tiny(seed, ops=ops, fast=fast) for seed, ops, fast in ((0, 1, 1), (1, 2, 1), (2, 2, 99), (3, 3, 6))]


def _bandits() -> list[Any]:
    """One arm, one state, one step; nothing may be pulled."""

    def made(arms: int, states: int, budget: int, horizon: int) -> BanditInstance:
        chances = np.full((arms, 2, states, states), 1.0 / states)
        rewards = np.arange(arms * 2.0 * states).reshape(arms, 2, states)
        return BanditInstance("a", chances, rewards, Budget(np.ones(arms, int), budget), np.zeros((1, arms), np.int32), horizon)

    return [made(1, 1, 1, 1), made(1, 2, 0, 2), made(3, 1, 3, 2), made(2, 2, 1, 1)]


def _milp() -> list[Any]:
    """No rows, one variable, everything fixed, nothing to gain."""

    def made(c: list[float], low: float, high: float, rows: int, integer: bool) -> Any:
        n = len(c)
        at, columns = np.divmod(np.arange(rows * n), n)
        ones, sides = np.ones(rows * n), (np.zeros(rows), np.full(rows, 9.0))
        return from_triplets("a", "min", c, at, columns, ones, *sides, lower=low, upper=high, integer=integer)

    return [made([1.0], 0, 1, 0, True), made([1.0, -1.0], 0, 3, 1, True), made([1.0, 2.0], 2, 2, 1, True),
            made([0.0, 0.0], 0, 4, 2, True), made([-1.0, -2.0], 0, 4, 1, False)]  # fmt: skip


SMALLEST: dict[str, Callable[[], list[Any]]] = {
    "tsp": _tsp, "vrp": _vrp, "orienteering": _orienteering, "knapsack": _knapsack, "jobshop": _jobshop, "flowshop": _flowshop,
    "memory-static": _static, "memory": _memory, "bandits": _bandits, "milp": _milp,
}  # fmt: skip
CASES = [
    pytest.param(name, solver, marks=[pytest.mark.long] if solver in NETWORKS else [])
    for name in SMALLEST
    for solver in registry.solvers(name)
    if registry.solver(name, solver).iteration
]


@pytest.mark.parametrize(("name", "solver"), CASES)
def test_iterations_alone_end_a_run(name: str, solver: str):
    """After 1, 3 and 60 iterations, with a solution after the last at the latest."""
    if solver == "pyvrp":
        pytest.importorskip("pyvrp")
    method = registry.solver(name, solver)
    for number, instance in enumerate(SMALLEST[name]()):
        if method().accepts(instance):
            continue
        for iterations in (1, 3, 60):
            print(f"{solver} with {iterations} iterations on instance {number} of {name}", flush=True)
            try:
                result = corl.solve(instance, problem=name, solver=solver, iterations=iterations)
            except UsageError as error:
                if no_network(error):
                    break
                raise
        else:
            assert result.status in ("optimal", "feasible"), (number, result.status, result.reason)
