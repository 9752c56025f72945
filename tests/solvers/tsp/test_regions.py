"""Regions of a tour: cells part the cities, bonds stand for the rest of the tour, and what is bred fits back into the whole."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import corl
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.routing.metric import bonded, distance
from corl.run import Run
from corl.solvers.tsp.ils.regions import Round, cells, improve_regions, region_of, segments, spliced
from corl.solvers.tsp.ils.solver import Ils


def instance_of(n, seed=0, edge_weight_type="EUC_2D"):
    return corl.generate("tsp", "uniform", size=n, seed=seed, edge_weight_type=edge_weight_type)


def places(tour):
    position = np.empty(len(tour), np.int32)
    position[tour] = np.arange(len(tour))
    return position


def region_at(tour, cell):
    return region_of(tour, places(tour), np.asarray(cell, np.int32), np.full(len(tour), -1, np.int32))


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_cells_part_the_cities(size):
    """Each city is in one cell, and none has more than it may."""
    points = metric_of(instance_of(300)).points
    found = list(cells(points, size, np.random.default_rng(1)))
    assert sorted(np.concatenate(found).tolist()) == list(range(300)) and max(map(len, found)) <= size


def test_a_region_by_hand():
    """Of the tour 0..9 the cities 1 2 3 5 7 8: 5 stands alone and goes with the paths outside."""
    region = region_at(np.arange(10, dtype=np.int32), [1, 2, 3, 5, 7, 8])
    assert region.cities.tolist() == [1, 2, 3, 7, 8] and region.cities[region.tour].tolist() == [1, 2, 3, 7, 8]
    assert region.bonds.tolist() == [2, 4]  # 3 - 4 5 6 - 7 and 8 - 9 0 - 1


def test_splicing_by_hand():
    """Bonds may be run through in either direction; the paths outside come along, turned where need be."""
    tour = np.arange(10, dtype=np.int32)
    region = region_at(tour, [1, 2, 3, 5, 7, 8])
    same = spliced(tour, places(tour), region, np.arange(5, dtype=np.int32))
    assert np.roll(same, -int(np.flatnonzero(same == 0)[0])).tolist() == list(range(10))
    turned = spliced(tour, places(tour), region, np.array([1, 0, 4, 3, 2], np.int32))  # 2 1 (0 9) 8 7 (6 5 4) 3
    assert turned.tolist() == [2, 1, 0, 9, 8, 7, 6, 5, 4, 3]


def test_any_tour_with_all_bonds_splices_to_a_tour():
    """Random regions of random tours, and random orders of their runs: the whole tour's length changes as the region's does."""
    instance, random = instance_of(60, 3), np.random.default_rng(3)
    metric = metric_of(instance)
    for _ in range(200):
        tour = random.permutation(60).astype(np.int32)
        region = region_at(tour, random.choice(60, int(random.integers(20, 60)), replace=False))
        m, bonds = len(region.tour), region.bonds
        if not len(bonds):
            continue
        begun = np.roll(region.tour, -int(bonds[-1]) - 1)
        runs = np.split(begun, np.cumsum(np.diff(bonds, prepend=bonds[-1] - m))[:-1])
        bred = np.concatenate([[run[0], *random.permutation(run[1:-1]), run[-1]] for run in runs]).astype(np.int32)
        whole = spliced(tour, places(tour), region, bred)
        partner = region.partner()
        assert (partner >= 0).sum() == 2 * len(bonds)
        own = bonded(metric._replace(points=metric.points[region.cities]), partner)
        lengths = [sum(distance(own, int(a), int(b)) for a, b in zip(t, np.roll(t, -1))) for t in (region.tour, bred)]
        judge = Tsp()
        assert judge.evaluate(instance, whole) - judge.evaluate(instance, tour) == pytest.approx(lengths[1] - lengths[0])


def check_improvement(kind, per_quadrant):
    instance = instance_of(400, 1, kind)
    metric, run, told = metric_of(instance), Run(Tsp(), instance, iterations=3000, seed=2), []
    start = np.asarray(corl.solve(instance, solver="greedy-edge", time_limit=5).solution, np.int32)
    improve_regions(metric, start, run, 150, 10, per_quadrant, told.append)
    lengths = [Tsp().evaluate(instance, tour) for tour in (start, *told)]
    assert len(told) > 3 and (np.diff(lengths) < 0).all()


@pytest.mark.parametrize("kind", ["EUC_2D", "EXACT_2D", "CEIL_2D", "ATT", "MAN_2D", "MAX_2D", "EUC_3D"])
def test_regions_improve_a_tour(kind):
    """Every tour that is told is a better one than the last, whatever the distances."""
    check_improvement(kind, 0)


def test_segments_of_a_tour(monkeypatch):
    """Many cities are taken in segments, one after another: each better tour that is told is one of all cities."""
    from corl.solvers.tsp.ils import regions

    monkeypatch.setattr(regions, "_LEAST_SEGMENT", 120)
    check_improvement("EUC_2D", 2)


def test_segments_part_the_tour():
    """They are the tour from some city on."""
    tour = np.random.default_rng(1).permutation(50).astype(np.int32)
    whole = np.concatenate(pieces := segments(tour, 3, np.random.default_rng(2)))
    assert [len(piece) for piece in pieces] == [17, 17, 16] and whole[0] != tour[0]
    assert np.array_equal(np.roll(whole, int(np.flatnonzero(tour == whole[0])[0])), tour)


@pytest.mark.parametrize("count", [2, 3])
def test_segments_at_once(count):
    """Two threads in different segments: the ends of each stay, its cities too, and the whole becomes shorter."""
    instance = instance_of(400, 7)
    start = np.asarray(corl.solve(instance, solver="greedy-edge", time_limit=5).solution, np.int32)
    run, random = Run(Tsp(), instance, time_limit=60), np.random.default_rng(0)
    before = segments(start, count, random)
    each = Round(metric_of(instance), list(before), random, 100, 10, 0)
    other = threading.Thread(target=each.work, args=(run.sub_run(),))
    other.start()
    each.work(run)
    other.join()
    at = 0
    for piece in before:
        now, at = each.tour()[at : at + len(piece)], at + len(piece)
        assert (now[0], now[-1]) == (piece[0], piece[-1]) and sorted(now) == sorted(piece)
    assert Tsp().evaluate(instance, each.tour()) < Tsp().evaluate(instance, start) and each.bred >= 4


@pytest.mark.chance
def test_workers_share_a_run_with_a_clock():
    """With a time limit regions are bred by threads of one run; with iterations, or without regions, workers are copies."""
    instance = instance_of(600, 8)
    solver = Ils(kicks=0.2, region=150, population=8)
    assert solver.uses_workers(Run(Tsp(), instance, time_limit=1.0, workers=2))
    assert not solver.uses_workers(Run(Tsp(), instance, iterations=100, workers=2))
    assert not Ils().uses_workers(Run(Tsp(), instance, time_limit=1.0, workers=2))
    result = corl.solve(instance, solver="ils", kicks=0.2, region=150, population=8, time_limit=1.0, workers=2)
    assert result.limit == "time_limit" and result.runtime < 1.2
    alone = corl.solve(instance, solver="ils", kicks=0.2, region=150, population=8, iterations=4000, workers=2)
    assert np.array_equal(
        alone.solution,
        corl.solve(instance, solver="ils", kicks=0.2, region=150, population=8, iterations=4000, workers=2).solution,
    )


def test_bonds_of_the_whole_stay():
    """A bond between neighbours of the tour, both in the cell, is one of the region's."""
    tour, partner = np.arange(20, dtype=np.int32), np.full(20, -1, np.int32)
    partner[4], partner[5] = 5, 4
    region = region_of(tour, tour, np.arange(2, 9, dtype=np.int32), partner)
    assert region.cities.tolist() == list(range(2, 9)) and region.bonds.tolist() == [2, 6]
    assert sorted(spliced(tour, places(tour), region, np.array([0, 1, 2, 3, 4, 5, 6], np.int32)).tolist()) == list(range(20))


