"""`ruin-recreate` with soft windows and travel times by the hour: optima of tiny instances, and the kernels beside the judge."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.evaluation import schedule
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.routes import Route
from corl.run import Run
from corl.solvers.vrp.enumeration import cheapest_solution
from corl.solvers.vrp.ruin.construction import cost_of
from corl.solvers.vrp.ruin.conversion import load_routes, new_plan, new_work, routing_data
from corl.solvers.vrp.ruin.solver import RuinRecreate
from support.families.vrp_rules import TOGETHER, make_rules

VRP = Vrp()


@pytest.mark.parametrize("name", TOGETHER)
def test_tiny_instances_are_solved_to_the_optimum(name):
    """Three clients, all sets of routes by the judge, which brute force confirms elsewhere."""
    for seed in range(4):
        instance = make_rules(name, 3, seed)
        best = cheapest_solution(instance, lambda: False)
        run = Run(VRP, instance, iterations=600, seed=0)
        run.start()
        if not run.infeasible:
            RuinRecreate().solve(instance, run)
        if best is None:
            assert run.solution is None
        else:
            assert run.objective == pytest.approx(VRP.evaluate(instance, best), rel=1e-9), (name, seed)


@pytest.mark.parametrize("name", ["soft", "soft and duration", "hours and duration", "soft and hours and duration"])
def test_the_kernels_cost_of_any_route_is_the_judge_s(name):
    """Of random routes of up to nine clients, whether windows are kept or not: the cost of times if they are."""
    compared = 0
    for seed in range(12):
        instance = make_rules(name, 9, seed)
        data = routing_data(instance, 9)
        plan = new_plan(instance, data)
        order = np.random.default_rng(seed).permutation(np.arange(instance.depots, instance.n))[: 2 + seed % 8]
        if instance.earliest is not None:
            order = order[np.argsort(instance.earliest[order])]
        instance_route = Route(0, order.astype(np.int32))
        load_routes(instance, data, plan, new_work(data, plan, 0), [instance_route])
        times = schedule(instance, instance_route)
        opens = instance.earliest is None or (times.begin >= instance.earliest[order] - 1e-9).all()
        keeps = instance.latest is None or (
            (times.begin <= instance.latest[order] + 1e-6).all() and times.back <= instance.latest[0]
        )
        if opens and keeps:
            rate = 0.0 if instance.rules.duration_cost is None else float(instance.rules.duration_cost[0])
            assert plan.segments.time_cost.sum() == pytest.approx(rate * times.duration + times.penalty, rel=1e-8)
            compared += 1
    assert compared >= 4
    assert cost_of(data, plan) == np.inf or len(order) == instance.clients
