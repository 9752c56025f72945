"""Ruin and recreate: feasible whatever the features, optimal where that is known, the same for the same seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corl
from corl.errors import UsageError
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.rules import SideConstraints
from corl.run import Run
from corl.solvers.vrp.ruin.annealing import save_best
from corl.solvers.vrp.ruin.construction import cost_of
from corl.solvers.vrp.ruin.conversion import load_routes
from corl.solvers.vrp.ruin.fewer_routes import drop_one, may_drop_route
from corl.solvers.vrp.ruin.search import Search
from corl.solvers.vrp.ruin.solver import RuinRecreate
from corl.solvers.vrp.ruin.state import BEST

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "duration", "fewest", "all", "ends")


def solve(instance, iterations, seed=0, warm_start=None, **options):
    run = Run(Vrp(), instance, iterations=iterations, seed=seed, warm_start=warm_start)
    run.start()
    RuinRecreate(**options).solve(instance, run)
    return run


@settings(deadline=None, max_examples=25)
@given(feature=st.sampled_from(FEATURES), clients=st.integers(1, 25), seed=st.integers(0, 10**6))
def test_every_report_is_feasible(make, feature, clients, seed):
    """Whatever is reported, with any feature, keeps to every limit and costs what is claimed (the run checks both)."""
    instance = make(feature, clients, seed)
    assert RuinRecreate().accepts(instance) == ""
    run = solve(instance, 300, seed=seed % 7, neighbours=8)
    assert run.objective is not None
    assert run.bound is None or run.bound <= run.objective


@pytest.mark.parametrize("feature", FEATURES)
def test_tiny_instances_are_solved(make, least, feature):
    """Six clients are served at the least cost, by enumeration of all routes."""
    for seed in range(2):
        instance = make(feature, 6, seed)
        run = solve(instance, 2500, seed=1)
        optimum = least(instance)
        assert run.objective == pytest.approx(optimum, rel=1e-9)
        assert run.bound is None or run.bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("feature", ["windows", "all"])
def test_chunks_do_not_matter_to_the_search_with_one_route_fewer(make, monkeypatch, feature):
    """A run that is long enough for it ends in the same routes whatever the size of the chunks."""
    budget, instance, found = Run.budget, make(feature, 8, 5), []
    for most in (7, 10**6):
        monkeypatch.setattr(Run, "budget", lambda self, cap=None, m=most: budget(self, m if cap is None else min(cap, m)))
        run = solve(instance, 14_000, seed=3)
        found.append([run.objective, [(route.vehicle, route.visits.tolist()) for route in run.solution]])
    assert found[0] == found[1]


def test_a_route_is_dropped():
    """Of three routes to the same far place, one is emptied, and the slots that were hidden are free again."""
    n, far = 10, 100.0
    matrix = np.zeros((n, n))
    matrix[0, 1:] = matrix[1:, 0] = far
    instance = VrpInstance(
        name="far", edge_weight_type="EXPLICIT", demand=np.append(0.0, np.ones(n - 1)), matrix=matrix,
        vehicles=Vehicles(capacity=np.array([5.0])), earliest=np.zeros(n), latest=np.full(n, 1e4), service=np.zeros(n),
    )  # fmt: skip
    run = Run(Vrp(), instance, iterations=2_000, seed=0)
    run.start()
    search = Search(instance, 8, 0, run)
    load_routes(instance, search.data, search.plan, search.work, [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    save_best(search.plan, cost_of(search.data, search.plan))
    free = search.plan.free_size.copy()
    assert may_drop_route(search)
    drop_one(search, 2.0, 0.1, 1.0)
    assert search.routes == 2 and search.plan.cost[BEST] == 4 * far
    assert (search.plan.free_size == free + 1).all() and search.plan.stack_start[0] == 0
    assert not may_drop_route(search)  # the capacity of one vehicle does not suffice


def test_coolings_without_a_better_solution_begin_hotter(make, monkeypatch):
    """The first temperature of later coolings is doubled four times, up to the first cooling's, and then low again."""
    heats, cool = [], Search.cool
    monkeypatch.setattr(Search, "cool", lambda self, heat, *rest: (heats.append(heat), cool(self, heat, *rest)))
    solve(make("plain", 2, 1), 6_000, coolings=8, choices=False, heat=5.0, reheat=0.1)  # nothing is better than the first routes
    assert heats == pytest.approx([5.0, 1.0, 2.0, 4.0, 5.0, 0.5, 1.0, 2.0])


@pytest.mark.parametrize(("feature", "factor"), [("plain", 1.0), ("windows", 0.2), ("all", 1.0)])
def test_coolings_with_only_windows_begin_colder(make, monkeypatch, feature, factor):
    """Time windows without other constraints have a fifth of the first temperature, and fewer additional neighbours."""
    heats, columns, cool = [], [], Search.cool
    monkeypatch.setattr(
        Search,
        "cool",
        lambda self, heat, *rest: (heats.append(heat), columns.append(self.data.near.shape[1]), cool(self, heat, *rest)),
    )
    solve(make(feature, 12, 1), 24_000, coolings=1, choices=False, heat=3.0, neighbours=4, farther=5)
    assert heats[0] == pytest.approx(3.0 * factor)
    assert columns[0] == (6 if feature == "windows" else 9)


