"""AlphaZero's learning with Gumbel search: play by search, imitate what the search made of the policy, predict the return.

Danihelka et al., ICLR 2022 (Gumbel AlphaZero); Pirnay & Grimm's GAZ PTP (ICLR 2023) and BQ-NCO (Drakulic et al., NeurIPS
2023) for single-player optimisation: the value is what the *remaining* sub-problem brings, in a unit of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from corl.learning.replay import Replay
from corl.networks.policy import Policy

__all__ = ["Batch", "draw", "loss"]


class Batch(NamedTuple):
    """N moves of a replay."""

    x: Tensor
    """[N, T, F], with mask [N, T] and pairs [N, T, T, P] or None as in Tokens."""
    mask: Tensor
    pairs: Tensor | None
    policy: Tensor
    """float32 [N, K] probabilities"""
    value: Tensor
    """float32 [N] the return of what remained, in the row's unit"""


def draw(replay: Replay, at: NDArray[np.int64], device: torch.device) -> Batch:
    """The moves at the places `at` [N] of a replay of self-play's moves."""
    fields = replay.fields
    value = (fields["come"][at] / fields["scale"][at]).astype(np.float32)
    x, mask, policy = (torch.from_numpy(fields[name][at]).to(device) for name in ("x", "mask", "policy"))
    pairs = torch.from_numpy(fields["pairs"][at]).to(device) if "pairs" in fields else None
    return Batch(x, mask, pairs, policy, torch.from_numpy(value).to(device))


def loss(network: Policy, batch: Batch, value_weight: float) -> tuple[Tensor, dict[str, float]]:
    """Cross-entropy with the improved policy + `value_weight` times the squared error of the value; and both terms."""
    logits, value = network(batch.x, batch.mask, batch.pairs)
    policy_term = -(batch.policy * functional.log_softmax(logits, dim=1).clamp_min(-1e4)).sum(dim=1).mean()
    value_term = functional.mse_loss(value, batch.value)
    return policy_term + value_weight * value_term, {"policy": policy_term.item(), "value": value_term.item()}
