"""Regions of a large tour, each improved by edge assembly crossover while the rest of the tour is fixed.

The cells are Karp's (Math. Oper. Res. 2, 1977); LKH uses sub-problems of a Karp partition.

Outside a region, the tour consists of paths between cities of the region. Each becomes a bond: an edge so cheap that every good
tour of the region contains it. Hence a region is a small symmetric TSP, and a tour of it with all its bonds is a tour of the
whole. A sweep cuts the plane into cells of about equal numbers of cities, each time along other lines, so that edges across a
border of one sweep lie inside a cell of the next.
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
    """[m] their numbers in the whole, ascending."""
    tour: NDArray[np.int32]
    """[m] the region's own numbers in the order of the whole tour."""
    bonds: NDArray[np.int32]
    """[b] positions in `tour` that a bond follows: the whole tour leaves the region there, or has a bond there itself."""

    def partner(self) -> NDArray[np.int32]:
        """Return the city at the other end of each city's bond, int32 [m]; -1 for a city without a bond."""
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
    report: Callable[[NDArray[np.int32]], None],
) -> None:
    """Improve the regions of a tour, round after round, until the run must stop or a round has no region to breed.

    `run.workers` threads work in parallel, each on a different segment of the tour.

    Args:
        metric: Metric of n cities numbered along a space-filling curve; not EXPLICIT.
        tour: int32 [n], the initial tour.
        run: Its limits, seed and workers.
        size: The greatest number of cities in a region.
        population: Tours in the population of a region.
        per_quadrant: Candidate neighbours from each quadrant around a city.
        report: Called with every better tour, int32 [n].
    """
    random = np.random.default_rng([run.seed, 1])
    count = max(run.workers, len(tour) // _PART)
    with ThreadPoolExecutor(max(1, run.workers - 1)) as pool:
        while not run.should_stop:
            each = Round(metric, segments(tour, count, random), random, size, population, per_quadrant)
            helpers = [pool.submit(each.work, run.aside()) for _ in range(run.workers - 1)]
            try:
                each.work(run, report)
            except BaseException:
                run.stop()  # no thread continues for a run that has failed
                raise
            for helper in helpers:
                helper.result()
            tour = each.tour()
            if helpers:
                report(tour)
            if not each.bred:
                return


def segments(tour: NDArray[np.int32], count: int, random: np.random.Generator) -> list[NDArray[np.int32]]:
    """Split the tour at a random city into `count` segments of about equal length, which can be changed independently."""
    return np.array_split(np.roll(tour, -int(random.integers(len(tour)))), count)


class Round:
    """One sweep of each segment, by as many threads as call `work`.

    Regions in different segments may be bred at the same time: a segment remains a path from its first city to its last. Two
    regions of the whole tour may not: each belongs to the outside paths of the other, and changes which ends they connect.
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
        """The number of regions that were large enough to be bred."""

    def tour(self) -> NDArray[np.int32]:
        """Return the current tour: all segments, one after another."""
        return np.concatenate(self._paths)

    def work(self, run: Run, report: Callable[[NDArray[np.int32]], None] | None = None) -> None:
        """Sweep segments until none is left; repeat the last one while other threads work. Call `report` with better tours."""
        mine = -1
        while not run.should_stop and (k := next(self._next)) < len(self._paths):
            mine = k
            self._sweep(k, run, report, lambda: False)
            with self._lock:
                self._swept += 1
        while mine >= 0 and self._busy and not run.should_stop:
            self._sweep(mine, run, report, lambda: not self._busy)

    @property
    def _busy(self) -> bool:
        """Whether a thread still sweeps a segment for the first time."""
        return self._swept < len(self._paths)

    def _sweep(self, k: int, run: Run, report: Callable[[NDArray[np.int32]], None] | None, enough: Callable[[], bool]) -> None:
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
                if report is not None:
                    report(self.tour())


def _opened(tour: NDArray[np.int32], first: int, last: int) -> NDArray[np.int32]:
    """Return a tour in which two cities are neighbours as a path from `first` to `last`."""
    at = int(np.flatnonzero(tour == first)[0])
    return np.roll(tour, -at) if tour[at - 1] == last else np.roll(tour[::-1], at + 1)


def cells(points: NDArray[np.float64], size: int, random: np.random.Generator) -> Iterator[NDArray[np.int32]]:
    """Yield the cities in rectangles of at most `size` cities, cut at random angles near the middle, in random order."""
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
    """Return the region of a cell's cities, without those between two outside paths, which become part of these paths."""
    at = np.sort(position[cell])
    leaves = np.diff(at, append=at[0] + len(tour)) != 1
    leaves |= partner[tour[at]] == tour[(at + 1) % len(tour)]
    stays = ~(leaves & np.roll(leaves, 1))
    at, leaves = at[stays], leaves[stays]
    cities = np.sort(tour[at])
    numbers = np.searchsorted(cities, tour[at]).astype(np.int32)
    return Region(cities, numbers, np.flatnonzero(leaves).astype(np.int32))


def spliced(tour: NDArray[np.int32], position: NDArray[np.int32], region: Region, bred: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the whole tour with the region's cities in the order of `bred`, a tour of the region with all its bonds."""
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
    """Return the best tour of the region that an epoch finds; None if it is not better, or lacks a bond."""
    breeding = _RegionBreeding(points, region, run, per_quadrant)
    before = breeding.length_of(region.tour)
    epoch(breeding, population)
    found = breeding.best_tour
    if breeding.best >= before - breeding.least or not _has_bonds(region, found):
        return None
    return found


def _has_bonds(region: Region, found: NDArray[np.int32]) -> bool:
    """Return whether a tour of the region contains all its bonds."""
    m = len(found)
    place = np.empty(m, np.int64)
    place[found] = np.arange(m)
    apart = np.abs(place[region.tour[region.bonds]] - place[region.tour[(region.bonds + 1) % m]])
    return bool(((apart == 1) | (apart == m - 1)).all())


class _RegionBreeding(Breeding):
    """A Breeding of one region, which begins with the region's current tour and reports nothing."""

    def __init__(self, points: Metric, region: Region, run: Run, per_quadrant: int) -> None:
        partner = region.partner()
        near, lengths = near_points(points, _CANDIDATES, per_quadrant)
        own, least = bonded(points, partner), 1e-10 * float(lengths.mean()) or 1e-12
        near[partner >= 0, 1:] = near[partner >= 0, :-1]  # the bond comes first; if it was listed already, it is listed twice
        lengths[partner >= 0, 1:] = lengths[partner >= 0, :-1]
        near[partner >= 0, 0], lengths[partner >= 0, 0] = partner[partner >= 0], own.matrix[0, 1]
        self.set_up(run, np.arange(len(partner), dtype=np.int32), own, near, lengths, least)
        self.waiting = [region.tour]

    def report(self, only_when_due: bool = False) -> None:
        """Do nothing: the whole tour is reported elsewhere."""
