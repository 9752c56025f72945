"""The population: two sub-populations of feasible and infeasible individuals, diversity, biased fitness and survivors.

Vidal (2022), section 3, after Vidal, Crainic, Gendreau, Lahrichi & Rei, Operations Research 60 (2012).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.genetic.state import CLOSE, FEASIBLE, FREE, IDLE, IMPROVED, INFEASIBLE, LENGTH, LOAD

__all__ = ["add", "clear", "reprice", "select"]

_ELITE = 4  # individuals of each sub-population that survive by their costs alone
_CLONE = 1e-9  # distance up to which individuals are clones


@kernel(borrow=True)
def add(data, routes, population, offspring, least, surplus):
    """Add the current routes as an individual, in place; if their sub-population is full, keep its survivors.

    Args:
        data: GeneticData.
        routes: The current routes.
        population: Population.
        offspring: Scratch.
        least: The size of a sub-population after the survivors are selected.
        surplus: How many individuals more it may have.

    Returns:
        The kind of the individual.
    """
    place = 0
    while population.kind[place] != FREE:
        place += 1
    _export(data, routes, population, offspring, place)
    feasible = population.excess[place, LOAD] <= 0.0 and population.excess[place, LENGTH] <= 0.0
    kind = FEASIBLE if feasible else INFEASIBLE
    _measure_distances(population, place, kind)
    population.kind[place] = kind
    if feasible and population.length[place] < population.best_cost[0] - data.tolerance:
        population.best_cost[0] = population.length[place]
        for client in range(data.clients):
            population.best[client] = population.prev[place, client]
        population.counts[IMPROVED] += 1
    if feasible and population.length[place] < population.best_cost[1] - data.tolerance:
        population.best_cost[1] = population.length[place]
        population.counts[IDLE] = 0
    size = 0
    for other in range(len(population.kind)):
        size += 1 if population.kind[other] == kind else 0
    if size > least + surplus:
        while size > least:
            _rate(population, kind)
            _remove_worst(population, kind)
            size -= 1
    _rate(population, kind)
    return kind


@kernel(borrow=True)
def _export(data, routes, population, offspring, place):
    """Write the current routes, in the order of their centres' polar angles, to a place of the population."""
    n, used = data.clients, 0
    population.length[place] = 0.0
    population.excess[place, LOAD] = population.excess[place, LENGTH] = 0.0
    for slot in range(data.slots):
        if routes.size[slot] == 0:
            continue
        x, y, node = 0.0, 0.0, routes.next[n + slot]
        legs = routes.length[slot]
        while node < n:
            x += data.offset[node, 0]
            y += data.offset[node, 1]
            legs -= data.service[node]
            node = routes.next[node]
        population.length[place] += legs
        population.excess[place, LOAD] += max(0.0, routes.load[slot] - data.capacity)
        if data.limited:
            population.excess[place, LENGTH] += max(0.0, routes.length[slot] - data.max_length)
        angle, at = math.atan2(y, x), used
        while at > 0 and offspring.angle[at - 1] > angle:
            offspring.angle[at], offspring.sorted[at] = offspring.angle[at - 1], offspring.sorted[at - 1]
            at -= 1
        offspring.angle[at], offspring.sorted[at] = angle, slot
        used += 1
    population.used[place] = used
    at = 0
    for k in range(used):
        node, before = routes.next[n + offspring.sorted[k]], -1
        while node < n:
            population.tour[place, at] = node
            at += 1
            population.prev[place, node] = before
            if before >= 0:
                population.next[place, before] = node
            before, node = node, routes.next[node]
        population.next[place, before] = -1
    population.cost[place] = (
        population.length[place]
        + routes.penalty[LOAD] * population.excess[place, LOAD]
        + routes.penalty[LENGTH] * population.excess[place, LENGTH]
    )


