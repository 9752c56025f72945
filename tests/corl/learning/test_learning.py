"""Each loop learns: the greedy policy improves on instances never trained on, and does not where the loss's sign is flipped."""

from __future__ import annotations

import numpy as np
import pytest

from corl.learning.algorithms import evolution, imitation, policy_gradient, q_learning
from corl.learning.training import train
from corl.store import Store

NETWORK = {"width": 16, "layers": 1, "heads": 2}


@pytest.fixture(params=[1, -1], ids=["loss", "flipped"])
def sign(request, monkeypatch):
    """1, or -1 where every loss has the wrong sign."""
    for owner in (imitation, policy_gradient, q_learning.QLearning):
        loss = owner.loss
        monkeypatch.setattr(owner, "loss", lambda *given, loss=loss, **named: signed(loss(*given, **named), request.param))
    gradient = evolution.gradient
    monkeypatch.setattr(evolution, "gradient", lambda *given: request.param * gradient(*given))
    return request.param


def signed(found, sign):
    """A loss, or one and its terms, times a sign."""
    return (sign * found[0], found[1]) if isinstance(found, tuple) else sign * found


@pytest.fixture
def gain(tmp_path):
    """A function that trains and returns how much better, relatively, the greedy policy is at the end than at first."""

    def run(problem, recipe, steps, **options):
        with Store(tmp_path / "s.db", create=True) as store:
            train(problem, recipe, steps=steps, workers=0, store=store, name="run", **NETWORK | options)
            greedy = [value for _, value in store.curves()["run"]["greedy"]]
        change = (np.mean(greedy[-2:]) - greedy[0]) / abs(greedy[0])
        return change if problem == "toy-knapsack" else -change

    return run


@pytest.mark.chance
@pytest.mark.parametrize("baseline", ["multi-start", pytest.param("greedy-rollout", marks=pytest.mark.long), "remax"])
def test_policy_gradient_learns(knapsack, gain, sign, baseline):
    """On knapsacks of 10 items 30 steps make the greedy policy at least 50 % better; with the wrong sign at most 10 %."""
    options = {"size": 10, "batch": 8, "samples": 8, "rate": 3e-3, "every": 4, "baseline": baseline}
    found = gain(knapsack.NAME, "policy-gradient", 30, **options)
    assert found > 0.5 if sign == 1 else found < 0.1


@pytest.mark.chance
def test_mirror_descent_learns(knapsack, gain, sign):
    """The same with four proximal steps on the episodes of each of 15 steps."""
    options = {"size": 10, "batch": 8, "samples": 8, "rate": 3e-3, "every": 2, "updates": 4}
    found = gain(knapsack.NAME, "policy-gradient", 15, **options)
    assert found > 0.5 if sign == 1 else found < 0.1


@pytest.mark.chance
def test_self_improvement_learns(knapsack, gain, sign):
    """Four generations of imitating the best samples make the greedy policy at least 50 % better; the wrong sign at most 10 %."""
    options = {"size": 10, "episodes": 16, "samples": 8, "updates": 8, "batch": 64, "rate": 3e-3}
    found = gain(knapsack.NAME, "self-improvement", 32, **options)
    assert found > 0.5 if sign == 1 else found < 0.1


@pytest.mark.chance
def test_q_learning_learns(knapsack, gain, sign):
    """Eight generations of its own episodes make the greedy policy at least 50 % better; the wrong sign at most 10 %."""
    options = {"size": 10, "episodes": 16, "updates": 8, "batch": 64, "sync": 8, "rate": 3e-3}
    found = gain(knapsack.NAME, "q-learning", 64, **options)
    assert found > 0.5 if sign == 1 else found < 0.1


@pytest.mark.chance
def test_evolution_learns(knapsack, gain, sign):
    """40 steps of 32 changed networks make the greedy policy at least 30 % better; with the wrong sign at most 10 %."""
    found = gain(knapsack.NAME, "evolution", 40, size=10, batch=16, pairs=16, spread=0.1, rate=0.03, every=10)
    assert found > 0.3 if sign == 1 else found < 0.1


@pytest.mark.chance
def test_imitation_learns(gain, sign):
    """On tours of 10 cities 30 steps of imitating ils make the greedy policy at least 20 % better; the wrong sign at most 5 %."""
    options = {"size": 10, "batch": 8, "states": 6, "teacher": "ils", "rate": 3e-3, "every": 5, "watch": 32}
    found = gain("tsp", "imitation", 30, **options)
    assert found > 0.2 if sign == 1 else found < 0.05


@pytest.mark.long
def test_workers_do_not_change_a_run(knapsack_folder, knapsack, monkeypatch, tmp_path):
    """Self-improvement with two worker processes ends with the weights of a run without any."""
    import torch
    from safetensors.torch import load_file

    options = NETWORK | {"size": 6, "episodes": 20, "samples": 4, "updates": 2, "batch": 16, "watch": 0}
    found = []
    for workers in (0, 2):
        output = tmp_path / f"{workers}.safetensors"
        train(knapsack.NAME, "self-improvement", steps=4, workers=workers, output=output, **options)
        found.append(load_file(output))
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
