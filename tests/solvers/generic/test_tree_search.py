"""Solvers `tree-search` and `muzero`: every step searched, within the budget."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.problems.tsp.generators import uniform
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.generic.tree_search import VALUE_SCALE, TreeSearch, round_search

TSP = Tsp()


def solved(instance, policy, iterations, seed=0, **options):
    """The run of a solve, without `prepare`."""
    run = Run(TSP, instance, iterations=iterations, seed=seed)
    run.start()
    TreeSearch(policy=policy.file, **options).solve(instance, run)
    run.finish()
    return run


@pytest.mark.chance
@pytest.mark.parametrize("method", ["gumbel", "puct"])
@pytest.mark.parametrize("value", ["rollout", "network"])
def test_better_than_greedy(nearness, method, value):
    """Search begins with the greedy solution and shows no state too many; by rollouts it improves on it."""
    instance = uniform(size=16, seed=3)
    run = solved(instance, nearness, 4000, method=method, value=value)
    assert nearness.shown <= 4000
    assert run.trace[0][1] >= run.objective
    if value == "rollout":
        assert run.objective < run.trace[0][1]


def test_same_bits(nearness):
    """The same seed and iterations give the same bits."""
    instance = uniform(size=14, seed=3)
    runs = [solved(instance, nearness, 1500, 1, simulations=2) for _ in range(2)]
    assert runs[0].objective < runs[0].trace[0][1] and np.array_equal(runs[0].solution, runs[1].solution)


@pytest.mark.parametrize("method", ["gumbel", "puct"])
def test_later_rounds_have_noise(method):
    """The first round searches without noise, later ones, which would otherwise repeat it with more simulations, with it."""
    options = TreeSearch(method=method, leaves=3)
    first, second = (round_search(options, 8, number) for number in (0, 1))
    assert first.noise == 0.0 < second.noise and (first.simulations, first.leaves) == (8, 3)


def test_the_scale_of_values_is_an_option():
    """The search that is made has the scale of the option."""
    assert [round_search(TreeSearch(value_scale=scale), 8, 0).value_scale for scale in (0.0, 0.01)] == [0.0, 0.01]
    assert round_search(TreeSearch(), 8, 0).value_scale == VALUE_SCALE


def test_leaves_share_calls(nearness):
    """With several leaves to a call there are fewer calls for as many states."""
    instance = uniform(size=14, seed=3)
    solved(instance, nearness, 10**6, simulations=8, rounds=1, value="network")
    shown, calls, nearness.shown, nearness.calls = nearness.shown, nearness.calls, 0, 0
    solved(instance, nearness, 10**6, simulations=8, rounds=1, value="network", leaves=4)
    assert nearness.shown > 0.8 * shown and nearness.calls < 0.5 * calls


def test_leaves_by_value_head_or_rollout(nearness):
    """A policy without a value head has its leaves rolled out; with one they are not, unless it is asked for."""
    instance = uniform(size=12, seed=1)
    shown = {}
    for has_value, value in ((False, "auto"), (True, "auto"), (True, "rollout")):
        nearness.has_value, nearness.shown = has_value, 0
        solved(instance, nearness, 10**6, simulations=4, rounds=1, value=value)
        shown[has_value, value] = nearness.shown
    assert shown[False, "auto"] == shown[True, "rollout"] > 2 * shown[True, "auto"]
    assert shown[True, "auto"] <= 10 + 10 * 5


def test_copies_and_starts_side_by_side(nearness):
    """Trees of all copies and starts share network calls."""
    instance = uniform(size=12, seed=1)
    solved(instance, nearness, 10**6, simulations=4, rounds=1, value="network", augment=2, multi_start=3)
    assert nearness.shown > 3 * nearness.calls


@pytest.mark.parametrize("size", [1, 2, 3])
def test_nothing_to_choose(nearness, size):
    """Up to three cities there is no other tour (but its reverse), and the run ends."""
    assert solved(uniform(size=size), nearness, 10**5, rounds=2).solution is not None


def test_muzero(knapsack, tmp_path):
    """With a learned model of random weights, solver muzero gives feasible solutions, the same ones for a seed, and more network
    time is never worse; tree-search takes the same checkpoint as a policy."""
    import torch

    from corl.networks.checkpoints import save
    from corl.networks.muzero import MuZeroNetwork

    torch.manual_seed(0)
    network = MuZeroNetwork(knapsack.NAME, "items", inputs=5, extra=1, width=8, layers=1, heads=2, feedforward=8, bins=8)
    save(tmp_path / "toy.safetensors", network)
    sack = knapsack.uniform(size=10, seed=4)
    objectives = []
    for iterations in (50, 200, 200, 1500):
        result = corl.solve(sack, solver="muzero", policy=str(tmp_path / "toy.safetensors"), iterations=iterations, seed=1)
        assert result.verified and result.limit == "iterations"
        objectives.append(result.objective)
    assert objectives[1] == objectives[2]
    assert objectives[-1] >= objectives[0] and objectives[-1] > 0.8 * knapsack.best(sack)
    result = corl.solve(sack, solver="tree-search", policy=str(tmp_path / "toy.safetensors"), iterations=1000)
    assert result.objective > 0.9 * knapsack.best(sack)


@pytest.mark.parametrize("solver", ["tree-search", "muzero"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"simulations": -1}, "simulations is -1; accepted: an integer from 0"),
        ({"leaves": 0}, "leaves is 0; accepted: an integer from 1"),
        ({"method": "mcts"}, "option method is 'mcts'; accepted: gumbel, puct"),
    ],
)
def test_options_are_checked(solver, options, message):
    """Each option out of range is named with what is accepted."""
    with pytest.raises(corl.UsageError, match=message.replace("|", r"\|")):
        corl.solve(np.random.default_rng(0).random((9, 2)), problem="tsp", solver=solver, **options)
