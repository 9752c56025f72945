"""The genetic search: feasible, optimal on tiny instances, equal for any chunks; moves change the cost by what they promise."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.vrp.generators import x
from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solvers.vrp.auto import choose
from corl.solvers.vrp.genetic.breeding import breed
from corl.solvers.vrp.genetic.conversion import sweep
from corl.solvers.vrp.genetic.engine import Engine
from corl.solvers.vrp.genetic.local_search import improve
from corl.solvers.vrp.genetic.moves import improve_pair
from corl.solvers.vrp.genetic.solver import Genetic
from corl.solvers.vrp.genetic.split import split
from corl.solvers.vrp.genetic.state import FEASIBLE, FREE, LENGTH, LOAD
from corl.solvers.vrp.genetic.swap_star import improve_routes
from corl.solvers.vrp.genetic.tours import refresh

FEATURES = ("plain", "exact", "length", "duration")
REFUSED = ("windows", "prizes", "depots", "fleet", "fewest", "all")


def solve(instance, iterations, seed=0, warm_start=None, **options):
    run = Run(Vrp(), instance, iterations=iterations, seed=seed, warm_start=warm_start)
    run.start()
    Genetic(**options).solve(instance, run)
    return run


def engine(instance, seed=0):
    """An engine with a population of some individuals."""
    run = Run(Vrp(), instance, iterations=10**6, seed=seed)
    run.start()
    made = Engine(instance, Genetic(neighbours=8, population=4, surplus=6), run)
    breed(made.data, made.routes, made.population, made.offspring, 4, 6, 1000, 60)
    return made


def penalised_cost(data, routes):
    """The cost of the current routes with penalties, in plain Python, after their links were checked."""
    n, cost, met = data.clients, 0.0, []
    for slot in range(data.slots):
        node, load, length = n + slot, 0.0, 0.0
        while True:
            follower = int(routes.next[node])
            assert routes.prev[follower] == node
            length += data.distance[min(node, n), min(follower, n)]
            node = follower
            if node >= n:
                break
            met.append(node)
            load, length = load + data.demand[node], length + data.service[node]
        assert node == n + slot
        cost += length + routes.penalty[LOAD] * max(0.0, load - data.capacity)
        cost += routes.penalty[LENGTH] * max(0.0, length - data.max_length) if data.limited else 0.0
    assert sorted(met) == list(range(n))
    return cost


@settings(deadline=None, max_examples=25)
@given(feature=st.sampled_from(FEATURES), clients=st.integers(1, 25), seed=st.integers(0, 10**6))
def test_every_report_is_feasible(make, feature, clients, seed):
    """Whatever is reported keeps to every limit and costs what is claimed (the run checks both)."""
    instance = make(feature, clients, seed)
    assert Genetic().accepts(instance) == ""
    run = solve(instance, 120, seed=seed % 7, neighbours=8, population=5, surplus=5, restart=50)
    assert run.objective is not None
    assert run.bound is None or run.bound <= run.objective


@pytest.mark.parametrize("feature", FEATURES)
def test_tiny_instances_are_solved(make, least, feature):
    """Six clients are served at the least cost, by enumeration of all routes."""
    for seed in range(3):
        instance = make(feature, 6, seed)
        assert solve(instance, 400, seed=1).objective == pytest.approx(least(instance), rel=1e-9)


def test_a_symmetric_matrix_is_prepared_and_solved(make, least):
    """Without coordinates, `prepare` ends, and the least cost is found; a matrix that is not symmetric is refused."""
    instance = make("matrix", 5, 1)
    assert "symmetric" in Genetic().accepts(instance)
    symmetric = replace(instance, matrix=instance.matrix + instance.matrix.T)
    Genetic().prepare(symmetric)
    assert solve(symmetric, 200).objective == pytest.approx(least(symmetric), rel=1e-9)


@pytest.mark.parametrize("feature", REFUSED)
def test_what_it_lacks_is_refused(make, feature):
    """Windows, prizes, depots and fleets are refused with a reason."""
    assert Genetic().accepts(make(feature, 8, 1)).startswith("it takes")


@pytest.mark.parametrize("feature", ["plain", "duration"])
def test_chunks_and_seeds(make, monkeypatch, feature):
    """A seed gives the same routes for any size of chunks."""
    instance = make(feature, 20, 3)
    whole = solve(instance, 150, seed=5)
    monkeypatch.setattr(Run, "budget", lambda run, most=None, budget=Run.budget: budget(run, 1))
    single = solve(instance, 150, seed=5)
    assert [route.visits.tolist() for route in single.solution] == [route.visits.tolist() for route in whole.solution]


def test_a_warm_start_is_kept(make):
    """The result is no worse than the given routes, even after one iteration."""
    instance = make("plain", 25, 2)
    good = solve(instance, 300)
    assert solve(instance, 1, seed=9, warm_start=good.solution).objective <= good.objective


@pytest.mark.parametrize("feature", FEATURES)
def test_the_sweep_is_feasible(make, feature):
    """The first solution keeps to the limits."""
    instance = make(feature, 30, 4)
    Vrp().evaluate(instance, [[client + 1 for client in route] for route in sweep(instance)])


@settings(deadline=None, max_examples=20)
@given(feature=st.sampled_from(FEATURES), clients=st.integers(3, 20), seed=st.integers(0, 10**6), penalty=st.floats(0.01, 100))
def test_moves_only_improve(make, feature, clients, seed, penalty):
    """A move or an exchange that is made lowers the penalised cost, and one that is not made changes nothing."""
    made = engine(make(feature, clients, seed))
    data, routes, random = made.data, made.routes, np.random.default_rng(seed)
    made.offspring.tour[:] = random.permutation(clients)
    split(data, routes, made.offspring, data.slots)
    routes.penalty[:] = data.first_penalty * penalty
    for slot in range(data.slots):
        refresh(data, routes, slot)
    for _ in range(150):
        before = penalised_cost(data, routes)
        u, v = (int(node) for node in random.integers(0, [clients, clients + data.slots]))
        if random.random() < 0.8:
            moved = u != v and improve_pair(data, routes, u, v)
        else:
            a, b = int(routes.route[u]), int(random.integers(0, data.slots))
            moved = a != b and routes.size[b] > 0 and improve_routes(data, routes, a, b)
        after = penalised_cost(data, routes)
        assert after < before if moved else after == before


def test_local_optima_have_the_recorded_costs():
    """Every individual of a population has the cost, the excess and the routes of its giant tour."""
    made = engine(x(size=40, seed=2))
    population, data = made.population, made.data
    for place in np.flatnonzero(np.asarray(population.kind) != FREE):
        tour, legs, load, excess = population.tour[place], 0.0, 0.0, 0.0
        for before, client in zip([-1, *tour], [*tour, -1]):
            apart = client < 0 or population.prev[place, client] < 0
            legs += data.distance[before, -1] + data.distance[-1, client] if apart else data.distance[before, client]
            if apart:
                excess, load = excess + max(0.0, load - data.capacity), 0.0
            load += 0.0 if client < 0 else data.demand[client]
        assert sorted(tour) == list(range(data.clients))
        assert population.length[place] == pytest.approx(legs)
        assert population.excess[place, LOAD] == pytest.approx(excess)
        assert (population.kind[place] == FEASIBLE) == (excess == 0.0)


def test_split_finds_the_cheapest_routes():
    """Without a limit of their number, the routes of a tour are those of plain dynamic programming; else they are few enough."""
    made = engine(x(size=30, seed=4))
    data, routes, offspring = made.data, made.routes, made.offspring
    offspring.tour[:] = np.random.default_rng(1).permutation(data.clients)
    best = [0.0] + [np.inf] * data.clients
    for first in range(data.clients):
        for end in range(first + 1, data.clients + 1):
            part = offspring.tour[first:end]
            excess = max(0.0, data.demand[part].sum() - data.capacity)
            if excess <= 0.5 * data.capacity:
                ring = [data.clients, *part, data.clients]
                cost = sum(data.distance[a, b] for a, b in pairwise(ring)) + routes.penalty[LOAD] * excess
                best[end] = min(best[end], best[first] + cost)
    split(data, routes, offspring, data.slots)
    assert penalised_cost(data, routes) == pytest.approx(best[-1])
    split(data, routes, offspring, data.least_routes)
    penalised_cost(data, routes)
    assert sum(int(routes.next[data.clients + slot]) < data.clients for slot in range(data.slots)) <= data.least_routes
    improve(data, routes, made.population, -1, offspring.random)
    penalised_cost(data, routes)


def test_auto_takes_it_for_small_instances_with_time():
    """Only for capacities, only up to some hundred clients, and only if there is time for some thousand offspring."""
    instance = x(size=150)
    assert choose(instance, 10.0, None) == "genetic"
    assert choose(instance, 1.0, None) == choose(instance, None, 500) == choose(x(size=900), 60.0, None) == "ruin-recreate"
    assert choose(replace(instance, fleet="fewest"), 10.0, None) == "ruin-recreate"
