"""The knapsack's solvers: optimal where they say so, bounds that hold, the same bits for a seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corl
from corl.errors import UsageError
from corl.problems.knapsack.generators import (
    almost_strongly_correlated,
    inverse_strongly_correlated,
    multi,
    strongly_correlated,
    subset_sum,
    uniform,
    unit,
    weakly_correlated,
)
from corl.problems.knapsack.instance import make_instance
from corl.problems.knapsack.problem import Knapsack
from corl.run import Run
from corl.solvers.knapsack.dp.solver import Dp

KNAPSACK = Knapsack()
KINDS = ("integer", "decimal", "real")
CLASSES = (
    uniform, weakly_correlated, strongly_correlated, inverse_strongly_correlated, almost_strongly_correlated, subset_sum,
)  # fmt: skip


@settings(deadline=None, max_examples=120)
@given(items=st.integers(1, 11), seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
def test_dp_is_optimal(random_instance, most, items, seed, kind):
    """By enumeration, for integers, decimal fractions and reals; and it says so."""
    instance = random_instance(items, 1, seed, kind)
    run = Run(KNAPSACK, instance, iterations=10**6)
    Dp().solve(instance, run)
    assert run.optimal and run.objective == pytest.approx(most(instance), rel=1e-9)


def by_table(instance) -> int:
    """The optimum by the textbook's table over capacities."""
    best = np.zeros(int(instance.capacities[0]) + 1)
    for value, weight in zip(instance.values, instance.weights[0].astype(int).tolist()):
        if weight < len(best):
            best[weight:] = np.maximum(best[weight:], best[: len(best) - weight] + value)
    return int(best[-1])


@pytest.mark.parametrize("make", CLASSES)
def test_dp_agrees_with_the_table(make):
    """On hundreds of items of every class."""
    for seed, fill in itertools.product(range(3), (0.1, 0.5, 0.9)):
        instance = make(size=150, span=100, fill=fill, seed=seed)
        result = corl.solve(instance, solver="dp", time_limit=60)
        assert result.status == "optimal" and result.objective == by_table(instance)


def test_dp_grows_its_arrays_and_forgets_decisions():
    """With room for a handful of states the result is the same: lists double, decisions without offspring are dropped."""
    from corl.solvers.knapsack.dp import core as kernels

    instance = strongly_correlated(size=300, span=300, seed=1)
    order = np.argsort(-instance.values / instance.weights[0], kind="stable")
    values, weights, capacity = instance.values[order], instance.weights[0, order], float(instance.capacities[0])
    core = kernels.new_core(values, weights, capacity, True, 0.0)
    core = core._replace(value=core.value[:, :4].copy(), weight=core.weight[:, :4].copy(), node=core.node[:, :4].copy())
    core = core._replace(parent=core.parent[:8].copy(), item=core.item[:8].copy())
    split, seen = int(core.at[kernels.RIGHT]), set()
    while (status := kernels.expand(core, 3)) != kernels.DONE:
        seen.add(status)
        if status != kernels.GOING:
            core = kernels.enlarge(core, status)
        kernels.collect(core)
    assert seen == {kernels.GOING, kernels.FULL_LISTS, kernels.FULL_NODES}
    taken = np.arange(300) < split
    kernels.decisions(core, taken)
    assert KNAPSACK.evaluate(instance, order[taken]) == core.numbers[kernels.VALUE] == by_table(instance)


def test_dp_without_memory_or_time_keeps_its_incumbent_and_a_bound():
    """It ends as feasible, with a bound that the optimum obeys."""
    instance = strongly_correlated(size=2000, span=100_000, seed=3)
    for result in (corl.solve(instance, solver="dp", memory=1e-4), corl.solve(instance, solver="dp", iterations=30)):
        assert result.status == "feasible" and result.objective < result.bound <= 1.01 * result.objective


@pytest.mark.parametrize("iterations", [30, 60])
def test_iterations_of_dp_are_items_however_they_are_granted(iterations, monkeypatch):
    """A grant that finds the arrays too small goes on when they are larger: one item at a time comes to the same."""
    instance = strongly_correlated(size=60, span=500, seed=2)
    at_ease = corl.solve(instance, solver="dp", iterations=iterations)
    whole = Run.budget
    monkeypatch.setattr(Run, "budget", lambda run, most=None: whole(run, 1))
    in_ones = corl.solve(instance, solver="dp", iterations=iterations)
    assert (at_ease.objective, at_ease.bound) == (in_ones.objective, in_ones.bound)


def test_dp_takes_a_warm_start():
    """An optimal warm start is kept, and proven."""
    instance = uniform(size=200, seed=4)
    optimal = corl.solve(instance, solver="dp")
    again = corl.solve(instance, solver="dp", warm_start=optimal.solution)
    assert again.status == "optimal" and again.objective == optimal.objective


