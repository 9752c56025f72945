"""2-opt, or-opt and polishing: what they keep, what they reach, and that the path's links and sums agree afterwards."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from corl.problems.orienteering.evaluation import path_length
from corl.rng import random_state
from corl.solvers.orienteering.ruin.path import LENGTH, SCORE, insert, new_path
from corl.solvers.orienteering.ruin.polishing import polish
from corl.solvers.orienteering.ruin.search import new_search
from corl.solvers.orienteering.ruin.shortening import shorten
from corl.solvers.orienteering.ruin.space import Space

KINDS = ("EUC_2D", "EXACT_2D", "GEO", "EXPLICIT")


def _search(space, nodes):
    """A search whose path visits the nodes, numbers of the space, in this order."""
    path, previous = new_path(space.metric, space.scores, space.n + 2), 0
    for node in nodes:
        insert(path, node, previous)
        previous = node
    return new_search(path, space.neighbours(12), random_state(1))


def _shorten(search):
    return shorten(search.path, search.neighbours, search.lengths, search.order)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_nodes_on_a_shorter_path(random_instance, kind, closed):
    """The gain is the change of the length, the links agree in both directions, and the ends stay."""
    for seed in range(8):
        instance = random_instance(40, kind, seed, closed)
        space, random = Space(instance), np.random.default_rng(seed)
        search = _search(space, random.permutation(np.arange(1, space.n - 1))[: 2 * space.n // 3])
        path = search.path
        before, visited = path.sums.copy(), path.on.copy()
        gain = _shorten(search)
        assert gain == pytest.approx(before[LENGTH] - path.sums[LENGTH]) and gain >= 0.0
        nodes = space.path(path.after)
        assert (nodes[0], nodes[-1]) == (instance.start, instance.end)
        assert path.sums[LENGTH] == pytest.approx(path_length(instance, nodes)) and path.sums[SCORE] == before[SCORE]
        assert np.array_equal(np.sort(nodes), np.sort(space.nodes[visited])) and np.array_equal(path.on, visited)
        inner = np.flatnonzero(visited)[:-1]
        assert np.array_equal(path.before[path.after[inner]], inner)
        assert not search.order.waits.any()


def test_few_nodes_in_the_best_order(random_instance):
    """Four nodes between the ends, in any order: 2-opt and or-opt find the shortest path in nearly all cases."""
    found = []
    for seed in range(12):
        instance = replace(random_instance(6, "EXACT_2D", seed, closed=False), scores=np.ones(6), limit=100.0)
        space = Space(instance)
        orders = itertools.permutations(range(1, 5))
        least = min(path_length(instance, space.nodes[[0, *order, 5]]) for order in orders)
        for order in ((1, 2, 3, 4), (4, 2, 1, 3), (3, 1, 4, 2)):
            search = _search(space, order)
            _shorten(search)
            assert search.path.sums[LENGTH] >= least - 1e-9
            found.append(search.path.sums[LENGTH] == pytest.approx(least))
    assert np.mean(found) > 0.8


def test_a_path_that_crosses_itself():
    """Two crossing edges of a square are replaced."""
    from corl.problems.orienteering.instance import OrienteeringInstance
    from corl.problems.tsp.instance import TspInstance

    points = np.array([[0.0, 0.0], [4.0, 4.0], [4.0, 0.0], [0.0, 4.0]])
    instance = OrienteeringInstance(TspInstance("square", "EXACT_2D", points), np.ones(4), 20.0, 0, 0)
    search = _search(Space(instance), (1, 2, 3))
    assert _shorten(search) == pytest.approx(8 * 2**0.5 - 8) and search.path.sums[LENGTH] == 16.0
    assert _shorten(search) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_polishing_adds_what_fits(random_instance, kind):
    """Up to four nodes are added within the limit, none is lost, and some are added if the path is a shortest one."""
    added = 0
    for seed in range(10):
        instance = random_instance(30, kind, seed, closed=seed % 2 == 0)
        space = Space(instance)
        if space.n < 4:
            continue
        search = _search(space, ())
        before = search.path.on.copy()
        polish(search, space.limit)
        path = search.path
        assert (path.on >= before).all() and path.on.sum() - before.sum() <= 4 and path.noted[0] <= 1
        nodes = space.path(path.after)
        assert len(nodes) == path.on.sum() and path.sums[LENGTH] == pytest.approx(path_length(instance, nodes))
        assert path.sums[LENGTH] <= space.limit and path.sums[SCORE] == pytest.approx(space.scores[path.on].sum())
        added += path.on.sum() - before.sum()
    assert added > 10