def test_regions_in_the_solver():
    """A share of kicks, then regions: the same seed and iterations are the same bits, and duplicates of cities do no harm."""
    instance = instance_of(500, 5)
    doubled = corl.problem("tsp").adapt(np.concatenate([np.random.default_rng(0).random((150, 2))] * 3))
    for each in (instance, doubled):
        options = {"solver": "ils", "kicks": 0.4, "region": 120, "population": 8, "iterations": 3000, "seed": 4}
        first, second = corl.solve(each, **options), corl.solve(each, **options)
        assert np.array_equal(first.solution, second.solution) and first.limit == "iterations"
    few = corl.solve(instance_of(11), solver="ils", kicks=0.4, iterations=500, bound=False)
    assert few.limit == "finished"  # too few cities for a region: it ends all the same


@pytest.mark.chance
def test_regions_end_with_the_time():
    """A share of kicks, then regions, while the clock runs."""
    short = corl.solve(instance_of(500, 5), solver="ils", kicks=0.5, region=100, time_limit=0.5)
    assert short.limit == "time_limit" and short.runtime < 1.5


def test_what_is_clustered():
    """The challenge's clustered cities are, and few clusters; uniform ones are not, nor is a grid."""
    from corl.solvers.tsp.tours.renumbering import Renumbered, is_clustered

    grid = np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), -1).reshape(-1, 2)
    for instance, told in (
        (corl.generate("tsp", "portcgen", size=2000), True),
        (corl.generate("tsp", "clustered", size=3000, clusters=5), True),
        (instance_of(1500), False),
        (corl.problem("tsp").adapt(grid), False),
        (corl.problem("tsp").adapt([[0.0, 0.0]] * 4), False),
    ):
        assert is_clustered(Renumbered(instance).metric) == told
