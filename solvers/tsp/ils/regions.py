"""Regions of a large tour, each improved by edge assembly crossover while the rest of the tour is fixed.

A region is the set of cities in a rectangle of the plane. Outside the region, the tour consists of paths between cities of the
region. Each such path is replaced by a bond: an edge so cheap that every good tour of the region contains it. Hence a region is a
small symmetric TSP, and a tour of the region that contains all bonds gives a tour of the whole instance.

A sweep cuts the plane into cells with about equal numbers of cities (Karp, Math. Oper. Res. 2, 1977; LKH uses such partitions,
too). The lines are random, so that edges across a border in one sweep are inside a cell in the next.
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

_CANDIDATES = 10  # neighbours of a city that a tour of the region may link it to
# A tour has one segment for every _LEAST_SEGMENT cities, but at least one for each worker. The work for a region grows with the
# size of its segment.
_LEAST_SEGMENT = 200_000
_LEAST_REGION = 12  # cities; smaller regions are skipped, as there is little to improve


class Region(NamedTuple):
    """Some cities of a tour. In the region they have the numbers 0..m-1, in the order of their numbers in the whole instance."""

    cities: NDArray[np.int32]
    """[m] the cities' numbers in the whole instance, ascending."""
    tour: NDArray[np.int32]
    """[m] the cities, by their numbers in the region, in the order of the whole tour."""
    bonds: NDArray[np.int32]
    """[b] positions k such that a bond joins tour[k] and the next city of `tour`: the whole tour leaves the region there, or the
    whole tour itself has a bond there (the bond that closes a segment's path, see `Round`)."""

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
    """Improve the regions of a tour, round after round, until the run must stop or no region has enough cities.

    To breed a region is to evolve a population of its tours. `run.workers` threads do so in parallel, each in a different segment
    of the tour.

    Args:
        metric: Metric of n cities numbered along a space-filling curve; not EXPLICIT.
        tour: int32 [n], the initial tour.
        run: The run, whose limits, seed and workers are used.
        size: The greatest number of cities in a region.
        population: The number of tours in the population of a region.
        per_quadrant: Candidate neighbours from each quadrant around a city.
        report: Called with every better tour, int32 [n].
    """
    random = np.random.default_rng([run.seed, 1])
    count = max(run.workers, len(tour) // _LEAST_SEGMENT)
    with ThreadPoolExecutor(max(1, run.workers - 1)) as pool:
        while not run.should_stop:
            current_round = Round(metric, segments(tour, count, random), random, size, population, per_quadrant)
            helpers = [pool.submit(current_round.work, run.sub_run()) for _ in range(run.workers - 1)]
            try:
                current_round.work(run, report)
            except BaseException:
                run.stop()  # otherwise the other threads would continue until the time limit
                raise
            for helper in helpers:
                helper.result()
            tour = current_round.tour()
            if helpers:
                report(tour)
            if not current_round.bred:
                return


def segments(tour: NDArray[np.int32], count: int, random: np.random.Generator) -> list[NDArray[np.int32]]:
    """Split the tour, from a random city on, into `count` paths of about equal length, which can be changed independently."""
    return np.array_split(np.roll(tour, -int(random.integers(len(tour)))), count)


class Round:
    """One sweep of each segment of a tour, by as many threads as call `work`.

    Regions in different segments may be improved at the same time, since a segment remains a path from its first city to its
    last. Two regions of the same segment may not: the cities of one lie on the outside paths of the other, so that a change of
    one region would change which ends the outside paths of the other connect.
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
        """The number of regions so far with enough cities to be improved."""

    def tour(self) -> NDArray[np.int32]:
        """Return the current tour: all segments, one after another."""
        return np.concatenate(self._paths)

    def work(self, run: Run, report: Callable[[NDArray[np.int32]], None] | None = None) -> None:
        """Sweep segments, one after another, until none is left; then sweep the last one again while other threads still sweep.

        Calls `report` with every better tour.
        """
        own = -1
        while not run.should_stop and (k := next(self._next)) < len(self._paths):
            own = k
            self._sweep(k, run, report, lambda: False)
            with self._lock:
                self._swept += 1
        while own >= 0 and self._busy and not run.should_stop:
            self._sweep(own, run, report, lambda: not self._busy)

    @property
    def _busy(self) -> bool:
        """Whether the first sweep of some segment is not complete."""
        return self._swept < len(self._paths)

    def _sweep(self, k: int, run: Run, report: Callable[[NDArray[np.int32]], None] | None, enough: Callable[[], bool]) -> None:
        """Improve each cell of segment k once, in a random order, until `enough()` is true or the run must stop."""
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
            if len(region.cities) < _LEAST_REGION:
                continue
            self.bred += 1
            own = points._replace(points=points.points[region.cities])
            better = _better_tour(own, region, run, self._population, self._per_quadrant)
            if better is not None:
                tour = spliced(tour, position, region, better)
                self._paths[k] = cities[tour if whole else _opened(tour, first, last)]
                if report is not None:
                    report(self.tour())


def _opened(tour: NDArray[np.int32], first: int, last: int) -> NDArray[np.int32]:
    """Return `tour`, in which cities `first` and `last` are neighbours, as a path from `first` to `last`."""
    at = int(np.flatnonzero(tour == first)[0])
    return np.roll(tour, -at) if tour[at - 1] == last else np.roll(tour[::-1], at + 1)


def cells(points: NDArray[np.float64], size: int, random: np.random.Generator) -> Iterator[NDArray[np.int32]]:
    """Yield sets of at most `size` cities, int32, in random order: the plane is turned at random and cut into rectangles.

    A rectangle with more cities is cut across its longer side, at random near its median city.
    """
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
    """Return the region of a cell's cities; a city between two outside paths is left out and joins the two paths.

    Args:
        tour: int32 [n], the whole tour.
        position: int32 [n], the position of each city in `tour`.
        cell: int32 [k], the cities of the cell.
        partner: int32 [n], the other end of each city's bond in the whole tour, -1 for none.
    """
    at = np.sort(position[cell])
    leaves = np.diff(at, append=at[0] + len(tour)) != 1
    leaves |= partner[tour[at]] == tour[(at + 1) % len(tour)]
    stays = ~(leaves & np.roll(leaves, 1))
    at, leaves = at[stays], leaves[stays]
    cities = np.sort(tour[at])
    numbers = np.searchsorted(cities, tour[at]).astype(np.int32)
    return Region(cities, numbers, np.flatnonzero(leaves).astype(np.int32))


def spliced(tour: NDArray[np.int32], position: NDArray[np.int32], region: Region, better: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the whole tour after the region's tour is replaced by `better`, int32 [m], a tour of the region with all its bonds.

    `tour` and `position`, int32 [n], are the old whole tour and the position of each city in it.
    """
    m, following = len(better), np.roll(better, -1)
    # for each city of the region, the bond that begins or ends there in the old tour
    begins, ends = np.full(m, -1), np.full(m, -2)
    begins[region.tour[region.bonds]] = np.arange(len(region.bonds))
    ends[region.tour[(region.bonds + 1) % m]] = np.arange(len(region.bonds))
    ahead = begins[better] == ends[following]
    at = position[region.cities[region.tour]]
    whole, parts, done = region.cities[better], [], 0
    for k in np.flatnonzero(ahead | (ends[better] == begins[following])).tolist():
        bond = region.bonds[begins[better[k]] if ahead[k] else ends[better[k]]]
        first, last = at[bond] + 1, at[(bond + 1) % m]
        path = tour[first:last] if first <= last else np.concatenate([tour[first:], tour[:last]])
        parts += [whole[done : k + 1], path if ahead[k] else path[::-1]]
        done = k + 1
    return np.concatenate([*parts, whole[done:]])


def _better_tour(points: Metric, region: Region, run: Run, population: int, per_quadrant: int) -> NDArray[np.int32] | None:
    """Return the best tour of the region after evolving one population; None if it is not better, or lacks a bond."""
    breeding = _RegionBreeding(points, region, run, per_quadrant)
    before = breeding.length_of(region.tour)
    epoch(breeding, population)
    found = breeding.best_tour
    if breeding.best >= before - breeding.tolerance or not _has_bonds(region, found):
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
        own, tolerance = bonded(points, partner), 1e-10 * float(lengths.mean()) or 1e-12
        near[partner >= 0, 1:] = near[partner >= 0, :-1]  # the bond comes first; its other end may be listed twice
        lengths[partner >= 0, 1:] = lengths[partner >= 0, :-1]
        near[partner >= 0, 0], lengths[partner >= 0, 0] = partner[partner >= 0], own.matrix[0, 1]
        self.set_up(run, np.arange(len(partner), dtype=np.int32), own, near, lengths, tolerance)
        self.waiting = [region.tour]

    def report(self, only_when_due: bool = False) -> None:
        """Do nothing: `improve_regions` reports the whole tour."""
