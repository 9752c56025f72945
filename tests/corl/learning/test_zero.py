"""The loops of AlphaZero and MuZero: they learn, by the sign of their loss and nothing else, and resume to the bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from corl.cli.main import main
from corl.errors import UsageError
from corl.learning.algorithms import imitation, muzero
from corl.learning.recipe import recipe_class
from corl.learning.session import Training
from corl.learning.source import Source
from corl.learning.training import train
from corl.learning.validation import greedy
from corl.networks import checkpoints

SMALL = {"size": 6, "episodes": 8, "updates": 2, "batch": 16, "simulations": 4, "width": 8, "layers": 1, "heads": 2, "watch": 4}
LEARNING = {"size": 8, "episodes": 64, "updates": 16, "simulations": 8, "width": 32, "layers": 1, "watch": 0, "rate": 3e-3}
RECIPES = pytest.mark.parametrize("name", ["alphazero", "muzero"])


@RECIPES
def test_a_resumed_run_ends_alike(knapsack, tmp_path, name):
    """Interrupted after 3 of 5 steps, in the middle of a generation, and resumed, a run ends with the unbroken one's bits."""
    whole, part = tmp_path / "whole.safetensors", tmp_path / "part.safetensors"
    common = {"seed": 4, "device": "cpu", "steps": 5} | SMALL
    train(knapsack.NAME, name, output=whole, **common)

    def interrupt(training):
        if training.step == 2:
            training.interrupt()

    broken = train(knapsack.NAME, name, output=part, on_progress=interrupt, **common)
    assert broken.limit == "interrupted" and broken.step == 3
    done = train(knapsack.NAME, name, output=part, resume=True, **common)
    assert done.step == 5 and set(done.metrics) >= {"loss", "policy", "value", "objective", "greedy"}
    first, second = load_file(whole), load_file(part)
    assert first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)
    network, header = checkpoints.load(part)
    assert network.has_value and header["training"]["options"]["size"] == 6


@RECIPES
def test_options_are_checked(name):
    """What no training can have is refused in one line."""

    recipe = recipe_class("tsp", name)
    for option, value in {"episodes": 0, "rate": 0.0, "value_weight": -1.0, "simulations": 0}.items():
        with pytest.raises(UsageError, match=rf"^option {option} is {value}; accepted: "):
            recipe(**{option: value})


def test_a_replay_smaller_than_a_generation_is_refused(knapsack, tmp_path, capfd):
    """The error names both numbers."""
    options = [f"--option={key}={value}" for key, value in (SMALL | {"replay": 3}).items()]
    command = ["train", knapsack.NAME, "--recipe", "alphazero", "--steps", "1", "--output", str(tmp_path / "a.safetensors")]
    assert main([*command, *options]) == 2
    assert "do not fit a replay of 3" in capfd.readouterr().err


STEPS = 128  # MuZero's first 50 make its policy worse: it imitates searches of a model that knows nothing yet


def gap(knapsack, name):
    """The mean gap to the optimum, in percent, of the trained policy alone on 64 fresh instances; random play has 32."""

    problem = knapsack.Knapsack()
    instances = Source(problem, "", [LEARNING["size"]], 99).instances(0, 64)
    best = np.array([knapsack.best(instance) for instance in instances])
    torch.manual_seed(1)
    training = Training(problem, seed=1, device="cpu", steps=STEPS)
    recipe_class(problem.name, name)(**LEARNING).train(training)
    return 100.0 * float(np.mean(1.0 - greedy(problem, instances, training.network) / best))


@pytest.mark.chance
@RECIPES
def test_it_learns(knapsack, name):
    """After 128 steps the policy alone is within 8 % of the optimum, a quarter of what random play misses."""
    assert gap(knapsack, name) < 8.0


@pytest.mark.chance
@RECIPES
def test_it_does_not_learn_with_the_sign_flipped(knapsack, name, monkeypatch):
    """With the policy's part of the loss negated and all else the same, it ends farther from the optimum than a learner may.

    (With MuZero's whole loss negated it ends at 3 %: its search then looks for what is worst, and its policy shuns that.)
    """
    module, nothing = {"alphazero": (imitation, 0.0), "muzero": (muzero, muzero.LossWeights(0.0, 0.0, 0.0))}[name]
    loss = module.loss

    def flipped(network, batch, weight, *rest):
        total, terms = loss(network, batch, weight, *rest)
        return total - 2 * loss(network, batch, nothing, *rest)[0], terms

    monkeypatch.setattr(module, "loss", flipped)
    assert gap(knapsack, name) > 8.0
