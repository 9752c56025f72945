"""The learned priority: any network builds plans that the judge accepts, the shipped one builds better ones, training learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.learning import snapshots
from corl.learning.training import train
from corl.networks.checkpoints import load
from corl.problems.memory.generators import layered, mixed
from corl.problems.memory.problem import Mapping
from corl.rng import random_state
from corl.solvers.memory.layout import new_layout, plan_of, program_of
from corl.solvers.memory.priority.construct import Weights, construct
from corl.solvers.memory.priority.items import FEATURES, items_of
from corl.solvers.memory.priority.network import PriorityNetwork
from corl.solvers.memory.priority.recipe import PriorityRecipe

MAPPING = Mapping()


def built(instance, weights, noise=0.0, seed=0):
    """Seconds and layout of a plan."""
    program = program_of(instance)
    items, layout = items_of(program), new_layout(program)
    return construct(program, items, weights, layout, new_layout(program), noise, random_state(seed)), layout


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


def test_training_moves_and_repeats(tmp_path):
    """Steps move the network, of which the best is written; the same seed gives the same bits."""
    options = {"programs": 3, "watched": 3, "batch": 3, "pairs": 2, "largest": 8, "width": 2, "every": 2}
    networks, last = [], []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.safetensors"
        training = train("memory", "priority", steps=3, seed=2, device="cpu", output=path, **options)
        networks.append(load(path)[0].weights())
        last.append(snapshots.read(snapshots.path_of(path))["parts"]["network"]["out"].numpy())
    assert all(np.array_equal(a, b) for a, b in zip(*networks)) and np.array_equal(*last)
    assert not np.allclose(last[0], PriorityNetwork(2).weights().out) and math.isfinite(training.metrics["excess"])


def test_recipe_options():
    """What is out of range is said in words."""
    for options in ({"pairs": 0}, {"largest": 1}, {"spread": 0.0}):
        with pytest.raises(UsageError, match=f"{next(iter(options))} is"):
            PriorityRecipe(**options)
    with pytest.raises(UsageError, match="width is 0"):
        PriorityNetwork(0)
