"""Fixtures of the tests of training."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread():
    """torch with one thread, as a training run has it: small networks gain nothing by more, and a busy machine loses much."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def knapsack_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the problem "toy-knapsack" (toy_knapsack.py) as an installed distribution."""
    spec = importlib.util.spec_from_file_location("toy_knapsack", Path(__file__).with_name("toy_knapsack.py"))
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module.install(tmp_path_factory.mktemp("knapsack"))


@pytest.fixture
def knapsack(knapsack_folder: Path, searched) -> ModuleType:
    """The module of "toy-knapsack", which is then a problem like any other."""
    searched(knapsack_folder)
    return sys.modules["toy_knapsack"]
