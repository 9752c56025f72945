"""The agent is trained by imitation of tabu search, which completes what it began."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl.errors import UsageError
from corl.learning.training import train
from corl.networks import checkpoints

TINY = {
    "network": "jobshop-cp", "width": 8, "teacher": "tabu", "teacher_iterations": 60, "completing": True, "sizes": "5,6",
    "batch": 6, "states": 12, "watch": 2, "every": 5,
}  # fmt: skip


def run(tmp_path, name, steps=4, **options):
    """The weights after some steps, and the session."""
    path = tmp_path / f"{name}.safetensors"
    given = {"steps": steps, "workers": 0, "device": "cpu", "output": path}
    done = train("jobshop", "imitation", **TINY | options, **given)
    return checkpoints.load(path)[0].state_dict(), done


def test_the_same_seed_gives_the_same_weights(tmp_path):
    """And other weights than the lessons of whole solutions do."""
    one, two, solved = (run(tmp_path, name, completing=name != "solved")[0] for name in ("one", "two", "solved"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], solved[name]) for name in one)


@pytest.mark.chance
def test_it_learns(tmp_path):
    """The loss on lessons of new instances falls, and so do the likeliest schedules of instances never seen."""
    losses, greedy = [], []

    def look(training):
        losses.append(training.metrics["loss"])
        greedy.append(training.metrics["greedy"])

    torch.manual_seed(0)
    options = TINY | {"sizes": "8", "rate": 1e-2, "watch": 24, "teacher_iterations": 200}
    train("jobshop", "imitation", steps=80, workers=0, device="cpu", **options, on_progress=look)
    assert np.mean(losses[-15:]) < 0.9 * np.mean(losses[:5]) and greedy[-1] < greedy[0]


def test_who_can_complete():
    """In a line with the solvers that can; and where the policy plays in another environment."""
    with pytest.raises(UsageError, match=r"^teacher is dispatch; accepted with completing: tabu$"):
        train("jobshop", "imitation", steps=1, **TINY | {"teacher": "dispatch"})
    with pytest.raises(UsageError, match=r"^tabu completes schedules of the environment intervals; accepted: this one$"):
        train("jobshop", "imitation", steps=1, workers=0, device="cpu", **TINY | {"network": "attention"})
