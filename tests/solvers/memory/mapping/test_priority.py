"""The learned priority: any network builds plans that the judge accepts, the shipped one builds better ones, training learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.learning import snapshots
from corl.learning.training import snapshot_of, train
from corl.networks.checkpoints import load
from corl.problems.memory.mapping.generators import layered, mixed
from corl.problems.memory.mapping.problem import Mapping
from corl.rng import random_state
from corl.solvers.memory.mapping.constructions import by_priority
from corl.solvers.memory.mapping.layout import new_layout, plan_of, program_of
from corl.solvers.memory.mapping.priority.construct import Weights, construct
from corl.solvers.memory.mapping.priority.items import FEATURES, items_of, shares
from corl.solvers.memory.mapping.priority.measure import _compiler, _shuffled
from corl.solvers.memory.mapping.priority.network import PriorityNetwork
from corl.solvers.memory.mapping.priority.recipe import PriorityRecipe
from corl.solvers.memory.mapping.priority.solver import priority_weights
from corl.solvers.memory.mapping.relaxation import relaxation

MAPPING = Mapping()


def built(instance, weights, noise=0.0, seed=0, bias=None):
    """Seconds and layout of a plan."""
    program = program_of(instance)
    items, layout = items_of(program), new_layout(program)
    bias = np.zeros(len(items.tensor)) if bias is None else bias(program, items)
    placed = np.zeros(len(bias), np.bool_)
    return construct(program, items, weights, bias, layout, new_layout(program), placed, noise, random_state(seed)), layout


def test_any_network_builds_valid_plans(tiny):
    """Random weights, with noise: what the kernel says a plan takes is what the judge says, runs grown and alias groups too."""
    random, used = np.random.default_rng(0), 0
    programs = [tiny(seed, ops=3 + seed % 6, fast=8 + seed % 9) for seed in range(40)] + [
        mixed(size=30, seed=s) for s in range(6)
    ]
    for seed, instance in enumerate(programs):
        weights = Weights(random.standard_normal((FEATURES + 1, 3)), random.standard_normal((FEATURES + 4, 2)))
        value, layout = built(instance, weights, noise=float(seed % 2), seed=seed)
        plan = plan_of(program_of(instance), layout)
        assert MAPPING.evaluate(instance, plan) == pytest.approx(1e6 * value, rel=1e-9)
        used += len(plan.residencies) > 0
    assert used > 0.8 * len(programs)


def test_solver(tiny):
    """Verified plans between the bound and all-slow; more plans are no worse, the same seed gives the same bits."""
    for instance in (tiny(3, ops=6), layered(layers=6, seed=2)):
        one, many, again = (corl.solve(instance, solver="learned-priority", iterations=n, seed=1) for n in (1, 12, 12))
        slow = MAPPING.describe(instance)["all_slow_microseconds"]
        assert one.bound <= many.objective == again.objective <= one.objective <= slow * (1 + 1e-12)
        assert corl.solve(instance, solver="learned-priority", plans=3, seed=1).objective <= one.objective
    with pytest.raises(UsageError, match="noise is -1"):
        corl.solve(instance, solver="learned-priority", noise=-1.0)
    with pytest.raises(UsageError, match="accepted: memory-priority"):
        corl.solve(instance, solver="learned-priority", policy="tsp-bq", iterations=1)


def test_learning_pays():
    """On programs of other seeds than those of training the shipped network is ahead of the compiler's priority over the same
    items, of tuned xla-like, and of its own weights in other places."""
    trained = priority_weights("memory-priority")
    rivals = [_compiler(PriorityNetwork(1)), _shuffled(trained)]
    logs = []
    for number in range(30):
        instance = mixed(size=40, seed=5_000_000_000 + number)
        value = built(instance, trained)[0]
        others = [built(instance, weights)[0] for weights in rivals] + [by_priority(program_of(instance), 0.5, 1.0, True)[0]]
        logs.append([math.log(other / value) for other in others])
    means = np.mean(logs, axis=0)
    assert (means > 0.002).all() and means[1] > 0.01


def test_shares_of_the_relaxation():
    """Shares lie in 0..1, and plans led by them are valid; their mean grows with the fast memory."""
    means = []
    for size in (0.5, 8.0):
        instance = layered(layers=5, fast_mib=size, seed=1)
        relaxed = relaxation(instance)
        program = program_of(instance)
        found = shares(program, items_of(program), relaxed)
        assert found.min() >= -1e-9 and found.max() <= 1 + 1e-9
        value, layout = built(instance, _compiler(PriorityNetwork(1)), bias=lambda p, items, r=relaxed: 10 * shares(p, items, r))
        assert MAPPING.evaluate(instance, plan_of(program, layout)) == pytest.approx(1e6 * value) and 1e6 * value >= relaxed.bound
        means.append(relaxed.served.mean())
    assert means[0] < means[1]


def test_training_moves_and_repeats(tmp_path):
    """Steps move the network, of which the best is written; the same seed gives the same bits."""
    options = {"programs": 3, "watched": 3, "batch": 3, "pairs": 2, "largest": 8, "width": 2, "every": 2}
    networks, last = [], []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.safetensors"
        training = train("memory", "priority", steps=3, seed=2, device="cpu", output=path, recipe_options=options)
        networks.append(load(path)[0].weights())
        last.append(snapshots.read(snapshot_of(path))["parts"]["network"]["out"].numpy())
    assert all(np.array_equal(a, b) for a, b in zip(*networks)) and np.array_equal(*last)
    assert not np.allclose(last[0], PriorityNetwork(2).weights().out) and math.isfinite(training.metrics["excess"])


def test_recipe_options():
    """What is out of range is said in words."""
    for options in ({"pairs": 0}, {"largest": 1}, {"spread": 0.0}):
        with pytest.raises(UsageError, match=f"{next(iter(options))} is"):
            PriorityRecipe(**options)
    with pytest.raises(UsageError, match="width is 0"):
        PriorityNetwork(0)
