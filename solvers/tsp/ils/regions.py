"""Regions of a large tour, each bred by edge assembly crossover while the rest of the tour stays (Karp's cells, Math. Oper.
Res. 2, 1977; sub-problems by a Karp partition are LKH's).

What the tour does outside a region is a set of paths between cities of the region. Each becomes a bond: an edge so cheap that
every good tour of the region has it. So a region is a small symmetric TSP, and any tour of it with all its bonds is one of the
whole. A sweep cuts the plane into cells of about equal numbers of cities, each time along other lines, so that what one sweep
could not change across a border lies inside a cell of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.metric import Metric
from corl.routing.metric import bonded
from corl.run import Run
from corl.solvers.tsp.eax.breeding import Breeding
from corl.solvers.tsp.eax.solver import epoch
from corl.solvers.tsp.neighbours.candidates import near_points

__all__ = ["Region", "cells", "improve_regions", "region_of", "spliced"]

_CANDIDATES = 10
_PART = 200_000  # cities of a part
_LEAST_CITIES = 12  # a smaller region has nothing to breed


class Region(NamedTuple):
    """Some cities of a tour, in its order, numbered 0..m-1 by their number in the whole."""

    cities: NDArray[np.int32]
    """[m] rising."""
    tour: NDArray[np.int32]
    """[m] the region's own numbers in the order of the whole tour."""
    bonds: NDArray[np.int32]
    """[b] positions in `tour` after which the whole tour leaves the region, or has a bond of its own; at the next it goes on."""

    def partner(self) -> NDArray[np.int32]:
        """int32 [m] the city at the other end of a city's bond, -1 for none."""
        found = np.full(len(self.tour), -1, np.int32)
        u, v = self.tour[self.bonds], self.tour[(self.bonds + 1) % len(self.tour)]
        found[u], found[v] = v, u
        return found


def improve_regions(
    metric: Metric,
    tour: NDArray[np.int32],
    run: Run,
    size: int,
    population: int,
    per_quadrant: int,
    tell: Callable[[NDArray[np.int32]], None],
) -> None:
    """Sweep after sweep until the run must stop, or a sweep finds no region to breed: those of up to `size` cities are bred, and
    `tell` hears of every better tour.

    metric: of cities numbered along a space-filling curve; not EXPLICIT. tour: int32 [n]. per_quadrant: so many candidate
    neighbours from each quadrant around a city.
    """
    random, free = np.random.default_rng([run.seed, 1]), np.full(len(tour), -1, np.int32)

    found = 1

    def breed(points: Metric, region: Region) -> NDArray[np.int32] | None:
        nonlocal found
        found += 1
        return _bred(points, region, run, population, per_quadrant)

    while found and not run.should_stop:
        found = 0
        tour = _sweep(metric, tour, free, run, size, random, breed, tell)


def _sweep(
    metric: Metric,
    tour: NDArray[np.int32],
    partner: NDArray[np.int32],
    run: Run,
    size: int,
    random: np.random.Generator,
    breed: Callable[[Metric, Region], NDArray[np.int32] | None],
    tell: Callable[[NDArray[np.int32]], None],
) -> NDArray[np.int32]:
    """Breed each cell once, in a random order; of very many cities in parts, because a region costs O(n) of its whole.

    partner: int32 [n], the city at the other end of a city's bond, -1 for none.
    """
    position, in_parts = np.empty(len(tour), np.int32), len(tour) > 2 * _PART
    for cell in cells(metric.points, _PART if in_parts else size, random):
        if run.should_stop:
            break
        position[tour] = np.arange(len(tour), dtype=np.int32)
        region = region_of(tour, position, cell, partner)
        if len(region.cities) < _LEAST_CITIES:
            continue
        points = metric._replace(points=metric.points[region.cities])
        if in_parts:
            swept = _sweep(points, region.tour, region.partner(), run, size, random, breed, lambda _: None)
            bred = None if swept is region.tour else swept
        else:
            bred = breed(points, region)
        if bred is not None:
            tour = spliced(tour, position, region, bred)
            tell(tour)
    return tour


