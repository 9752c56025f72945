"""Orienteering's solvers: optimal on small instances, bounds that hold, the same bits for a seed, undo without a trace."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corl
from corl import registry
from corl.errors import UsageError
from corl.problems.orienteering.evaluation import check, path_length
from corl.problems.orienteering.generators import distance, generation_1, generation_2, generation_3
from corl.rng import random_state
from corl.solvers.orienteering.ruin.path import LENGTH, SCORE, insert, new_path, remove, undo
from corl.solvers.orienteering.ruin.search import advance, new_search
from corl.solvers.orienteering.ruin.space import Space, upper_bound

KINDS = ("EUC_2D", "EXACT_2D", "CEIL_2D", "GEO", "EXPLICIT")


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 6), kind=st.sampled_from(KINDS), seed=st.integers(0, 999), closed=st.booleans())
def test_the_bound_holds(random_instance, most, n, kind, seed, closed):
    """No path scores more than the bound, with any metric."""
    instance = random_instance(n, kind, seed, closed)
    assert most(instance) <= upper_bound(instance) * (1 + 1e-9) <= instance.scores.sum() * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("closed", [True, False])
def test_small_instances_are_solved(random_instance, most, closed):
    """Ruin and recreate finds the optimum of a handful of nodes in the plane."""
    for seed, kind in itertools.product(range(4), ("EXACT_2D", "GEO")):
        instance = random_instance(7, kind, seed, closed)
        result = corl.solve(instance, solver="ruin-recreate", iterations=5000)
        assert result.verified and result.objective <= most(instance) <= result.bound * (1 + 1e-9)
        assert result.objective == most(instance) or kind == "GEO"


def test_matrices_against_the_triangle_inequality(random_instance):
    """Paths stay feasible where detours may be shorter than the direct way, and where the direct way is too long."""
    for seed in range(6):
        instance = random_instance(8, "EXPLICIT", seed, False)
        for limit in (instance.limit, instance.limit / 2):
            result = corl.solve(replace(instance, limit=limit), iterations=500)
            assert result.status in ("infeasible", "feasible", "optimal")
            assert result.status == "infeasible" or result.objective <= result.bound


@pytest.mark.parametrize("solver", ["ruin-recreate", "ortools"])
def test_a_limit_that_nothing_obeys_is_infeasible(random_instance, solver):
    """Said as such, by every solver."""
    instance = replace(random_instance(8, "EUC_2D", 1, False), limit=0.0)
    result = corl.solve(instance, solver=solver, time_limit=5)
    assert result.status == "infeasible" and result.reason.endswith("is longer than the limit 0")


@pytest.mark.parametrize("solver", ["ruin-recreate", "ortools"])
def test_staying_at_home_takes_no_limit(random_instance, solver):
    """Where GEO gives two nodes in one place a kilometre, a closed tour of the start alone is 0 long all the same."""
    instance = replace(random_instance(8, "GEO", 1, True), limit=0.5)
    result = corl.solve(instance, solver=solver, **({"iterations": 20} if solver == "ruin-recreate" else {"time_limit": 1}))
    assert result.objective == instance.scores[0]
    environment = registry.problem("orienteering").environment([instance], 1, 1)
    assert environment.solution(0).tolist() == [0, 0]


@pytest.mark.parametrize("make", [generation_1, generation_2, generation_3])
def test_quality_and_repetition(make):
    """At 60 nodes: the same bits for a seed; better than a greedy path; within the bound."""
    instance = make(size=60, seed=3)
    results = [corl.solve(instance, iterations=4000, seed=1) for _ in range(2)]
    assert results[0].objective == results[1].objective and results[0].solution.tolist() == results[1].solution.tolist()
    environment = registry.problem("orienteering").environment([instance], 1, 1)
    while (action := environment.actions([0])[0, 0]) >= 0:
        environment.step([0], [0], [action])
    greedy = instance.scores[environment.solution(0)[:-1]].sum()
    assert greedy < results[0].objective <= results[0].bound


def test_chunks_do_not_change_the_search():
    """A thousand steps at once, or in sevens: the same path."""
    instance = generation_2(size=50, seed=2)
    ends = []
    for chunk in (1001, 7):
        space = Space(instance)
        search = new_search(new_path(space.metric, space.scores, 200), space.neighbours(10), random_state(5))
        search.schedule[:] = 1001, 50.0, 1.0, 1.0, space.limit, 0.02, space.limit, 2.0
        for _ in range(1001 // chunk):
            advance(search, chunk)
        path = space.path(search.best)
        assert path_length(instance, check(instance, path)) == pytest.approx(search.best_sums[LENGTH])
        ends.append((search.best_sums.tolist(), search.path.after.tolist()))
    assert ends[0] == ends[1]


def test_undo_leaves_no_trace():
    """Random removals and insertions taken back: the same links, and sums to the bit."""
    space = Space(generation_3(size=40, seed=1))
    path, random = new_path(space.metric, space.scores, 400), np.random.default_rng(0)
    for node in range(1, 20):
        insert(path, node, node - 1)
    for _ in range(50):
        before = [array.copy() for array in (path.after, path.before, path.on, path.ahead)]
        length, score = path.sums.tolist()
        path.noted[0] = 0
        for _ in range(15):
            on = np.flatnonzero(path.on[1:-1]) + 1
            off = np.flatnonzero(~path.on)
            if random.random() < 0.5 and len(on):
                remove(path, random.choice(on))
            elif len(off):
                insert(path, random.choice(off), random.choice(np.append(on, 0)))
        undo(path, length, score)
        assert path.sums.tolist() == [length, score] and path.sums[SCORE] == space.scores[path.on].sum()
        on = path.on
        for old, new in zip(before, (path.after, path.before, path.on, path.ahead)):
            assert np.array_equal(old[on], new[on])


def test_coolings_follow_each_other():
    """The first of several is the same as one alone, in its share of the iterations; the last starts from the best."""
    instance = generation_2(size=60, seed=4)
    for count in (2, 3):
        alone = corl.solve(instance, iterations=700, coolings=1, seed=2)
        several = corl.solve(instance, iterations=700 * count, coolings=count, seed=2)
        assert several.objective >= alone.objective and several.limit == "iterations"


@pytest.mark.parametrize(("iterations", "coolings"), [(2_000, 4), (26_000, 8)])
def test_long_runs_have_many_coolings(iterations, coolings):
    """By default, as many as the option says: the same path as with this number."""
    instance = generation_2(size=20, share=0.6, seed=4)
    default, chosen = (corl.solve(instance, iterations=iterations, seed=2, **given) for given in ({}, {"coolings": coolings}))
    assert default.solution.tolist() == chosen.solution.tolist()


@pytest.mark.parametrize("iterations", [50, 400])
def test_short_runs_use_the_limit(iterations):
    """A path that is too long while it is hot is short enough at the end, and then no shorter than it must be."""
    instance = generation_2(size=60, seed=4)
    result = corl.solve(instance, iterations=iterations, coolings=1, seed=2)
    assert path_length(instance, result.solution) > 0.8 * instance.limit
    assert result.objective > 0.8 * corl.solve(instance, iterations=4000).objective


def test_warm_start_is_kept():
    """A search from a good path never ends worse."""
    instance = generation_2(size=80, seed=1)
    good = corl.solve(instance, iterations=4000)
    again = corl.solve(instance, iterations=1, warm_start=good.solution)
    assert again.objective == good.objective


@pytest.mark.chance
def test_ortools(random_instance, most):
    """Feasible, with the bound, on integers and on reals, closed and open."""
    for kind, closed in itertools.product(("EUC_2D", "EXACT_2D"), (True, False)):
        instance = random_instance(7, kind, 2, closed)
        result = corl.solve(instance, solver="ortools", time_limit=1)
        assert result.verified and result.objective <= most(instance) <= result.bound * (1 + 1e-9)


@pytest.mark.parametrize(
    "option", [{"neighbours": 0}, {"strings": 0}, {"hot": 0.0}, {"excess": -0.1}, {"coolings": -1}, {"kink": 0.5}]
)
def test_wrong_options(option):
    """Named, with what is accepted."""
    with pytest.raises(UsageError, match=f"{next(iter(option))} is .*accepted"):
        corl.solve(generation_1(size=5), solver="ruin-recreate", **option)


@pytest.fixture
def untrained(tmp_path) -> str:
    """The file of a small network with random weights."""
    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import save
    from corl.problems.orienteering.features import PAIRS, TOKENS

    network = AttentionPolicy("orienteering", "nodes", TOKENS, PAIRS, width=8, layers=1, heads=2, feedforward=8)
    save(tmp_path / "random.safetensors", network)
    return str(tmp_path / "random.safetensors")


def test_policy_runs_with_random_weights(untrained):
    """An untrained network is taken through the environment to feasible paths."""
    instance = generation_2(size=20, seed=1)
    result = corl.solve(instance, solver="policy", policy=untrained, iterations=60)
    assert result.verified and 0 < result.objective <= upper_bound(instance)


@pytest.mark.long
def test_tree_search_runs_with_random_weights(untrained):
    """Likewise, with a search in every state."""
    instance = generation_2(size=8, seed=1)
    result = corl.solve(instance, solver="tree-search", policy=untrained, iterations=60)
    assert result.verified and 0 < result.objective <= upper_bound(instance)


def test_reports_on_the_way_choose_no_path(monkeypatch):
    """With iterations a seed gives the same path whether or not there was time for reports, also where scores are no integers."""
    instances, found = [distance(size=50, seed=seed) for seed in range(12)], []
    for due in (False, True):
        monkeypatch.setattr("corl.run.Run.report_due", due)
        runs = [corl.solve(one, problem="orienteering", solver="ruin-recreate", iterations=3000, seed=1) for one in instances]
        found.append([run.solution.tolist() for run in runs])
    assert found[0] == found[1]
