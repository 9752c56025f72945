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
from corl.solvers.vrp.genetic.state import INFEASIBLE, LENGTH, LOAD

__all__ = ["breed"]

_FIRST_FACTOR = 4  # individuals of a new population, in sizes of a sub-population
_REPAIR = 10.0  # factor of the penalties in a repair
_PERIOD = 100  # iterations between two changes of the penalties
_TARGET = 0.2  # share of offspring that should satisfy a limit
_RAISE, _LOWER = 1.2, 0.85  # factors of a penalty
_MIN_PENALTY, _MAX_PENALTY = 1e-3, 1e4  # limits of a penalty, in first penalties
_RESTART = 20_000  # iterations without a better solution of the population, after which a new one begins


@kernel
def breed(data, routes, population, offspring, least, surplus, units):
    """Make `units` iterations, in place.

    Args:
        data: GeneticData.
        routes: Routes.
        population: Population.
        offspring: Offspring.
        least: The size of a sub-population after the survivors are selected.
        surplus: How many individuals more it may have.
        units: The number of iterations.
    """
    counts = population.counts
    for _ in range(units):
        if counts[2] < _FIRST_FACTOR * least:
            shuffle_tour(offspring)
            most = data.slots
        else:
            mother, father = select(population, offspring.random), select(population, offspring.random)
            cross(population, offspring, mother, father)
            most = population.used[mother]
        split(data, routes, offspring, most)
        improve(data, routes, offspring.random)
        improved = counts[0]
        _record(data, routes, population)
        if add(data, routes, population, offspring, least, surplus) == INFEASIBLE and below(offspring.random, 2) == 0:
            _repair(data, routes, population, offspring, least, surplus)
        counts[1] += 1
        counts[2] += 1
        counts[3] = 0 if counts[0] > improved else counts[3] + 1
        if counts[1] % _PERIOD == 0:
            _adapt(data, routes, population)
        if counts[3] >= _RESTART:
            clear(population)
            counts[2] = counts[3] = 0


@kernel(borrow=True)
def _record(data, routes, population):
    """Record whether the current routes satisfy the limits, in place."""
    at = population.counts[1] % _PERIOD
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
    improve(data, routes, offspring.random)
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
        for at in range(_PERIOD):
            share += population.recent[limit, at] / _PERIOD
        penalty = routes.penalty[limit]
        if share < _TARGET - 0.05:
            routes.penalty[limit] = min(_MAX_PENALTY * data.first_penalty[limit], penalty * _RAISE)
        elif share > _TARGET + 0.05:
            routes.penalty[limit] = max(_MIN_PENALTY * data.first_penalty[limit], penalty * _LOWER)
    reprice(population, routes)
