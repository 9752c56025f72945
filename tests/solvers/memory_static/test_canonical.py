"""The tree of canonical allocations by itself: it finds what is within a capacity, and proves what is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corl.problems.memory_static.generators import peaks
from corl.problems.memory_static.instance import make_instance
from corl.problems.memory_static.problem import StaticAllocation
from corl.solvers.memory_static.branch_and_bound.canonical import advance, restart
from corl.solvers.memory_static.branch_and_bound.canonical_state import by_load, new_tree, set_ranks
from corl.solvers.memory_static.branch_and_bound.sections import FOUND, FULL, NONE

STATIC = StaticAllocation()
KINDS = ("plain", "aligned", "fixed")


def searched(instance, capacity: int, leading: int, seed: int):
    """(status, offsets) of a search to its end, buffers ranked at random."""
    chosen = np.flatnonzero(instance.size > 0)
    tree = new_tree(instance, chosen)
    set_ranks(tree, np.random.default_rng(seed).permutation(len(chosen)))
    if not len(chosen) or not restart(tree, capacity):
        return NONE if len(chosen) else FOUND, np.maximum(instance.fixed, 0)
    status, _ = advance(tree, 10**6, capacity, leading)
    offsets = np.maximum(instance.fixed, 0)
    offsets[chosen] = tree.offset
    return status, offsets


@pytest.mark.parametrize("kind", KINDS)
def test_exact_beside_enumeration(random_instance, lowest, kind):
    """The lowest height is found, and one below is proven to be out of reach, whatever the ranks."""
    for seed in range(6):
        instance = random_instance(4 + seed % 3, seed, kind)
        if (instance.fixed[instance.size == 0] > 0).any():
            continue  # what takes nothing is not searched for, but its offset is a height
        best = lowest(instance)
        for leading in (0, 1):
            status, offsets = searched(instance, best, leading, seed)
            assert status == FOUND and STATIC.evaluate(instance, offsets) <= best, (seed, kind)
            assert best == 0 or searched(instance, best - 1, leading, seed)[0] == NONE, (seed, kind)


def test_sections_are_the_largest_sets():
    """Each section is a set of buffers that are alive together, none within another, and every such set is there."""
    random = np.random.default_rng(0)
    for _ in range(300):
        n = int(random.integers(1, 9))
        lower = random.integers(0, 10, n)
        upper = lower + random.integers(1, 6, n)
        tree = new_tree(make_instance("", lower, upper, np.ones(n, np.int64)), np.arange(n))
        alive = [frozenset(np.flatnonzero((lower <= t) & (t < upper)).tolist()) for t in range(16)]
        largest = {some for some in alive if some and not any(some < other for other in alive)}
        sets = [frozenset(tree.member[a:b].tolist()) for a, b in itertools.pairwise(tree.start)]
        assert len(sets) == len(largest) and set(sets) == largest
        for b in range(n):
            neighbours = tree.neighbours[tree.neighbours_start[b] : tree.neighbours_start[b + 1]].tolist()
            together = (lower < upper[b]) & (lower[b] < upper)
            assert sorted(neighbours) == [q for q in np.flatnonzero(together) if q != b]


def test_twins():
    """Identical buffers are distinguished from others by sections, size, alignment, and whether it is fixed."""
    instance = make_instance(
        "",
        [0, 0, 0, 0, 0, 1, 0],
        [3] * 7,
        [2, 2, 3, 2, 2, 2, 2],
        alignment=[1, 1, 1, 2, 1, 1, 1],
        fixed=[-1, -1, -1, -1, 8, -1, -1],
    )
    tree = new_tree(instance, np.arange(7))
    assert tree.twin.tolist() == [-1, 0, -1, -1, -1, 1, 5]
    set_ranks(tree, np.array([6, 2, 0, 1, 3, 4, 5]))
    assert tree.rank.tolist() == [2, 4, 0, 1, 3, 5, 6]


def test_by_load_sorts():
    """By key, then by rank."""
    random = np.random.default_rng(1)
    key, rank = random.integers(0, 5, 200), random.permutation(200)
    listed = random.permutation(200)[:150].astype(np.int32)
    wanted = sorted(listed.tolist(), key=lambda b: (key[b], rank[b]))
    by_load(listed, key, rank)
    assert listed.tolist() == wanted


def test_short_arrays_are_told():
    """Where there is no room for a node the search says so, and nothing is written out of bounds."""
    instance = peaks(size=60, seed=1)
    tree = new_tree(instance, np.arange(60))
    tree = tree._replace(choice=tree.choice[:70].copy())
    assert restart(tree, 2**20)
    status, visited = advance(tree, 10**6, 2**20, 0)
    assert status == FULL and visited >= 1
