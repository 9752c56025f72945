"""Regions of a large tour, each bred by edge assembly crossover while the rest of the tour stays (Karp's cells, Math. Oper.
Res. 2, 1977; sub-problems by a Karp partition are LKH's).

What the tour does outside a region is a set of paths between cities of the region. Each becomes a bond: an edge so cheap that
every good tour of the region has it. So a region is a small symmetric TSP, and any tour of it with all its bonds is one of the
whole. A sweep cuts the plane into cells of about equal numbers of cities, each time along other lines, so that what one sweep
could not change across a border lies inside a cell of the next.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.metric import Metric
from corl.routing.metric import bonded
from corl.run import Run
from corl.solvers.tsp.eax.breeding import Breeding
from corl.solvers.tsp.eax.solver import epoch
from corl.solvers.tsp.neighbours.candidates import near_points

__all__ = ["Region", "Round", "cells", "improve_regions", "region_of", "segments", "spliced"]

_CANDIDATES = 10
_PART = 200_000  # cities of a segment, at least: a region costs O(n) of its segment
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
    """Round after round until the run must stop, or one finds no region to breed: those of up to `size` cities are bred, and
    `tell` hears of every better tour. `run.workers` threads do it, each with a segment of the tour of its own.

    metric: of cities numbered along a space-filling curve; not EXPLICIT. tour: int32 [n]. per_quadrant: so many candidate
    neighbours from each quadrant around a city.
    """
    random = np.random.default_rng([run.seed, 1])
    count = max(run.workers, len(tour) // _PART)
    with ThreadPoolExecutor(max(1, run.workers - 1)) as pool:
        while not run.should_stop:
            each = Round(metric, segments(tour, count, random), random, size, population, per_quadrant)
            helpers = [pool.submit(each.work, run.aside()) for _ in range(run.workers - 1)]
            try:
                each.work(run, tell)
            except BaseException:
                run.stop()  # nobody breeds on for a run that has failed
                raise
            for helper in helpers:
                helper.result()
            tour = each.tour()
            if helpers:
                tell(tour)
            if not each.bred:
                return


def segments(tour: NDArray[np.int32], count: int, random: np.random.Generator) -> list[NDArray[np.int32]]:
    """The tour from a random city on in `count` pieces of about equal length; it may change in all of them at once."""
    return np.array_split(np.roll(tour, -int(random.integers(len(tour)))), count)


class Round:
    """One sweep of each segment, by as many threads as call `work`.

    Regions in different segments may be bred at once: whatever becomes of one segment, it is a path from its first city to its
    last. Regions of the whole tour could not: to each the other is part of the paths outside, whose ends the other exchanges.
    """

    def __init__(
        self,
        metric: Metric,
        paths: list[NDArray[np.int32]],
        random: np.random.Generator,
        size: int,
        population: int,
        per_quadrant: int,
    ) -> None:
        self._metric, self._paths, self._size = metric, paths, size
        self._population, self._per_quadrant = population, per_quadrant
        self._randoms = random.spawn(len(paths))
        self._next, self._lock, self._swept = itertools.count(), threading.Lock(), 0
        self.bred = 0
        """How many regions were large enough to be bred."""

    def tour(self) -> NDArray[np.int32]:
        """The segments as they are now, one after another."""
        return np.concatenate(self._paths)

    def work(self, run: Run, tell: Callable[[NDArray[np.int32]], None] | None = None) -> None:
        """Sweep segments until none is left, and the last one again while others are busy. `tell` hears of better tours."""
        mine = -1
        while not run.should_stop and (k := next(self._next)) < len(self._paths):
            mine = k
            self._sweep(k, run, tell, lambda: False)
            with self._lock:
                self._swept += 1
        while mine >= 0 and self._busy and not run.should_stop:
            self._sweep(mine, run, tell, lambda: not self._busy)

    @property
    def _busy(self) -> bool:
        return self._swept < len(self._paths)

    def _sweep(self, k: int, run: Run, tell: Callable[[NDArray[np.int32]], None] | None, enough: Callable[[], bool]) -> None:
        """Breed each cell of segment k once, in a random order."""
        path, whole = self._paths[k], len(self._paths) == 1
        cities = np.sort(path)
        tour, partner = np.searchsorted(cities, path).astype(np.int32), np.full(len(path), -1, np.int32)
        first, last = tour[0], tour[-1]
        if not whole:
            partner[first], partner[last] = last, first
        points, position = self._metric._replace(points=self._metric.points[cities]), np.empty_like(tour)
        for cell in cells(points.points, self._size, self._randoms[k]):
            if run.should_stop or enough():
                break
            position[tour] = np.arange(len(tour), dtype=np.int32)
            region = region_of(tour, position, cell, partner)
            if len(region.cities) < _LEAST_CITIES:
                continue
            self.bred += 1
            own = points._replace(points=points.points[region.cities])
            bred = _bred(own, region, run, self._population, self._per_quadrant)
            if bred is not None:
                tour = spliced(tour, position, region, bred)
                self._paths[k] = cities[tour if whole else _opened(tour, first, last)]
                if tell is not None:
                    tell(self.tour())


def _opened(tour: NDArray[np.int32], first: int, last: int) -> NDArray[np.int32]:
    """A tour in which the two cities are neighbours, as a path from the one to the other."""
    at = int(np.flatnonzero(tour == first)[0])
    return np.roll(tour, -at) if tour[at - 1] == last else np.roll(tour[::-1], at + 1)


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


def spliced(tour: NDArray[np.int32], position: NDArray[np.int32], region: Region, bred: NDArray[np.int32]) -> NDArray[np.int32]:
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
