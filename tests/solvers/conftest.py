"""Fixtures of the solvers of every problem: policies without weights, and a problem of somebody else's."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from corl.policy import RulePolicy

_TOY = Path(__file__).resolve().parents[1] / "corl" / "learning" / "toy_knapsack.py"


class Nearness(RulePolicy):
    """A policy for tours: logits are minus the distance from the last city. It counts the states that it is shown."""

    problem, architecture, has_value = "tsp", "nearness", False

    def __init__(self) -> None:
        self.shown = self.calls = 0

    def evaluate(self, observation: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        seen = observation["coordinates"]
        self.shown, self.calls = self.shown + len(seen), self.calls + 1
        apart = np.linalg.norm(seen[:, :-2] - seen[:, -2:-1], axis=2)
        apart /= np.maximum(apart.max(axis=1, keepdims=True), 1e-9)
        return np.where(observation["mask"][:, :-2], -30.0 * apart, -np.inf), np.zeros(len(apart))


@pytest.fixture
def nearness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Nearness:
    """The nearness policy, which the generic solvers then get whatever the name; `file` is one to give."""
    from corl.networks import checkpoints

    policy = Nearness()
    policy.file = str(tmp_path / "nearness.safetensors")
    Path(policy.file).touch()
    monkeypatch.setattr(checkpoints, "_loaded", lambda path, changed: (policy, {}))
    return policy


@pytest.fixture(scope="session")
def knapsack_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the problem "toy-knapsack" as an installed distribution."""
    spec = importlib.util.spec_from_file_location("toy_knapsack", _TOY)
    known = "toy_knapsack" in sys.modules
    module = sys.modules.setdefault("toy_knapsack", importlib.util.module_from_spec(spec))
    if not known:
        spec.loader.exec_module(module)
    return module.install(tmp_path_factory.mktemp("knapsack"))


@pytest.fixture
def knapsack(knapsack_folder: Path, searched) -> ModuleType:
    """The module of "toy-knapsack", which is then a problem like any other."""
    searched(knapsack_folder)
    return sys.modules["toy_knapsack"]


@pytest.fixture
def shuffled():
    """A function (network, seed=0): a copy whose weights are the same numbers in another order, tensor by tensor.

    What a learned policy has learned is gone, and what its features and architecture give is left.
    """
    import torch

    def shuffle(network: Any, seed: int = 0) -> Any:
        network, order = copy.deepcopy(network), torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weights in network.parameters():
                weights.copy_(weights.flatten()[torch.randperm(weights.numel(), generator=order)].view_as(weights))
        return network

    return shuffle