@kernel(borrow=True)
def _measure_distances(population, place, kind):
    """Compute the broken-pairs distances of an individual to the others of a kind, in place."""
    n = population.tour.shape[1]
    for other in range(len(population.kind)):
        if population.kind[other] != kind or other == place:
            continue
        broken = 0
        for client in range(n):  # without branches, so that it is vectorised
            after, before = population.next[place, client], population.prev[place, client]
            other_after, other_before = population.next[other, client], population.prev[other, client]
            broken += ((after != other_after) & (after != other_before)) + (
                (before < 0) & (other_before >= 0) & (other_after >= 0)
            )
        population.apart[place, other] = population.apart[other, place] = broken / n


@kernel(borrow=True)
def _closeness(population, place, kind):
    """Return the mean distance of an individual to its CLOSE nearest of the same kind, and the distance to the nearest one."""
    near, count = population.key, 0
    for other in range(len(population.kind)):
        if population.kind[other] != kind or other == place:
            continue
        apart, at = population.apart[place, other], min(count, CLOSE)
        if at == CLOSE:
            if apart >= near[CLOSE - 1]:
                continue
            at -= 1
        else:
            count += 1
        while at > 0 and near[at - 1] > apart:
            near[at] = near[at - 1]
            at -= 1
        near[at] = apart
    total = 0.0
    for k in range(count):
        total += near[k]
    return (total / count, near[0]) if count > 0 else (1.0, 1.0)


@kernel(borrow=True)
def _rate(population, kind):
    """Compute the biased fitness of the individuals of a kind, in place: the rank of cost plus that of diversity."""
    size = 0
    for place in range(len(population.kind)):
        if population.kind[place] == kind:
            population.diversity[place], population.nearest[place] = _closeness(population, place, kind)
            at = size
            while at > 0 and population.cost[population.rank[at - 1]] > population.cost[place]:
                population.rank[at] = population.rank[at - 1]
                at -= 1
            population.rank[at] = place
            size += 1
    for k in range(size):
        population.fitness[population.rank[k]] = k / max(1, size - 1)
        population.is_best[population.rank[k]] = k == 0
    for k in range(1, size):
        place, at = population.rank[k], k
        while at > 0 and population.diversity[population.rank[at - 1]] < population.diversity[place]:
            population.rank[at] = population.rank[at - 1]
            at -= 1
        population.rank[at] = place
    weight = 1.0 - min(1.0, _ELITE / max(1, size))
    for k in range(size):
        population.fitness[population.rank[k]] += weight * k / max(1, size - 1)


@kernel(borrow=True)
def _remove_worst(population, kind):
    """Remove a clone or, if there is none, the individual of the worst biased fitness; never the one of least cost."""
    worst, clone = -1, False
    for place in range(len(population.kind)):
        if population.kind[place] != kind or population.is_best[place]:
            continue
        is_clone = population.nearest[place] <= _CLONE
        if worst < 0 or (is_clone, population.fitness[place]) > (clone, population.fitness[worst]):
            worst, clone = place, is_clone
    population.kind[worst] = FREE


@kernel(borrow=True)
def select(population, random):
    """Return a parent's place, by a binary tournament among all individuals."""
    size = 0
    for place in range(len(population.kind)):
        if population.kind[place] != FREE:
            population.rank[size] = place
            size += 1
    one, other = population.rank[below(random, size)], population.rank[below(random, size)]
    return one if population.fitness[one] < population.fitness[other] else other


@kernel(borrow=True)
def reprice(population, routes):
    """Compute the costs of infeasible individuals, and their fitness, with the current penalties, in place."""
    for place in range(len(population.kind)):
        if population.kind[place] == INFEASIBLE:
            population.cost[place] = (
                population.length[place]
                + routes.penalty[LOAD] * population.excess[place, LOAD]
                + routes.penalty[LENGTH] * population.excess[place, LENGTH]
            )
    _rate(population, INFEASIBLE)


@kernel(borrow=True)
def clear(population):
    """Remove all individuals, in place; the best solution is kept."""
    for place in range(len(population.kind)):
        population.kind[place] = FREE
    population.best_cost[1] = math.inf
