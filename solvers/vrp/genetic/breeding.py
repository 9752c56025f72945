"""Breeding: the iteration of the genetic search makes one individual.

Vidal (2022), algorithm 1: parents by binary tournaments, order crossover, split, local search with penalties that adapt to the
share of feasible offspring, repair, survivors, and restarts.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.genetic.crossover import cross, shuffle_tour
from corl.solvers.vrp.genetic.local_search import improve
from corl.solvers.vrp.genetic.population import add, clear, reprice, select
from corl.solvers.vrp.genetic.split import split
from corl.solvers.vrp.genetic.state import AGE, IDLE, INFEASIBLE, LENGTH, LOAD, MADE, RECENT
from corl.solvers.vrp.genetic.tours import refresh

__all__ = ["adopt", "breed"]

_FIRST_FACTOR = 4  # random individuals of a new population, in sizes of a sub-population
_REPAIR = 10.0  # factor of the penalties in a repair
_TARGET, _TOLERANCE = 0.2, 0.05  # share of offspring that should satisfy a limit, and by how much it may differ
_RAISE, _LOWER = 1.2, 0.85  # factors of a penalty
_MIN_PENALTY, _MAX_PENALTY = 1e-3, 1e4  # limits of a penalty, in first penalties


@kernel
def breed(data, routes, population, offspring, least, surplus, restart, units):
    """Make `units` iterations, in place.

    Args:
        data: GeneticData.
        routes: Routes.
        population: Population.
        offspring: Offspring.
        least: The size of a sub-population after the survivors are selected.
        surplus: How many individuals more it may have.
        restart: Iterations without an improvement after which a new population begins.
        units: The number of iterations.
    """
    counts = population.counts
    for _ in range(units):
        most, mother = data.slots, -1
        if counts[AGE] < _FIRST_FACTOR * least:
            shuffle_tour(offspring)
        else:
            mother = select(population, offspring.random)
            cross(population, offspring, mother, select(population, offspring.random))
            most = population.used[mother]
        split(data, routes, offspring, most)
        improve(data, routes, population, mother, offspring.random)
        _record(data, routes, population)
        counts[MADE] += 1
        counts[AGE] += 1
        counts[IDLE] += 1
        if add(data, routes, population, offspring, least, surplus) == INFEASIBLE and below(offspring.random, 2) == 0:
            _repair(data, routes, population, offspring, least, surplus)
        if counts[MADE] % RECENT == 0:
            _adapt(data, routes, population)
        if counts[IDLE] >= restart:
            clear(population)
            counts[AGE] = counts[IDLE] = 0


@kernel
def adopt(data, routes, population, offspring, least, surplus):
    """Add a feasible solution, the current routes, and its local optimum to the population, in place.

    The arguments are those of `breed`; loads and lengths along the routes need not be computed.
    """
    for slot in range(data.slots):
        refresh(data, routes, slot)
    add(data, routes, population, offspring, least, surplus)
    _repair(data, routes, population, offspring, least, surplus)


@kernel(borrow=True)
def _record(data, routes, population):
    """Record whether the current routes satisfy the limits, in place."""
    at = population.counts[MADE] % RECENT
    population.recent[LOAD, at] = population.recent[LENGTH, at] = True
    for slot in range(data.slots):
        if routes.load[slot] > data.capacity:
            population.recent[LOAD, at] = False
        if data.limited and routes.length[slot] > data.max_length:
            population.recent[LENGTH, at] = False


@kernel(borrow=True)
def _repair(data, routes, population, offspring, least, surplus):
    """Improve the current routes at higher penalties, and add them if they become feasible, in place."""
    routes.penalty[LOAD] *= _REPAIR
    routes.penalty[LENGTH] *= _REPAIR
    improve(data, routes, population, -1, offspring.random)
    routes.penalty[LOAD] /= _REPAIR
    routes.penalty[LENGTH] /= _REPAIR
    for slot in range(data.slots):
        if routes.load[slot] > data.capacity or (data.limited and routes.length[slot] > data.max_length):
            return
    add(data, routes, population, offspring, least, surplus)


@kernel(borrow=True)
def _adapt(data, routes, population):
    """Adapt both penalties to the share of feasible offspring in the last period, in place."""
    for limit in (LOAD, LENGTH):
        share = 0.0
        for at in range(RECENT):
            share += population.recent[limit, at] / RECENT
        penalty = routes.penalty[limit]
        if share < _TARGET - _TOLERANCE:
            routes.penalty[limit] = min(_MAX_PENALTY * data.first_penalty[limit], penalty * _RAISE)
        elif share > _TARGET + _TOLERANCE:
            routes.penalty[limit] = max(_MIN_PENALTY * data.first_penalty[limit], penalty * _LOWER)
    reprice(population, routes)
