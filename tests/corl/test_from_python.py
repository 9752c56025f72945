"""What is not installed is used as what is: problems, solvers, recipes, networks and policies given as objects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import corl
from corl import registry
from corl.errors import UsageError

KNAPSACK = {"steps": 1, "workers": 0, "device": "cpu", "size": 5, "width": 8, "heads": 2, "layers": 1, "watch": 0}


@dataclass(frozen=True)
class Pile:
    name: str
    values: np.ndarray


class Largest(corl.Problem):
    """Pick the number that is largest."""

    name, sense, instance_type = "largest", "max", Pile
    generators = {"uniform": lambda *, size=5, seed=0: Pile("uniform", np.random.default_rng(seed).random(size))}  # noqa: RUF012

    def evaluate(self, instance, solution):
        return float(instance.values[int(solution)])


@dataclass(frozen=True)
class Draws(corl.Solver):
    iteration = "one draw"
    first: int = corl.option(0, "The number that is looked at first.", low=0)

    def solve(self, instance, run):
        run.report(self.first)
        while n := run.budget():
            for pick in np.random.default_rng(run.seed).integers(len(instance.values), size=n).tolist():
                run.report(pick)


class Densest(corl.RulePolicy):
    """The items as the environment lists them."""

    def evaluate(self, observation):
        mask = observation["mask"]
        return np.where(mask, -np.arange(mask.shape[1], dtype=float), -np.inf), np.zeros(len(mask))


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """The registry and the architectures as they were, afterwards."""
    from corl.networks import architectures

    monkeypatch.setattr(registry, "_uninstalled", {})
    monkeypatch.setattr(architectures, "_uninstalled", {})


def test_a_problem_and_a_solver_of_ones_own():
    """Neither is installed; the result says what they are, and is drawn, written and read as any."""
    pile = corl.generate(Largest(), seed=3)
    result = corl.solve(pile, problem=Largest(), solver=Draws(first=1), iterations=50)
    assert (result.problem, result.solver, result.options) == ("largest", "Draws", {"first": 1})
    assert result.verified and result.objective == pile.values.max()
    assert type(result).from_json(result.to_json(), pile).objective == result.objective
    assert corl.solve(pile, solver=Draws(), iterations=1).problem == "largest"  # known by now


SCRIPT = """
import corl, numpy as np
from test_from_python import Densest, Draws, Largest
class Mine(Densest):
    pass
class Own(Draws):
    pass
knapsack = corl.generate("knapsack", size=5)
print(corl.solve(corl.generate(Largest()), problem=Largest(), solver=Draws(), iterations=20, workers=2).verified)
print(corl.solve(knapsack, solver="policy", policy=Densest(), iterations=20, workers=2).verified)
for given in (lambda: corl.solve(knapsack, solver="policy", policy=Mine(), iterations=5, workers=2),
              lambda: corl.solve(corl.generate(Largest()), solver=Own(), iterations=5, workers=2)):
    try:
        given()
    except corl.UsageError as error:
        print(error)
