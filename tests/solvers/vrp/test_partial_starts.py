"""Incomplete warm starts: what is missing is inserted, what cannot be is left out with one warning, the order is kept."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import corl
from corl.problems.vrp.evaluation import objective, routes_of
from corl.problems.vrp.partial import partial_routes
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.routes import Route
from corl.run import Run
from corl.solvers.vrp.ruin.search import Search
from corl.solvers.vrp.ruin.solver import RuinRecreate
from support.families.vrp_rules import make_rules


def solved(instance, iterations, partial=None):
    run = Run(Vrp(), instance, iterations=iterations, partial_start=partial)
    run.start()
    RuinRecreate().solve(instance, run)
    return run


def incomplete(solution, random, share=0.3):
    """The solution without some of its clients, as plain lists."""
    return [Route(route.vehicle, [int(node) for node in route.visits if random.random() > share]) for route in solution]


@pytest.mark.parametrize("feature", ["matrix", "windows", "prizes", "fleet", "depots", "all"])
def test_the_order_is_kept_and_the_rest_inserted(make, feature):
    """The first solution is feasible and keeps the order of what was given; insertion alone is never better in the end."""
    for seed in range(3):
        instance, random = make(feature, 25, seed), np.random.default_rng(seed)
        good = solved(instance, 300).solution
        part, note = partial_routes(instance, incomplete(good, random), as_json=False)
        assert not note, "leaving out clients violates no limit"
        search = Search(instance, 20, 10, Run(Vrp(), instance, iterations=10, partial_start=part))
        search.run.start()
        assert search._complete(part)
        first = search.run.solution
        assert np.isfinite(objective(instance, first))
        position = {int(node): (k, i) for k, route in enumerate(first) for i, node in enumerate(route.visits)}
        for route in part if instance.required[instance.depots :].all() else ():
            places = [position[node] for node in route.visits.tolist()]
            assert places == sorted(places) and len({k for k, _ in places}) == 1
        plain = Search(instance, 20, 10, Run(Vrp(), instance, iterations=10))
        plain.run.start()
        if plain.serve_all(0.0):
            plain.report()
            assert solved(instance, 1, part).objective <= plain.run.objective + 1e-9


KINDS = ["shipments and windows", "breaks", "under way and allowed", "groups and prizes", "reloads", "dimensions", "backhauls"]


@pytest.mark.parametrize("name", KINDS)
def test_any_routes_are_a_start(name):
    """Random routes over random nodes: the part that is kept is feasible route by route, and the solver goes on from it."""
    for seed in range(8):
        instance, random = make_rules(name, 6, seed), np.random.default_rng(seed)
        nodes, cuts = random.integers(0, instance.n + 2, 9), np.sort(random.integers(0, 9, 2))
        given = [Route(int(random.integers(0, instance.vehicles.types)), part) for part in np.split(nodes, cuts)]
        try:
            part, _ = partial_routes(instance, given, as_json=False)
        except corl.errors.Infeasible:
            continue
        routes_of(instance, part)
        if Vrp().infeasible(instance):
            continue
        again, run = solved(instance, 400), solved(instance, 400, part)
        assert (run.solution is None) == (again.solution is None)
        if run.solution is not None:
            assert run.objective == pytest.approx(again.objective, rel=1e-9), (seed, "both are optimal")


def test_solve_takes_what_is_incomplete(caplog):
    """Lists, JSON and results of an earlier instance; workers; other solvers refuse it; a complete start is taken as it is."""
    day = corl.generate("vrp", size=20, seed=3)
    good = corl.solve(day, iterations=200)
    part = [route.visits[1:].tolist() for route in good.solution]
    with caplog.at_level(logging.WARNING):
        for start in (part, [np.array(route) for route in part], str(Vrp().to_json(day, [each for each in part if each]))):
            assert np.isfinite(corl.solve(day, iterations=1, warm_start=start, workers=1).objective)
        assert not caplog.records
        corl.solve(day, iterations=1, warm_start=[*part, [999, part[0][0]]])
    assert [record.getMessage() for record in caplog.records] == [
        "warm_start: left out: 2 visits to clients that are unknown or served before"
    ]
    with pytest.raises(corl.UsageError, match=r"must be visited and is not .*does not complete") as caught:
        corl.solve(day, iterations=1, warm_start=part, solver="policy")
    assert "\n" not in str(caught.value)
    assert corl.solve(day, iterations=1, warm_start=good).objective <= good.objective


def test_names_of_an_earlier_model(caplog):
    """Clients that are gone are left out, new ones inserted, by name; a complete plan that is too long is shortened."""
    from corl.modelling import RoutingModel

    def model(names, **vehicle):
        made = RoutingModel("m")
        made.add_depot("hub", x=0, y=0)
        for name in names:
            made.add_client(name, x=10 * (1 + "abcdef".index(name)), y=0)
        made.add_vehicle("v", **vehicle)
        return made

    first = model("abcd").solve(iterations=100)
    after = model("bcdef").solve(iterations=1, warm_start=first)
    assert sorted(after.routes[0].names) == list("bcdef")
    assert "1 visit" in caplog.records[0].getMessage()
    caplog.clear()
    shorter = model("abcd", count=2, max_distance=80).solve(iterations=50, warm_start=model("dcba").solve(iterations=100))
    assert shorter.objective <= 80 + 60 and len(shorter.routes) <= 2
