"""The loop of the generic recipes: what it saves and says, and the old names of its parts."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass

import pytest
import torch

from corl.errors import UsageError
from corl.learning.loop import Loop, PolicyRecipe
from corl.learning.source import Source
from corl.learning.training import train
from corl.learning.validation import greedy

NETWORK = {"size": 6, "width": 8, "layers": 1, "heads": 2, "watch": 4}
SESSION = {"workers": 0, "device": "cpu"}


@dataclass(frozen=True)
class Flip(PolicyRecipe):
    """Changes the signs of all logits in every step from `first` on; those before have nothing to learn from."""

    first: int = 0
    keep: bool = False

    def train(self, training):
        loop = Loop(self, training, keep=self.keep)
        loop.manage()

        def data():
            return training.step if training.step >= self.first else None, loop.validate(every=3)

        def learn(step):
            loop.optimiser.zero_grad()
            sum(parameter.sum() for parameter in loop.network.parameters()).backward()
            loop.optimiser.step()
            with torch.no_grad():
                loop.network.score.weight.neg_()
            return {"learned": float(step)}

        loop.run(data, learn)


def test_a_step_logs_what_it_made_and_learned(knapsack):
    """Values of the data and of the learning are those of the step; steps that are passed over log the former."""
    seen = []
    train(knapsack.Knapsack(), Flip(first=1, **NETWORK), steps=3, on_progress=lambda t: seen.append(dict(t.metrics)), **SESSION)
    assert [sorted(each) for each in seen] == [["greedy"], ["greedy", "learned"], ["greedy", "learned"]]
    assert [each.get("learned") for each in seen] == [None, 1.0, 2.0]


@pytest.mark.parametrize("keep", [False, True])
def test_the_best_weights_are_saved_on_demand(knapsack, keep):
    """With `keep` those that did best on the watched instances, whenever it ends; without it the last."""
    problem, seen, saved = knapsack.Knapsack(), [], []
    recipe = Flip(keep=keep, **NETWORK | {"watch": 2})
    for steps in (4, 5):
        done = train(problem, recipe, steps=steps, on_progress=lambda run: seen.append(run.metrics["greedy"]), **SESSION)
        saved += greedy(problem, Source(problem, sizes=[6]).validation_instances(2), done.network).mean(keepdims=True).tolist()
    assert len(set(seen)) > 1 and (min(saved) >= max(seen)) == keep


@pytest.mark.parametrize(("steps", "said"), [(3, "3 steps"), (60, "50 steps")])
def test_nothing_to_learn_ends_a_run(knapsack, steps, said):
    """Fifty steps at the start without data end a run, as does the end of a shorter one; later ones are passed over."""
    with pytest.raises(UsageError, match=f"in {said} no state had two actions: nothing to learn"):
        train(knapsack.Knapsack(), Flip(first=99, **NETWORK), steps=steps, **SESSION)
    assert train(knapsack.Knapsack(), Flip(first=49, **NETWORK), steps=51, **SESSION).limit == "steps"


def test_options_of_an_architecture(knapsack):
    """They reach a new network's constructor as values of its types; others are refused in a line that names those there are."""
    problem = knapsack.Knapsack()
    assert train(problem, Flip(network_options=("grid=2",), **NETWORK), steps=1, **SESSION).network.config["grid"] == 2
    for given, said in (
        ("gird=2", "has no option 'gird' .did you mean 'grid'"),
        ("grid=x", "option grid is 'x'; accepted: an int"),
    ):
        with pytest.raises(UsageError, match=said):
            train(problem, Flip(network_options=(given,), **NETWORK), steps=1, **SESSION)


def test_the_old_names_still_work():
    """Until the next version, with a warning that names the new place."""
    sys.modules.pop("corl.solvers.training.common", None)
    with pytest.warns(DeprecationWarning, match=r"corl\.learning\.loop"):
        old = importlib.import_module("corl.solvers.training.common")
    assert old.PolicyRecipe is PolicyRecipe and {"begin", "source_of"} <= set(dir(old))
