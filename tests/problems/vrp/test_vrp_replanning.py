"""The instance that remains at a time: the plan goes on in it at the same cost, and what is done keeps its times."""

from __future__ import annotations

import pytest

from corl.problems.vrp.evaluation import Route, objective, schedule
from corl.problems.vrp.replanning import Departed, remaining
from corl.solvers.vrp.enumeration import cheapest_solution
from support.families.vrp_rules import MIXES, RULES, make_rules

NAMES = [name for name in (*RULES, *MIXES) if "reload" not in name and "under way" not in name]
"""Reloads in the past are refused, and one replanning follows another in the tests of the models."""


def planned(instance, solution, now):
    """The vehicles that have left by `now`, and the solution with a type for each of them."""
    departed, routes, types = [], [], instance.vehicles.types
    for route in solution:
        times = schedule(instance, route)
        done = int((times.begin < now).sum())
        service = 0.0 if instance.service is None else instance.service[route.visits[done - 1]]
        ready = times.leave if done == 0 else float(times.begin[done - 1] + service)
        following = [*route.visits.tolist(), int(instance.vehicles.end[route.vehicle])]
        heading = following[done] if ready < now and (done < len(route.visits) or not stays_out(instance, route)) else -1
        if not done and heading < 0:
            routes.append(route)
            continue
        departed.append(
            Departed(
                route.vehicle, route.visits[:done].tolist(), times.begin[:done].tolist(), heading, left=times.leave,
                loaded=frozenset(route.visits.tolist()), name=f"left {len(departed)}",
            )
        )  # fmt: skip
        routes.append(Route(types + len(departed) - 1, route.visits))
    return departed, routes


def stays_out(instance, route):
    return instance.rules.stays_out is not None and instance.rules.stays_out[route.vehicle]


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_goes_on(name):
    """At every time the plan is feasible, at the same cost; the file of the instance keeps that."""
    moments = 0
    for seed in range(4):
        instance = make_rules(name, 5, seed)
        solution = cheapest_solution(instance, lambda: False)
        for now in (0.0, 40.0, 110.0, 220.0) if solution else ():
            departed, routes = planned(instance, solution, now)
            later = remaining(instance, departed, now)
            if any(route.vehicle < instance.vehicles.types and schedule(instance, route).leave < now for route in routes):
                continue  # only rounding
            assert objective(later, routes) == pytest.approx(objective(instance, solution), rel=1e-9), (seed, now)
            moments += bool(departed)
            for each, kind in zip(departed, range(instance.vehicles.types, later.vehicles.types)):
                route = next(route for route in routes if route.vehicle == kind)
                assert schedule(later, route).begin[: len(each.visits)] == pytest.approx(each.begins)
    assert moments, "no vehicle had left at any time"