@pytest.mark.parametrize("solver", ["greedy", "ortools", "cp-sat"])
def test_others_are_feasible_and_their_bounds_hold(random_instance, most, solver):
    """With one to three capacities: objective <= optimum <= bound; the exact ones prove it."""
    for constraints, seed in itertools.product((1, 2, 3), range(5)):
        instance = random_instance(10, constraints, seed)
        best = most(instance)
        result = corl.solve(instance, solver=solver, time_limit=30)
        assert result.objective <= best <= result.bound
        if solver != "greedy":
            assert result.status == "optimal" and result.objective == best


def test_decimals_in_cp_sat(random_instance, most):
    """Hundredths are integers in a smaller unit; reals are refused."""
    instance = random_instance(9, 2, 5, "decimal")
    result = corl.solve(instance, solver="cp-sat", time_limit=30)
    assert result.status == "optimal" and result.objective == pytest.approx(most(instance))
    with pytest.raises(UsageError, match="decimal fractions"):
        corl.solve(random_instance(9, 2, 5, "real"), solver="cp-sat")


def test_linear_bound_of_one_capacity():
    """The greedy solver's bound is Dantzig's, floored: 10 + 4 * (5 / 8) here."""
    assert corl.solve(make_instance("", [10, 4, 1], [5, 8, 9], 10), solver="greedy").bound == 12


def test_noise_only_helps_and_repeats():
    """Randomised filling is at least as good as the first, and the same for a seed."""
    instance = multi(size=60, seed=2)
    plain = corl.solve(instance, solver="greedy")
    noisy = [corl.solve(instance, solver="greedy", noise=0.1, iterations=200, seed=5) for _ in range(2)]
    assert noisy[0].objective == noisy[1].objective > plain.objective


def test_auto():
    """dp for one capacity; cp-sat for several; greedy where iterations are counted or numbers are reals."""
    from corl.solvers.knapsack.auto import choose

    assert choose(uniform(size=5), 1.0, None) == choose(unit(size=5), None, 3) == "dp"
    assert choose(multi(size=5), 1.0, None) == "cp-sat" and choose(multi(size=5), None, 3) == "greedy"
    reals = make_instance("", np.random.default_rng(0).random(5), np.random.default_rng(1).random((2, 5)), [1.0, 1.0])
    assert choose(reals, 1.0, None) == "greedy"


@pytest.mark.parametrize(
    ("solver", "option"), [("dp", {"memory": 0.0}), ("greedy", {"noise": -1.0}), ("cp-sat", {"search_workers": -1})]
)
def test_wrong_options(solver, option):
    """Named, with what is accepted."""
    with pytest.raises(UsageError, match=f"{next(iter(option))} is .*accepted"):
        corl.solve(multi(size=5) if solver == "cp-sat" else uniform(size=5), solver=solver, **option)


@pytest.mark.parametrize(("solver", "words"), [("dp", "one capacity, not 5"), ("ortools", "integers")])
def test_refusals(solver, words):
    """What a solver cannot do it says."""
    instance = multi(size=5) if solver == "dp" else unit(size=5)
    with pytest.raises(UsageError, match=words):
        corl.solve(instance, solver=solver)


@pytest.fixture
def untrained(tmp_path) -> str:
    """The file of a small network with random weights."""
    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import save
    from corl.problems.knapsack.features import TOKENS

    network = AttentionPolicy("knapsack", "items", inputs=TOKENS, extra=1, width=8, layers=1, heads=2, feedforward=8)
    save(tmp_path / "random.safetensors", network)
    return str(tmp_path / "random.safetensors")


def test_policy_runs_with_random_weights(untrained):
    """An untrained network is taken through the environment to feasible solutions."""
    for instance in (uniform(size=12, seed=1), multi(size=10, constraints=2, seed=1)):
        result = corl.solve(instance, solver="policy", policy=untrained, iterations=60)
        assert result.verified and 0 < result.objective <= corl.solve(instance, solver="greedy").bound


@pytest.mark.long
def test_tree_search_runs_with_random_weights(untrained):
    """Likewise, with a search in every state."""
    instance = multi(size=8, constraints=2, seed=1)
    result = corl.solve(instance, solver="tree-search", policy=untrained, iterations=60)
    assert result.verified and 0 < result.objective <= corl.solve(instance, solver="greedy").bound


def test_a_price_of_next_to_no_weight_is_finite():
    """A value by a weight of 1e-320 is beyond floats."""
    from corl.solvers.knapsack.filling import _break_density

    with np.errstate(all="raise"):
        assert _break_density(np.array([94.0, 1.0]), np.array([1e-320, 2.0]), 1.0) == 0.5
        assert np.isfinite(_break_density(np.array([94.0]), np.array([1e-320]), 0.0))
