"""Best fit over many buffers: each pass does what its rule says, and what comes of it is an allocation near the load."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import corl
from corl.problems.memory_static.generators import large, peaks
from corl.problems.memory_static.instance import make_instance, sections
from corl.problems.memory_static.problem import StaticAllocation
from corl.solvers.memory_static.best_fit_kernels import HEIGHT, UNPLACED, advance, new_niches

STATIC = StaticAllocation()


def passed(instance, chunk: int, noise=None) -> np.ndarray:
    """The offsets of one pass, advanced by so many steps at a time."""
    chosen = np.flatnonzero(instance.size > 0)
    niches = new_niches(instance, sections(instance), chosen, noise)
    while niches.at[UNPLACED] > 0:
        assert advance(niches, chunk, 2**60)
    offsets = np.zeros(instance.n, np.int64)
    offsets[chosen] = niches.offset
    assert niches.at[HEIGHT] == STATIC.evaluate(instance, offsets)
    return offsets


@pytest.mark.parametrize("seeds", [3, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["plain", "aligned"])
def test_tiny_passes_are_allocations(random_instance, lowest, kind, seeds):
    """Beside enumeration: never below the lowest height, in most cases on it, and the same for chunks of any size."""
    reached = count = 0
    for n, seed in itertools.product((3, 5, 6), range(seeds)):
        instance = random_instance(n, seed, kind)
        if not instance.size.any():
            continue
        offsets = passed(instance, 1)
        assert np.array_equal(offsets, passed(instance, 1000))
        best, height = lowest(instance), STATIC.evaluate(instance, offsets)
        assert height >= best
        reached, count = reached + (height == best), count + 1
    assert reached > count / 2


def test_every_buffer_lies_on_what_holds_it():
    """Without alignments: on 0, or at a level at which another ends, of a neighbour where a niche rose to it."""
    instance = peaks(size=300, seed=1)
    offsets = passed(instance, 7)
    ends = {0, *(offsets + instance.size).tolist()}
    assert set(offsets.tolist()) <= ends
    assert (offsets == 0).any()


def test_noise_makes_other_allocations():
    """Lifetimes with noise lead to another pass, an allocation as well."""
    instance = large(size=2000, seed=2)
    noise = np.exp(0.2 * np.random.default_rng(0).standard_normal(2000))
    assert not np.array_equal(passed(instance, 100), passed(instance, 100, noise))


def test_a_pass_ends_at_the_ceiling():
    """Nothing is placed above the ceiling: the pass is told to be over, at the height that is reached or before it."""
    instance = large(size=500, seed=1)
    chosen = np.arange(500)
    height = STATIC.evaluate(instance, passed(instance, 10))
    assert advance(new_niches(instance, sections(instance), chosen), 10**6, height)
    assert not advance(new_niches(instance, sections(instance), chosen), 10**6, height - 1)


def test_thousands_of_buffers_are_near_the_load():
    """Both solvers begin with it, beyond 5,000 buffers; a seed gives the same bits; nothing above a capacity is reported."""
    instance = large(size=6000, seed=1)
    runs = [corl.solve(instance, solver="first-fit", iterations=30_000, seed=3) for _ in range(2)]
    assert np.array_equal(runs[0].solution, runs[1].solution) and runs[0].gap <= 0.08
    within = corl.solve(instance, solver="first-fit", iterations=30_000, capacity=int(1.1 * runs[0].bound))
    assert within.objective <= 1.1 * runs[0].bound
    assert corl.solve(instance, solver="first-fit", iterations=30_000, capacity=int(runs[0].bound)).objective is None


def test_fixed_buffers_are_kept():
    """Where one is fixed first fit does it all, and the offset holds."""
    plain = large(size=6000, seed=1)
    fixed = np.full(6000, -1)
    fixed[17] = 12345
    instance = make_instance("", plain.lower, plain.upper, plain.size, fixed=fixed)
    assert corl.solve(instance, solver="first-fit", iterations=20_000).solution[17] == 12345
