"""Branch and bound: optimal beside enumeration, proofs of infeasibility, the challenging shapes, the same bits for a seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.problems.memory_static.generators import large, tiled
from corl.problems.memory_static.instance import make_instance
from corl.problems.memory_static.problem import StaticAllocation
from corl.solvers.memory_static.branch_and_bound.restarts import Restarts

STATIC = StaticAllocation()
KINDS = ("plain", "aligned", "fixed")


def exhausted(instance, bound: int, ceiling: int) -> int:
    """The lowest height by the tree alone, searched until nothing is left to find."""
    tree = Restarts(instance, 1, bound, ceiling)
    while tree.bound <= tree.ceiling:
        if (offsets := tree.search(1000)) is not None:
            assert STATIC.evaluate(instance, offsets) == tree.ceiling + 1
    return tree.ceiling + 1


def test_the_tree_alone_is_exact(random_instance, lowest):
    """From a bound of nothing it proves and finds the lowest height, by enumeration, with alignments and fixed offsets."""
    for seed, kind in itertools.product(range(9), KINDS):
        instance = random_instance(4 + seed % 2, seed, kind)
        assert exhausted(instance, 0, 60) == lowest(instance), (seed, kind)


@pytest.mark.parametrize("seeds", [2, pytest.param(5, marks=pytest.mark.long)])
def test_what_is_out_of_reach_is_proven(random_instance, lowest, seeds):
    """One below the lowest height is infeasible, in words; the lowest height itself is met."""
    seen = 0
    for seed, kind in itertools.product(range(seeds), KINDS):
        instance, options = random_instance(6, seed, kind), {"solver": "branch-and-bound", "iterations": 10**5}
        best = lowest(instance)
        met = corl.solve(instance, capacity=best, **options)
        assert met.objective == best
        if best:
            missed = corl.solve(instance, capacity=best - 1, **options)
            assert missed.status == "infeasible" and missed.reason
            seen += "search has shown" in missed.reason
        whole = corl.solve(instance, **options)
        assert whole.status == "optimal" and whole.objective == best == whole.bound
    assert seen >= 1


def test_short_arrays_grow():
    """A search whose arrays are too short begins again with longer ones, and finds the same; of both kinds."""
    instance = tiled(size=40, seed=3)
    for kind in (True, False):
        tree = Restarts(instance, 0, 2**20, 2**20)
        if kind:
            tree.trees[True] = tree.trees[True]._replace(choice=tree.trees[True].choice[:50].copy())
        else:
            full = tree.trees[False]
            tree.trees[False] = full._replace(frame=full.frame[:6].copy(), choice=full.choice[:60].copy())
            tree.canonical = []
        offsets = None
        for _ in range(200):
            offsets = tree.search(1000)
            if offsets is not None:
                break
        assert tree.rooms[kind] > 1 and STATIC.evaluate(instance, offsets) == 2**20


@pytest.mark.parametrize("seed", range(3))
def test_full_rectangles_are_filled(seed):
    """Cut rectangles of 70 buffers are put together again: a proof, because the height is the load."""
    result = corl.solve(tiled(size=70, seed=seed), solver="branch-and-bound", iterations=300_000)
    assert result.status == "optimal" and result.objective == 2**20


def test_chunks_change_nothing():
    """With iterations a seed gives the same bits, whatever the size of the grants."""
    instance = tiled(size=60, seed=5)
    trees = [Restarts(instance, 3, 2**20, 2**20) for _ in range(2)]
    whole, parts, left = trees[0].search(5000), None, 5000
    while parts is None and left > 0:
        parts, left = trees[1].search(min(7, left)), left - 7
    assert (whole is None) == (parts is None)
    assert trees[0].count == trees[1].count
    for kind in (True, False):
        assert np.array_equal(trees[0].trees[kind].offset, trees[1].trees[kind].offset)


def test_limits_of_size_and_options():
    """What is too large is refused with the reason; options are named."""
    with pytest.raises(UsageError, match="sections in all"):
        corl.solve(large(size=30_000, seed=1), solver="branch-and-bound")
    for option in ({"capacity": -1}, {"fitting": -1}):
        with pytest.raises(UsageError, match=f"{next(iter(option))} is .*accepted"):
            corl.solve(tiled(size=5), solver="branch-and-bound", **option)


def test_empty_buffers():
    """Buffers of size 0 take nothing: alone, beside others, and at offsets that are fixed."""
    assert corl.solve(make_instance("", [0], [1], [0]), solver="branch-and-bound", iterations=10).objective == 0
    mixed = make_instance("", [0, 0, 0], [2, 2, 2], [0, 3, 0], fixed=[-1, -1, 2])
    result = corl.solve(mixed, solver="branch-and-bound", iterations=1000)
    assert result.status == "optimal" and result.objective == 3


@pytest.mark.parametrize("name", ["A", "F", "K"])
def test_challenging_instances(data, name):
    """Some of minimalloc's challenging set, within its capacity; nodes are counted, so that the machine does not matter."""
    file = data / "memory" / "minimalloc" / f"{name}.1048576.csv"
    result = corl.solve(file, solver="branch-and-bound", capacity=2**20, iterations=200_000)
    assert result.verified and result.objective <= 2**20


def test_auto():
    """branch-and-bound, but for what is too large for it."""
    from corl.solvers.memory_static.auto import choose

    assert choose(tiled(size=20), 1.0, None) == "branch-and-bound"
    assert choose(large(size=30_000, seed=1), None, 5) == "first-fit"
