"""The curves of a training run as TensorBoard reads them."""

from __future__ import annotations

import sys

import pytest

from corl import train
from corl.errors import UsageError
from corl.learning.tensorboard import TensorBoard
from corl.store import Store


def points(folder):
    """(step, name, value) of the points of a run's folder, in the order of steps."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder)).Reload()
    return sorted((point.step, name, point.value) for name in found.Tags()["scalars"] for point in found.Scalars(name))


def test_points_and_runs(tmp_path):
    """Each run in a folder of its name; large steps and long names; a point is there at once."""
    target = TensorBoard(tmp_path / "logs")
    target.add_curve("tsp imitation seed 0", 300, "loss", 0.5)
    assert points(tmp_path / "logs" / "tsp-imitation-seed-0") == [(300, "loss", 0.5)]
    target.add_curve("b", 2**40, "x" * 200, -2.0)
    target.add_curve("tsp imitation seed 0", 301, "loss", 0.25)
    assert points(tmp_path / "logs" / "tsp-imitation-seed-0") == [(300, "loss", 0.5), (301, "loss", 0.25)]
    assert points(tmp_path / "logs" / "b") == [(2**40, "x" * 200, -2.0)]


def test_a_training_writes_what_its_store_has(tmp_path):
    """The same points in both targets."""
    with Store(tmp_path / "runs.db", create=True) as store:
        arguments = {"size": 6, "width": 8, "batch": 4, "steps": 3, "workers": 0, "device": "cpu", "name": "r"}
        train("knapsack", "policy-gradient", store=store, logging=f"tensorboard:{tmp_path / 'logs'}", **arguments)
        curves = store.curves()["r"]
    found = points(tmp_path / "logs" / "r")
    expected = {(int(step), name) for name, each in curves.items() for step, _ in each}
    assert {(step, name) for step, name, _ in found} == expected and len(expected) > 3
    for step, name, value in found:
        assert value == pytest.approx(dict(curves[name])[step], rel=1e-6)


@pytest.mark.parametrize("logging", ["tensorboard", "tensorboard:", "wandb:x", 3])
def test_other_targets_are_refused(logging):
    """In one line, before anything is done."""
    with pytest.raises(UsageError, match=r"logging: .* is not accepted; accepted: tensorboard:FOLDER"):
        train("knapsack", "policy-gradient", steps=1, logging=logging)


def test_without_the_package(tmp_path, monkeypatch):
    """One line says what to install."""
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UsageError, match=r'pip install "\.\[tensorboard\]"'):
        train("knapsack", "policy-gradient", steps=1, logging=f"tensorboard:{tmp_path}")
