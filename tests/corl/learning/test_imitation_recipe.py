"""Recipe any.imitation: what it learns from does not depend on who makes it, when, or whether the run was interrupted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl import registry
from corl.learning.demonstrations import Teacher, demonstrate, taught_by
from corl.learning.training import train
from corl.networks import checkpoints
from corl.networks.attention import AttentionPolicy
from corl.networks.policy import Shape
from corl.problems.knapsack.generators import uniform as sacks
from corl.problems.tsp.generators import uniform
from corl.processes.workers import Workers

SMALL = {"width": 8, "layers": 1, "heads": 2, "watch": 0, "batch": 4, "states": 3, "device": "cpu"}
SOLVED = {"teacher": "dp", "teacher_iterations": 1, "size": 8, "uses": 2}
COMPLETED = {"network": "jobshop-cp", "teacher": "tabu", "teacher_iterations": 20, "completing": True, "size": 4, "uses": 2}


def weights(problem, path, steps=20, **options):
    """Of the network that a run makes."""
    train(problem, "imitation", steps=steps, output=path, **SMALL | options)
    return checkpoints.load(path)[0].state_dict()


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("problem", "options", "stops"),
    [
        ("knapsack", SOLVED, (11,)),
        pytest.param("knapsack", SOLVED, (3,), marks=pytest.mark.long),
        pytest.param("jobshop", COMPLETED, (3, 11), marks=pytest.mark.long),
    ],
)
def test_workers_and_interruption_change_nothing(problem, options, stops, tmp_path):
    """Two workers, and a run that goes on in the middle of a round, end with the weights of one that does it all itself."""
    whole = weights(problem, tmp_path / "whole.safetensors", workers=0, **options)
    assert same(whole, weights(problem, tmp_path / "two.safetensors", workers=2, **options))
    for at in stops:
        path = tmp_path / f"{at}.safetensors"

        def stop(training, at=at):
            if training.step >= at:
                training.interrupt()

        weights(problem, path, workers=0, on_progress=stop, **options)
        assert same(whole, weights(problem, path, workers=0, resume=True, **options))
    assert not same(whole, weights(problem, tmp_path / "once.safetensors", workers=0, **options | {"uses": 1}))


@pytest.mark.parametrize("block", [1, 5])
def test_a_block_of_lessons_is_in_the_making(block, monkeypatch):
    """In its first step a run takes `block` lessons, and has as many made for the round after: so many workers have work."""
    made = {"submit": 0, "take": 0}
    for name in made:
        method = getattr(Workers, name)

        def counted(workers, payload, name=name, method=method):
            made[name] += 1
            return method(workers, payload)

        monkeypatch.setattr(Workers, name, counted)
    train("knapsack", "imitation", steps=1, workers=0, block=block, **SMALL | SOLVED)
    assert made == {"submit": 2 * block, "take": block}


def test_a_teacher_solves_as_corl_solve_does():
    """Prepared once for all instances, it finds the same solutions; for those that it refuses the error is the same."""
    import corl

    problem, instances = registry.problem("tsp"), [uniform(size=20, seed=seed) for seed in range(3)]
    found = taught_by(Teacher("ils", 30), problem, instances, [5, 6, 7])
    for one, instance, seed in zip(found, instances, (5, 6, 7)):
        np.testing.assert_array_equal(one, corl.solve(instance, problem="tsp", solver="ils", iterations=30, seed=seed).solution)
    with pytest.raises(corl.UsageError, match="cannot solve this instance because"):
        taught_by(Teacher("eax", 30), problem, [corl.generate("tsp", "asymmetric", size=8)], [1])


def test_a_solution_is_followed_from_several_starts():
    """A tour of seven cities gives three episodes, which begin in different states; a sack, with one start, gives one."""
    random = np.random.default_rng(0)
    for name, instance, solver, count in (("tsp", uniform(size=7), "ils", 3), ("knapsack", sacks(size=7), "dp", 1)):
        problem = registry.problem(name)
        network = AttentionPolicy.sized(problem, instance, Shape(width=8, heads=2))
        episodes = demonstrate(network, problem, [instance], Teacher(solver, 10, False, 3), 2, random)
        assert len(episodes.lengths) == count and len(set(episodes.objective.round(6))) == 1
