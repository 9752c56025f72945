"""The agent's calibration after training."""

from __future__ import annotations

import copy

import pytest
import torch
from jobshop_cp_agent import _PENALTIES, penalise_waiting

from corl.networks.checkpoints import load_policy


def test_waiting_is_penalised():
    """One of the penalties that are tried is taken off the logit of waiting, and nothing else changes."""
    network = load_policy("jobshop-cp")
    changed = copy.deepcopy(network)
    penalty = penalise_waiting(changed, [(6, 5)], 3)
    assert penalty in _PENALTIES
    assert network.out[1, -1].item() - changed.out[1, -1].item() == pytest.approx(penalty, rel=1e-5, abs=1e-6)
    with torch.no_grad():
        changed.out[1, -1] += penalty
    for mine, other in zip(network.parameters(), changed.parameters()):
        torch.testing.assert_close(mine, other)