"""


@pytest.mark.long
def test_in_workers():
    """What lies in a module is found there; of what is in a script one line says that it is not, and names the class."""
    path = os.pathsep.join([os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    said = done.stdout.splitlines()
    assert said[:2] == ["True", "True"], done.stderr
    assert len(said) == 4 and "cannot import Mine from a script" in said[2] and "Own" in said[3], done.stderr


@pytest.mark.parametrize("solver", ["policy", "tree-search"])
def test_a_policy_of_ones_own(solver):
    """A rule, and a network: its result says which class it was."""
    knapsack = corl.generate("knapsack", size=12, seed=1)
    result = corl.solve(knapsack, solver=solver, policy=Densest(), iterations=40)
    assert result.verified and result.options["policy"] == "a Densest"
    result.to_json()
    trained = corl.train("knapsack", "policy-gradient", **KNAPSACK | {"batch": 2}).network
    assert corl.solve(knapsack, solver=solver, policy=trained, iterations=40).verified
    with pytest.raises(corl.UsageError, match=r"in training mode; accepted: one in evaluation mode, policy.eval\(\)"):
        corl.solve(knapsack, solver=solver, policy=trained.train(), iterations=40)
    with pytest.raises(corl.UsageError, match="policy AttentionPolicy is for knapsack, not for tsp"):
        corl.solve("tsp/uniform-100", solver=solver, policy=trained.eval(), iterations=40)
    with pytest.raises(corl.UsageError, match="policy is 3; accepted: a text or a Policy"):
        corl.solve(knapsack, solver=solver, policy=3)


def test_a_network_of_ones_own(tmp_path):
    """A class that is not installed trains, and its checkpoints are read in this process."""
    from corl.networks.attention import AttentionPolicy

    class Mine(AttentionPolicy):
        architecture = "mine"

    path = tmp_path / "mine.safetensors"
    training = corl.train("knapsack", "policy-gradient", output=path, network=Mine, batch=2, **KNAPSACK)
    assert type(training.network) is Mine and type(corl.load_policy(path)) is Mine and not training.network.training
    assert training.facts["options"]["network"] == "mine"

    class Other(AttentionPolicy):
        """Its architecture is that of an installed class."""

    with pytest.raises(corl.UsageError, match="network: the architecture 'attention' of Other is that of an installed class"):
        corl.train("knapsack", "policy-gradient", network=Other, batch=2, **KNAPSACK)
    with pytest.raises(corl.UsageError, match="network: int needs an architecture"):
        corl.train("knapsack", "policy-gradient", network=int, batch=2, **KNAPSACK)


def test_a_recipe_of_ones_own():
    """It gets the session; what it saves is the session's network."""

    class Nothing(corl.Recipe):
        def train(self, training):
            from torch import nn

            network = nn.Linear(1, 1)
            while training.budget():
                training.log(loss=1.0)
            training.save(network)

    training = corl.train("knapsack", Nothing(), steps=2)
    assert training.limit == "steps" and training.facts["recipe"] == "Nothing" and training.network.in_features == 1
    with pytest.raises(corl.UsageError, match="rate: a Recipe has its options already; give them to Nothing"):
        corl.train("knapsack", Nothing(), steps=2, rate=3)
    with pytest.raises(corl.UsageError, match="recipe: 3 is not accepted"):
        corl.train("knapsack", 3, steps=2)


def test_what_is_refused():
    """Names and instance types of other problems, options beside a Solver that has them."""

    class Tsp(Largest):
        name = "tsp"

    class Unnamed(corl.Problem):
        def evaluate(self, instance, solution):
            return 0.0

    pile = corl.generate(Largest())
    for given, said in (
        (Tsp(), "the name 'tsp' of Tsp is that of an installed problem"),
        (type(corl.problem("knapsack")), "it takes a name"),
        (Unnamed(), "Unnamed needs a name and an instance_type"),
    ):
        with pytest.raises(corl.UsageError, match=said):
            corl.solve(pile, problem=given)
    with pytest.raises(corl.UsageError, match="first: a Solver has its options already; give them to Draws"):
        corl.solve(pile, problem=Largest(), solver=Draws(), first=2)
    with pytest.raises(corl.UsageError, match="option first is -1"):
        Draws(first=-1)


def test_a_misspelt_argument_is_suggested():
    """Not only the solver's options are compared with it, but also the arguments of the function that was called."""
    instance = corl.generate("knapsack", size=5)
    for call in (
        lambda: corl.solve(instance, time_limt=1),
        lambda: corl.solve(instance, time_limt=1, solver=corl.registry.solver("knapsack", "greedy")()),
        lambda: corl.train("knapsack", "imitation", time_limt=1),
    ):
        with pytest.raises(UsageError, match=r"time_limt'? \(did you mean 'time_limit'\?\)"):
            call()


def test_numpy_scalars_are_arguments():
    """Limits, seeds and sizes of NumPy's types are taken as Python's."""
    instance = corl.generate("knapsack", size=np.int64(5), seed=np.uint8(2))
    first = corl.solve(instance, time_limit=np.float32(5), seed=np.int32(3), workers=np.int8(1))
    again = corl.solve(corl.generate("knapsack", size=5, seed=2), time_limit=5, seed=3)
    assert first.objective == again.objective and json.loads(first.to_json())["seed"] == 3


def test_reading_and_generating():
    """`read` takes shipped names, `generate` what the command does, `problem` names and Problems."""
    assert corl.read("tsp/uniform-100").n == 100 and corl.problem("tsp").name == "tsp"
    assert corl.generate("tsp", "clustered", size=7, seed=2).n == 7
    assert corl.generate("knapsack", size=7, seed=1).values.tolist() != corl.generate("knapsack", size=7, seed=2).values.tolist()
    with pytest.raises(corl.UsageError, match=r"tsp has no generator 'clusterd' .did you mean 'clustered'"):
        corl.generate("tsp", "clusterd")
    with pytest.raises(corl.UsageError, match="no option 'cities'"):
        corl.generate("tsp", cities=3)
    with pytest.raises(corl.UsageError, match="no problem is called 'tps'"):
        corl.problem("tps")
