"""Option beside of imitation: one network of several tasks, each of which learns; resumed runs and workers change no bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import corl
from corl.errors import InputError, UsageError
from corl.learning.training import train
from corl.networks import checkpoints
from corl.networks.shared import SharedAttention

SMALL = {"width": 16, "layers": 1, "heads": 2, "watch": 24, "batch": 8, "states": 4, "device": "cpu", "every": 30, "rate": 0.01}
TASKS = """
[[task]]
problem = "tsp"
teacher = "ils"
teacher_iterations = 60
generator = "asymmetric"
features = "matrix"
size = 8
batch = 8
states = 4
watch = 24
every = 30
name = "atsp"

[[task]]
problem = "jobshop"
teacher = "tabu"
teacher_iterations = 100
completing = true
environment = "intervals"
sizes = [5, 6]
batch = 8
states = 4
watch = 24
every = 30
"""
SACKS = {"teacher": "dp", "teacher_iterations": 1000, "generator": "uniform", "size": 12}


@pytest.fixture
def tasks(tmp_path):
    (tmp_path / "tasks.toml").write_text(TASKS)
    return tmp_path / "tasks.toml"


def run(tasks, steps, **options):
    return train("knapsack", "imitation", steps=steps, beside=str(tasks), **SMALL | SACKS | options)


def test_three_tasks_learn(tasks):
    """After 40 steps on each, every watched mean is better than at first, and the file's network is that of the three."""
    seen = {}

    def note(training):
        for name, value in training.metrics.items():
            if name.startswith("greedy"):
                seen.setdefault(name, []).append(value)

    network = run(tasks, 180, workers=0, on_progress=note).network
    assert isinstance(network, SharedAttention) and network.problems == ["jobshop", "knapsack", "tsp"]
    assert set(seen) == {"greedy knapsack", "greedy atsp", "greedy jobshop"}
    assert seen["greedy knapsack"][-1] > seen["greedy knapsack"][0]
    for name in ("greedy atsp", "greedy jobshop"):
        assert seen[name][-1] < seen[name][0]


def test_workers_and_interruption_change_nothing(tasks, tmp_path):
    """Two workers, and a run that goes on in the middle of a turn, end with the bits of one that does it all itself."""
    few = {"watch": 0, "uses": 2}
    tasks.write_text(TASKS.replace("watch = 24", "watch = 0\nuses = 2").replace("batch = 8", "batch = 4"))

    def made(name, **options):
        run(tasks, 34, output=tmp_path / name, **few | options)
        return checkpoints.load(tmp_path / name)[0].state_dict()

    whole = made("whole.safetensors", workers=0)
    for at in (7, 26):
        made(f"{at}.safetensors", workers=0, on_progress=lambda t, at=at: t.step >= at and t.interrupt())
        again = made(f"{at}.safetensors", workers=0, resume=True)
        assert all(torch.equal(weights, again[name]) for name, weights in whole.items())
    two = made("two.safetensors", workers=2)
    assert all(torch.equal(weights, two[name]) for name, weights in whole.items())


def test_it_begins_with_what_there_is(tasks, tmp_path):
    """From a policy of one problem the layers and its adapters, from a shared network all its tasks."""
    train("knapsack", "imitation", steps=2, workers=0, output=tmp_path / "k.safetensors", **SMALL | SACKS)
    alone, options = corl.load_policy(tmp_path / "k.safetensors"), {"workers": 0, "rate": 1e-12, "watch": 0}
    first = run(tasks, 1, start=str(tmp_path / "k.safetensors"), output=tmp_path / "one.safetensors", **options).network
    for name, weights in alone.state_dict().items():
        np.testing.assert_allclose(first.of("knapsack").state_dict()[name], weights, atol=1e-6)
    again = run(tasks, 1, start=str(tmp_path / "one.safetensors"), **options).network
    for name, weights in first.state_dict().items():
        np.testing.assert_allclose(again.state_dict()[name], weights, atol=1e-6)
    lone = SMALL | options | {"teacher": "tabu", "environment": "intervals", "size": 5}
    network = train("jobshop", "imitation", steps=1, start=str(tmp_path / "one.safetensors"), **lone).network
    assert network.architecture == "attention" and network.problem == "jobshop"


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", InputError, r"task: missing"),
        ("[[task]]\nproblem = 'chess'", InputError, r"task\[1\]: no problem is called 'chess'"),
        ("[[task]]\nproblem = 'tsp'", InputError, r"task\[1\]: imitation needs the option teacher"),
        ("[[task]]\nproblem = 'tsp'\nrecipe = 'heatmap'", InputError, r"heatmap is no imitation"),
        ("[[task]]\nproblem = 'tsp'\nteacher = 'ils'\nwidth = 9", InputError, r"task\[1\].width: it is the first task's"),
        ("[[task]]\nproblem = 'tsp'\nteacher = 'ils'\nsizzes = 9", InputError, r"task\[1\]: .*no option 'sizzes'"),
        ("[[task]]\nproblem = 'tsp'\nteacher = 'exact'\ncompleting = true", InputError, r"task\[1\]: teacher is exact; accepted"),
        ("[[task]]\nproblem = 'knapsack'\nteacher = 'dp'", UsageError, r"names that differ|two are of the same"),
        ("speed = 3\n[[task]]\nproblem = 'tsp'\nteacher = 'ils'", InputError, r"speed: not a known key"),
    ],
)
def test_faults_in_the_file(text, error, words, tmp_path):
    """One line with the file and the task."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(error, match=words):
        run(path, 1, workers=0)


def test_architectures_that_share_no_layers(tasks):
    """They are refused."""
    options = {"network": "jobshop-cp", "teacher": "tabu", "watch": 0, "size": 4}
    with pytest.raises(UsageError, match="shares no layers; accepted: attention"):
        train("jobshop", "imitation", steps=1, workers=0, beside=str(tasks), **options)
