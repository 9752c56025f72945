"""The instance that remains at a time: the plan goes on in it at the same cost, and what is done keeps its times."""

from __future__ import annotations

import pytest

from corl.errors import UsageError
from corl.problems.vrp.evaluation import Route, objective, schedule
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.replanning import Departed, remaining
from corl.run import Run
from corl.solvers.vrp.enumeration import cheapest_solution
from corl.solvers.vrp.ruin.solver import RuinRecreate
from support.families.vrp_rules import MIXES, RULES, least_cost, make_rules

NAMES = [name for name in (*RULES, *MIXES) if not any(word in name for word in ("reload", "under way", "hour"))]
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


SOLVED = (
    "windows",
    "breaks",
    "durations",
    "allowed",
    "shipments and windows",
    "groups and prizes",
    "pickups and prizes",
    "matrix and rests",
)


@pytest.mark.parametrize("name", SOLVED)
def test_the_best_way_to_go_on_is_found(name):
    """The optimum of the enumeration in plain Python; the visits that are done keep their order, vehicle and times."""
    for seed in range(3):
        instance = make_rules(name, 5, seed)
        solution = cheapest_solution(instance, lambda: False)
        if not solution:
            continue
        departed, routes = planned(instance, solution, 110.0)
        later = remaining(instance, departed, 110.0)
        run = Run(Vrp(), later, iterations=1000, partial_start=routes)
        run.start()
        RuinRecreate().solve(later, run)
        assert run.objective == pytest.approx(least_cost(later), rel=1e-9), seed
        for kind, each in enumerate(departed, instance.vehicles.types):
            route = next(route for route in run.solution if route.vehicle == kind)
            fixed = [*each.visits, *[each.heading] * (each.heading >= instance.depots)]
            assert route.visits[: len(fixed)].tolist() == fixed
            assert schedule(later, route).begin[: len(each.visits)] == pytest.approx(each.begins)


def test_files_keep_what_remains(tmp_path):
    """The instance of the remaining decisions is written and read; the plan costs the same in it."""
    for name in ("breaks", "release", "durations"):
        instance = make_rules(name, 5, 1)
        departed, routes = planned(instance, cheapest_solution(instance, lambda: False), 110.0)
        later = remaining(instance, departed, 110.0)
        Vrp().write(later, tmp_path / "later.json")
        assert objective(Vrp().read(tmp_path / "later.json"), routes) == pytest.approx(objective(later, routes), rel=1e-9)


def test_own_loads_stay_with_their_vehicle():
    """Loaded demands remain on the vehicle, others need one that has not left; exchangeable loads go anywhere."""
    instance = make_rules("allowed", 5, 0)
    departed = [Departed(0, heading=2, loaded=frozenset({2, 3}))]
    rules, mine = remaining(instance, departed, 10.0).rules, instance.rules.allowed
    assert rules.allowed[2, 2] and rules.allowed[2, 3] == mine[0, 3] and not rules.allowed[:2, 3].any()
    assert not rules.allowed[2, [1, 4, 5]].any() and (rules.allowed[:2, [1, 4, 5]] == mine[:, [1, 4, 5]]).all()
    rules = remaining(instance, departed, 10.0, own_loads=False).rules
    assert (rules.allowed[2, [1, 3, 4, 5]] == mine[0, [1, 3, 4, 5]]).all() and (rules.allowed[:2, 3] == mine[:, 3]).all()


@pytest.mark.parametrize(
    ("departed", "message"),
    [
        ([Departed(0, [1], [50.0])], "client 2: its service begins after now"),
        ([Departed(0, [1, 2], [9.0, 8.0])], "client 2: its service begins after the vehicle's next visit"),
        ([Departed(0, [1], [9.0], heading=1)], "client 2 is visited twice"),
        ([Departed(0, [0], [9.0])], "has reloaded"),
        ([Departed(1, heading=1)] + [Departed(1, heading=k) for k in (2, 3, 4)], "4 vehicles of type 1 have left; there are 3"),
    ],
)
def test_impossible_days_are_refused(departed, message):
    """In one line, with the ids of the file."""
    with pytest.raises(UsageError, match=message) as caught:
        remaining(make_rules("shift", 5, 0), departed, 10.0)
    assert "\n" not in str(caught.value)
