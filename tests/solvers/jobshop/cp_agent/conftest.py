"""The instances and the enumeration of the problem's own tests, and an untrained network."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from corl.solvers.jobshop.cp_agent.network import CpAgentNetwork

_PATH = Path(__file__).resolve().parents[3] / "problems" / "jobshop" / "conftest.py"
_spec = importlib.util.spec_from_file_location("jobshop_instances", _PATH)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
random_instance, least = _module.random_instance, _module.least


@pytest.fixture(scope="session")
def network():
    """Weights at random, the same in every test."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return CpAgentNetwork(width=8, hidden=12).eval()
