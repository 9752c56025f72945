"""The relaxation of a path: trees are the cheapest, the bound is one, shares and alphas are what they say."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from corl.problems.tsp.remaining_tree import branch, new_relaxation, relax


def relaxed(cities, seed, steps=100, free=False):
    """A relaxation over random cities, then origin and destination (and an outside at 0.3 from all)."""
    points = np.random.default_rng(seed).random((cities + 2, 2))
    nodes = cities + 3 if free else cities + 2
    cost = np.full((nodes, nodes), 0.3)
    cost[: cities + 2, : cities + 2] = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    np.fill_diagonal(cost, 0.0)
    apart = cost.copy()
    apart[cities, cities + 1] = apart[cities + 1, cities] = 100.0
    work = new_relaxation(nodes)
    work.cost[:] = apart
    return work, cost, relax(work, nodes, cities, free, steps, 0.05)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_below_the_shortest_path_and_close(seed):
    """Never above the shortest path through 6 cities, by brute force, and within 10 % of it."""
    _, cost, bound = relaxed(6, seed)
    ways = [(6, *order, 7) for order in permutations(range(6))]
    best = min(sum(cost[a, b] for a, b in pairwise(way)) for way in ways)
    assert 0.9 * best < bound <= best * (1 + 1e-12)


@pytest.mark.parametrize("free", [False, True])
def test_the_last_tree_is_a_cheapest_one(free):
    """Its length by priced costs is that of SciPy's minimum spanning tree."""
    work, _, _ = relaxed(12, 3, free=free)
    nodes = len(work.price)
    priced = work.cost + work.price[:, None] + work.price[None]
    shift = 1.0 - priced.min()  # SciPy takes zeros for missing edges
    tree = minimum_spanning_tree(np.triu(priced + shift, 1))
    own = sum(priced[i, work.parent[i]] for i in work.order[1:nodes])
    assert own == pytest.approx(tree.sum() - shift * (nodes - 1), abs=1e-9)


def test_shares_are_those_of_trees():
    """Shares lie in 0..1, are symmetric, and add up to the edges of one tree."""
    work, _, _ = relaxed(12, 4, free=True)
    assert work.share.min() >= 0.0 and work.share.max() <= 1.0 + 1e-12
    np.testing.assert_array_equal(work.share, work.share.T)
    assert np.triu(work.share, 1).sum() == pytest.approx(len(work.price) - 1)


def test_alphas_are_the_cost_of_forcing_an_edge():
    """Zero on the tree; elsewhere the priced edge less the costliest that it could replace, on the way between its ends."""
    work, _, _ = relaxed(9, 5)
    nodes = len(work.price)
    priced = work.cost + work.price[:, None] + work.price[None]

    def way(i):
        """Nodes from i to the root."""
        return [i] if i == 0 else [i, *way(work.parent[i])]

    for i in range(nodes):
        for j in range(i):
            up, down = way(i), way(j)
            common = set(up) & set(down)
            edges = [n for n in up + down if n not in common]
            costliest = max(priced[n, work.parent[n]] for n in edges)
            assert work.alpha[i, j] == pytest.approx(priced[i, j] - costliest, abs=1e-9)
            assert work.alpha[i, j] >= -1e-9


@pytest.mark.parametrize("seed", range(4))
def test_branches_bound_the_paths_that_begin_so(seed):
    """For every first step: never above the shortest path of 5 cities that begins with it; the work's costs stay."""
    work, cost, _ = relaxed(5, seed)
    before, prices = work.cost.copy(), work.price.copy()
    for to in range(5):
        ways = [(5, to, *order, 6) for order in permutations(set(range(5)) - {to})]
        best = min(sum(cost[a, b] for a, b in pairwise(way)) for way in ways)
        assert branch(work, 7, 5, False, to, 30, 0.05, prices, np.inf) <= best * (1 + 1e-12)
    np.testing.assert_array_equal(work.cost, before)


def test_a_branch_whose_bound_is_high_enough_ends():
    """The first bound above `enough` is returned: no tree follows it, and it is a bound of the branch like the best one."""
    work, _, _ = relaxed(9, 2)
    prices = work.price.copy()
    first = branch(work, 11, 9, False, 4, 1, 0.05, prices, np.inf)
    best = branch(work, 11, 9, False, 4, 40, 0.05, prices, np.inf)
    assert first < best
    assert branch(work, 11, 9, False, 4, 40, 0.05, prices, first - 1e-9) == first
    early = branch(work, 11, 9, False, 4, 40, 0.05, prices, 0.5 * (first + best))
    assert 0.5 * (first + best) < early <= best
