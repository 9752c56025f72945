"""The generic recipes and solvers on every problem: they train and solve, or say in one line why not."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import ENVIRONMENTS, GENERIC, played, small
from specimen import named_cheap, parameters

import corl
from corl import registry
from corl.errors import UsageError
from corl.learning.recipe import recipe_class, recipe_names
from corl.learning.training import Training, train

TINY = {
    "width": 8, "layers": 1, "heads": 2, "watch": 2, "size": 5, "samples": 2, "episodes": 2, "updates": 1,
    "every": 1, "batch": 2, "simulations": 2, "states": 2, "operations": 4, "plans": 1, "teacher_iterations": 50,
    "pairs": 2,
}  # fmt: skip
WITH_CHOICE = {"milp-branching": {"set-cover": 40}}
"""Generators and sizes of problems whose smaller instances are solved without one."""
RECIPES = ["alphazero", "evolution", "imitation", "muzero", "policy-gradient", "q-learning", "self-improvement"]
LEARNED = dict.fromkeys(RECIPES, "loss") | {"evolution": "slope"}
"""What each notes of a step that learned something."""
LEARNABLE = [name for name in ENVIRONMENTS if played(name).features]
PAIRS = [(name, RECIPES[(k + step) % len(RECIPES)]) for k, name in enumerate(LEARNABLE) for step in (0, 3)]
"""Every environment with two recipes, every recipe with several environments."""


def teacher(problem: str) -> str:
    """A solver of the problem that is quick on miniatures and counts iterations."""
    able = [name for name in registry.solvers(problem) if name not in GENERIC and registry.solver(problem, name).iteration]
    return named_cheap(problem) if named_cheap(problem) in able else able[0]


def tiny(problem: str, recipe: str, **more: object) -> dict[str, object]:
    """The options of a miniature."""
    options = TINY | {"teacher": teacher(problem) if recipe == "imitation" else ""} | more
    known = {field.name for field in dataclasses.fields(recipe_class(problem, recipe))}
    return {name: value for name, value in options.items() if name in known}


def trained(name: str, recipe: str, output: Path) -> Training:
    """Two steps on miniatures of a generator that has sizes: of the first whose instances have a choice.

    A network of random weights is one that was trained.
    """
    refusals, problem = [], played(name).name
    option = registry.problem(problem).size_option
    for kind, generate in played(name).generators.items():
        if option not in inspect.signature(generate).parameters or kind not in WITH_CHOICE.get(problem, {kind: 0}):
            continue
        size = WITH_CHOICE.get(problem, {}).get(kind) or max(5, parameters(problem, kind)[option])
        options = tiny(problem, recipe, generator=kind, size=size, environment=played(name).played)
        try:
            return train(problem, recipe, steps=2, workers=0, device="cpu", output=output, **options)
        except UsageError as error:
            refusals.append(str(error))
    raise AssertionError("; ".join(refusals))


@pytest.mark.long
@pytest.mark.parametrize(("name", "recipe"), PAIRS)
def test_every_problem_trains_and_its_networks_solve(name: str, recipe: str, tmp_path: Path):
    """Two steps on a miniature, with finite losses; the generic solvers run on what was trained, and the judge verifies what
    they find, or they say in a line why not."""
    path, problem = tmp_path / "trained.safetensors", played(name).name
    done = trained(name, recipe, path)
    assert done.limit == "steps" and np.isfinite(done.metrics[LEARNED[recipe]]) and np.isfinite(done.metrics["greedy"])
    instances = [instance for instance in small(problem) if solvable(name, instance)]
    for solver in ("muzero",) if recipe == "muzero" else ("policy", "tree-search"):
        found = []
        for instance in instances[:: max(1, len(instances) // 3)]:
            try:
                found.append(corl.solve(instance, problem=problem, solver=solver, policy=str(path), iterations=100))
            except UsageError as error:  # a network of the plane does not see a matrix
                said = str(error)
                assert "\n" not in said
        assert found and all(result.verified and result.status in ("feasible", "optimal") for result in found)


def solvable(name: str, instance: Any) -> bool:
    """Whether the environment takes the instance."""
    try:
        return played(name).environment([instance], 1).rows == 1
    except UsageError:
        return False


@pytest.mark.parametrize("problem", sorted(set(registry.problems()) - {name.split()[0] for name in LEARNABLE}))
def test_problems_that_networks_cannot_see_have_no_such_recipe(problem):
    """Without an environment and features there is nothing to learn from; the error lists what there is."""
    assert not set(RECIPES) & set(recipe_names(problem))
    for recipe in RECIPES:
        with pytest.raises(UsageError, match=f"^no recipe for {problem} is called '{recipe}'"):
            train(problem, recipe, steps=1)


@pytest.mark.parametrize(
    "recipe", [pytest.param(each, marks=pytest.mark.long if k % 3 else ()) for k, each in enumerate(RECIPES)]
)
def test_instances_without_a_choice(recipe):
    """Where no tree has more than its root there is nothing to learn, and one line says so: at the end, and soon."""
    options = tiny("milp-branching", recipe, generator="set-cover", size=20)
    for steps in (2, 10**6):
        with pytest.raises(UsageError, match=r"^in \d+ [a-z ]+ no state had two actions: nothing to learn; accepted: "):
            train("milp-branching", recipe, steps=steps, workers=0, device="cpu", **options)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_generation_without_a_choice_is_passed_over(recipe, monkeypatch):
    """Two generations of instances that nothing fits into bring no loss; the third does. (Imitation's are of four lessons.)"""
    count = 16 if recipe == "imitation" else 4
    full = {int(np.random.SeedSequence([0, number]).generate_state(1)[0]) for number in range(count)}
    problem, logged = registry.problem("knapsack"), []

    def generate(*, size: int = 5, seed: int = 0) -> Any:
        made = problem.__class__.generators["uniform"](size=size, seed=seed)
        return dataclasses.replace(made, capacities=np.zeros_like(made.capacities)) if seed in full else made

    monkeypatch.setattr(problem, "generators", {"some": generate}, raising=False)
    steps = {"steps": 3, "workers": 0, "device": "cpu", "on_progress": lambda training: logged.append(set(training.metrics))}
    train("knapsack", recipe, **tiny("knapsack", recipe), **steps)
    assert [LEARNED[recipe] in seen for seen in logged] == [False, False, True]


@pytest.mark.parametrize("recipe", ["alphazero", "imitation", "muzero"])
@pytest.mark.parametrize("teacher", ["exact", "auto", "nearest-neighbour"])
def test_teachers_are_limited_by_iterations(recipe, teacher):
    """Others would teach what the machine's load lets them; the error names those that there are."""
    with pytest.raises(UsageError, match=rf"^teacher is {teacher}; accepted: a solver limited by iterations: eax, .*ils"):
        train("tsp", recipe, steps=1, workers=0, device="cpu", **tiny("tsp", recipe, teacher=teacher))
    with pytest.raises(UsageError, match="no solver for tsp is called 'eaks'"):
        train("tsp", recipe, steps=1, workers=0, device="cpu", **tiny("tsp", recipe, teacher="eaks"))