def cells(points: NDArray[np.float64], size: int, random: np.random.Generator) -> Iterator[NDArray[np.int32]]:
    """The cities in rectangles of at most `size` cities, cut at random angles and near the middle; in random order."""
    angle = random.uniform(0.0, np.pi)
    turned = points[:, :2] @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    waiting, found = [np.arange(len(points), dtype=np.int32)], []
    while waiting:
        cell = waiting.pop()
        if len(cell) <= size:
            found.append(cell)
            continue
        axis = int(np.argmax(np.ptp(turned[cell], axis=0)))
        cut = int(len(cell) * random.uniform(0.4, 0.6))
        order = np.argpartition(turned[cell, axis], cut)
        waiting += [cell[order[:cut]], cell[order[cut:]]]
    for which in random.permutation(len(found)):
        yield found[which]


def region_of(
    tour: NDArray[np.int32], position: NDArray[np.int32], cell: NDArray[np.int32], partner: NDArray[np.int32]
) -> Region:
    """The region of a cell's cities, without those that stand alone between two paths outside: they go with these."""
    at = np.sort(position[cell])
    leaves = np.diff(at, append=at[0] + len(tour)) != 1
    leaves |= partner[tour[at]] == tour[(at + 1) % len(tour)]
    stays = ~(leaves & np.roll(leaves, 1))
    at, leaves = at[stays], leaves[stays]
    cities = np.sort(tour[at])
    numbers = np.searchsorted(cities, tour[at]).astype(np.int32)
    return Region(cities, numbers, np.flatnonzero(leaves).astype(np.int32))


def spliced(
    tour: NDArray[np.int32], position: NDArray[np.int32], region: Region, bred: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The whole tour with the region's cities in the order of `bred`, a tour of the region with all its bonds."""
    m, following = len(bred), np.roll(bred, -1)
    begins, ends = np.full(m, -1), np.full(m, -2)  # of a region's city, the bond that begins or ends there in the old tour
    begins[region.tour[region.bonds]] = np.arange(len(region.bonds))
    ends[region.tour[(region.bonds + 1) % m]] = np.arange(len(region.bonds))
    ahead = begins[bred] == ends[following]
    at = position[region.cities[region.tour]]
    whole, parts, done = region.cities[bred], [], 0
    for k in np.flatnonzero(ahead | (ends[bred] == begins[following])).tolist():
        bond = region.bonds[begins[bred[k]] if ahead[k] else ends[bred[k]]]
        first, last = at[bond] + 1, at[(bond + 1) % m]
        path = tour[first:last] if first <= last else np.concatenate([tour[first:], tour[:last]])
        parts += [whole[done : k + 1], path if ahead[k] else path[::-1]]
        done = k + 1
    return np.concatenate([*parts, whole[done:]])


def _bred(points: Metric, region: Region, run: Run, population: int, per_quadrant: int) -> NDArray[np.int32] | None:
    """The best tour of the region that an epoch finds; None where it is no better, or lacks a bond."""
    breeding = _RegionBreeding(points, region, run, per_quadrant)
    before = breeding.length_of(region.tour)
    epoch(breeding, population)
    found = breeding.best_tour
    if breeding.best >= before - breeding.least or not _has_bonds(region, found):
        return None
    return found


def _has_bonds(region: Region, found: NDArray[np.int32]) -> bool:
    m = len(found)
    place = np.empty(m, np.int64)
    place[found] = np.arange(m)
    apart = np.abs(place[region.tour[region.bonds]] - place[region.tour[(region.bonds + 1) % m]])
    return bool(((apart == 1) | (apart == m - 1)).all())


class _RegionBreeding(Breeding):
    """A Breeding of one region, which begins with the region's present tour and reports nothing itself."""

    def __init__(self, points: Metric, region: Region, run: Run, per_quadrant: int) -> None:
        partner = region.partner()
        near, lengths = near_points(points, _CANDIDATES, per_quadrant)
        own, least = bonded(points, partner), 1e-10 * float(lengths.mean()) or 1e-12
        near[partner >= 0, 1:] = near[partner >= 0, :-1]  # the bond comes first; where it was listed, it stands there twice
        lengths[partner >= 0, 1:] = lengths[partner >= 0, :-1]
        near[partner >= 0, 0], lengths[partner >= 0, 0] = partner[partner >= 0], own.matrix[0, 1]
        self.set_up(run, np.arange(len(partner), dtype=np.int32), own, near, lengths, least)
        self.waiting = [region.tour]

    def report(self, only_when_due: bool = False) -> None:
        """The whole tour's business."""