def test_chunks_do_not_matter(make, monkeypatch):
    """The same iterations end in the same routes whatever the size of the chunks, with a smallest fleet too."""
    budget = Run.budget
    for feature, options in (("plain", {}), ("plain", {"coolings": 3}), ("fewest", {}), ("all", {})):
        instance, found = make(feature, 30, 5), []
        for most in (1, 7, 10**6):
            monkeypatch.setattr(Run, "budget", lambda self, cap=None, m=most: budget(self, m if cap is None else min(cap, m)))
            run = solve(instance, 800, seed=3, **options)
            found.append([run.objective, [(route.vehicle, route.visits.tolist()) for route in run.solution]])
            monkeypatch.undo()
        assert found[0] == found[1] == found[2]


def test_warm_starts_are_kept(make):
    """The search begins at the user's routes: nothing worse is reported."""
    for feature in ("plain", "windows", "all"):
        instance = make(feature, 20, 2)
        good = solve(instance, 2000).solution
        again = solve(instance, 1, warm_start=good)
        assert again.objective <= Vrp().evaluate(instance, good)


def test_number_of_coolings():
    """As many as asked for; otherwise one for a short run, and the longer the run and the fewer the clients, the more.

    Long routes with windows are cooled more often.
    """

    def count(clients, planned, long=False, coolings=0):
        return RuinRecreate(coolings=coolings)._cooling_count(clients, planned, long)

    assert count(100, 10**6) == 1 and count(100, 4 * 10**6) == 6
    assert count(1000, 9 * 10**6) == 1 and count(1000, 9 * 10**6, long=True) == 3
    assert count(5, float("inf")) == 16 and count(5, 1.0, coolings=3) == 3


def test_a_tight_fleet():
    """Five vehicles for clients that fill them to the last unit, which inserting greedily does not get right."""
    demand = np.array([0, 7, 3, 6, 4, 5, 5, 8, 2, 7, 3.0])
    points = np.random.default_rng(4).integers(0, 100, (11, 2)).astype(float)
    instance = VrpInstance("tight", "EUC_2D", demand, Vehicles(np.array([10.0]), count=np.array([5])), points=points)
    run = solve(instance, 5000)
    assert run.objective is not None and len(run.solution) == 5


def test_a_route_is_opened_for_several_prizes():
    """No client alone pays for the way to its town; eight do. The plan began empty, and stayed so, when each had to pay alone."""
    town = np.array([[100.0 + x, 100.0 + y] for x in range(4) for y in range(2)])
    points, prize = np.vstack([[0.0, 0.0], town]), np.full(9, 60.0)
    prize[0] = 0.0
    instance = VrpInstance("town", "EXACT_2D", demand=np.r_[0.0, np.ones(8)], vehicles=Vehicles(capacity=4.0), points=points,
                           prize=prize, required=np.zeros(9, bool))  # fmt: skip
    assert len(solve(instance, 1).solution) == 0  # 4 of them, what a vehicle takes, bring 240 and cost 280
    run = solve(replace(instance, vehicles=Vehicles(capacity=8.0)), 1)
    assert sum(len(route.visits) for route in run.solution) == 8


def test_a_route_is_opened_on_the_way():
    """From a plan without routes too: iterations open them at a loss, and keep those that pay."""
    points = np.vstack([[0.0, 0.0], np.random.default_rng(0).uniform(90, 110, (30, 2))])
    prize = np.where(np.arange(31) > 0, 40.0, 0.0)
    instance = VrpInstance("town", "EXACT_2D", demand=np.r_[0.0, np.ones(30)], vehicles=Vehicles(capacity=15.0), points=points,
                           prize=prize, required=np.zeros(31, bool))  # fmt: skip
    assert solve(instance, 2000, warm_start=[]).objective < 30 * 40.0 - 300.0


def test_fewest_counts_routes(make):
    """With `fleet` "fewest" there are as few routes as the demand allows, though more would be shorter."""
    points = np.array([[50, 50], [0, 50], [100, 50], [50, 0], [50, 100.0]])
    demand = np.array([0, 1, 1, 1, 1.0])
    instance = VrpInstance("star", "EUC_2D", demand, Vehicles(np.array([4.0])), points=points, fleet="fewest")
    assert len(solve(instance, 500).solution) == 1


def test_refusals(make):
    """What it cannot do is refused by name; options out of range too."""
    instance = make("matrix", 5, 0)
    own = replace(instance, rules=SideConstraints(distances=np.stack([instance.matrix, instance.matrix])))
    assert "matrix" in RuinRecreate().accepts(own)
    for options in ({"neighbours": 1}, {"heat": 0.0}, {"cold": float("inf")}, {"coolings": -1}, {"reheat": 0.0}):
        with pytest.raises(UsageError, match="accepted"):
            RuinRecreate(**options)


@pytest.mark.chance
def test_prizes_count_more_at_first():
    """Four hundred optional clients, none of whom pays for a route: plans that begin with most of them are better."""
    instance = corl.generate("vrp", "solomon", size=400)
    prize = np.where(np.arange(instance.n) > 0, np.random.default_rng(0).integers(15, 45, instance.n) * instance.scale, 0)
    instance = replace(instance, prize=prize.astype(float), required=np.zeros(instance.n, bool))
    plain, more = (corl.solve(instance, solver="ruin-recreate", iterations=40_000, prizes=times) for times in (1.0, 3.0))
    assert more.objective < 0.995 * plain.objective and len(more.solution) > len(plain.solution)
