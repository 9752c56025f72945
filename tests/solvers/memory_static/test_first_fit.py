"""First fit: allocations, bounds, capacities, and the same bits for a seed."""

from __future__ import annotations

import itertools
from typing import get_args, get_type_hints

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.problems.memory_static.generators import large, network, peaks
from corl.problems.memory_static.instance import make_instance, sections
from corl.solvers.memory_static.first_fit.kernels import max_loads, orders
from corl.solvers.memory_static.first_fit.solver import FirstFit


def test_small_instances_are_solved(random_instance, lowest):
    """Beside enumeration, with alignments and fixed offsets: never below the lowest height, never a wrong bound, mostly there."""
    reached = 0
    for seed, kind in itertools.product(range(6), ("plain", "aligned", "fixed")):
        instance = random_instance(5, seed, kind)
        result = corl.solve(instance, solver="first-fit", iterations=3000)
        assert result.bound <= lowest(instance) <= result.objective
        reached += lowest(instance) == result.objective
    assert reached >= 16


def test_rules(random_instance):
    """Every rule is an order of all buffers; one alone is never better than all."""
    instance = peaks(size=60, seed=3)
    assert {"all", *orders(instance)} == set(get_args(get_type_hints(FirstFit)["order"]))
    whole = corl.solve(instance, solver="first-fit", passes=6).objective
    for rule, order in orders(instance).items():
        assert sorted(order.tolist()) == list(range(60))
        assert corl.solve(instance, solver="first-fit", passes=1, order=rule).objective >= whole


def test_max_loads_are_maxima():
    """The table of maxima agrees with maxima."""
    random = np.random.default_rng(0)
    load = random.integers(0, 99, 37)
    first = random.integers(0, 37, 50)
    last = np.minimum(37, first + random.integers(1, 38, 50))
    out = np.zeros(50, np.int64)
    max_loads(first, last, load, out)
    assert out.tolist() == [load[a:b].max() for a, b in zip(first, last)]


def test_passes_improve_and_repeat():
    """With iterations a seed gives the same bits; what does not fit, placed earlier, gives lower heights."""
    instance = peaks(size=120, seed=1)
    first = corl.solve(instance, solver="first-fit", passes=6)
    runs = [corl.solve(instance, solver="first-fit", iterations=40_000, seed=5) for _ in range(2)]
    assert np.array_equal(runs[0].solution, runs[1].solution) and runs[0].objective < first.objective


def test_capacity():
    """The first allocation within it ends the run; what cannot be is infeasible, with the reason; else nothing is found."""
    instance = network(layers=20, seed=2)
    best = corl.solve(instance, solver="first-fit", passes=50)
    fits = corl.solve(instance, solver="first-fit", capacity=int(best.bound * 1.3), iterations=10**6)
    assert fits.limit in ("target", "optimal") and fits.objective <= best.bound * 1.3
    load = int(sections(instance).load.max())
    for capacity, words in ((load - 1, "buffers alive at"), (int(instance.size.max()) - 1, r"buffer '\d+' takes")):
        result = corl.solve(instance, solver="first-fit", capacity=capacity)
        assert result.status == "infeasible" and result.solution is None
        assert __import__("re").search(words, result.reason)
    fixed = make_instance("", [0], [1], [3], fixed=[7])
    assert corl.solve(fixed, solver="first-fit").status == "optimal"
    assert "is fixed and ends at 10" in corl.solve(fixed, solver="first-fit", capacity=9).reason
    tight = peaks(size=200, seed=4)
    assert corl.solve(tight, solver="first-fit", capacity=2**20, iterations=1000).status == "no_solution"


def test_large_instances_are_near_the_load():
    """Thousands of buffers of mixed lifetimes: the rules alone come within 2 %."""
    result = corl.solve(large(size=3000, seed=1), solver="first-fit", passes=6, iterations=10**6)
    assert result.gap <= 0.02


def test_warm_start_and_wrong_options():
    """A start is kept unless it is improved; options are named with what is accepted."""
    instance = peaks(size=60, seed=2)
    good = corl.solve(instance, solver="first-fit", passes=100)
    again = corl.solve(instance, solver="first-fit", passes=6, warm_start=good.solution)
    assert again.objective <= good.objective
    met = corl.solve(instance, solver="first-fit", capacity=int(good.objective), warm_start=good.solution)
    assert met.limit in ("target", "optimal") and met.objective == good.objective
    for option in ({"capacity": -1}, {"passes": -1}, {"order": "width"}):
        with pytest.raises(UsageError, match=f"{next(iter(option))} is .*accepted"):
            corl.solve(instance, solver="first-fit", **option)
