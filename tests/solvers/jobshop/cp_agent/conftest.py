"""An untrained network."""

from __future__ import annotations

import pytest
import torch

from corl.solvers.jobshop.cp_agent.network import CpAgentNetwork


@pytest.fixture(scope="session")
def network():
    """Weights at random, the same in every test."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return CpAgentNetwork(width=8, hidden=12).eval()
