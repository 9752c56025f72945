"""Learning a policy from states whose best next action and best remaining length are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.learning.session import Training
    from corl.networks.policy import Policy

__all__ = ["Examples", "imitate"]

_WARM_UP = 0.02  # share of the run in which the learning rate rises
_CLOSE = 0.01  # of a remaining length: errors of values above it count in proportion, below it by their squares
_SAVE_EVERY = 300.0  # seconds between two saves of the unfinished network


class Examples(NamedTuple):
    """R states as Tokens have them, and what the teacher did."""

    x: NDArray[np.float32]
    mask: NDArray[np.bool_]
    pairs: NDArray[np.float32]
    slot: NDArray[np.int64]
    """[R] the slot of the best action; -1 where it has none, and then only the value is learned."""
    value: NDArray[np.float32]
    """[R] the best sum of the rewards to come, in the row's unit."""


def imitate(training: Training, network: Policy, batches: Iterator[Examples], rate: float, value_weight: float = 1.0) -> None:
    """Train until the session ends: cross-entropy of the best action plus `value_weight` times the error of the value.

    AdamW at `rate`, which rises over 2 % of the run and falls to 0 as a cosine. Saves the network, at the end and on the way.
    """
    import torch
    from torch.nn import functional

    from corl.learning.optimise import gradient_step
    from corl.networks.tokens import TokenBatch

    network.to(training.device)
    optimiser = torch.optim.AdamW(network.parameters(), lr=rate)
    training.manage(network=network, optimiser=optimiser)
    saved = training.seconds
    while training.budget():
        examples = next(batches)
        x, mask, pairs, slot, value = (torch.from_numpy(part).to(training.device) for part in examples)
        with training.autocast():
            logits, estimate = network(TokenBatch(x, mask, pairs))
        policy_loss = functional.cross_entropy(logits.float(), slot, ignore_index=-1)
        value_loss = functional.smooth_l1_loss(estimate.float(), value, beta=_CLOSE)
        loss = policy_loss + value_weight * value_loss
        gradient_step(optimiser, loss, rate, training.fraction, warm=_WARM_UP)
        hits = (logits.argmax(dim=1) == slot)[slot >= 0].float().mean()
        training.log(loss=policy_loss.item(), value_error=value_loss.item(), accuracy=hits.item())
        if training.seconds >= saved + _SAVE_EVERY:
            saved = training.seconds
            training.save(network)
    training.save(network)
