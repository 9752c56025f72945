"""The optimiser's step, which all recipes share: gradients clipped, the rate on a cosine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, optim

__all__ = ["gradient_step", "optimiser_step", "rate_share"]

_CLIP = 1.0  # largest norm of the gradient
_FIRST = 1e-3  # the first step of a rise learns a little already


def gradient_step(
    optimiser: optim.Optimizer, loss: Tensor, rate: float, fraction: float, *, warm: float = 0.0, clip: float = _CLIP
) -> None:
    """One step down the gradient of `loss`, see `optimiser_step`."""
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser_step(optimiser, rate, fraction, warm=warm, clip=clip)


def optimiser_step(
    optimiser: optim.Optimizer, rate: float, fraction: float, *, warm: float = 0.0, last: float = 0.0, clip: float = _CLIP
) -> None:
    """One step along the gradients that are there, of norm `clip` at most (inf: as they are), at `rate` times `rate_share`."""
    from torch.nn.utils import clip_grad_norm_

    for group in optimiser.param_groups:
        group["lr"] = rate * rate_share(fraction, warm, last)
    if math.isfinite(clip):
        clip_grad_norm_([parameter for group in optimiser.param_groups for parameter in group["params"]], clip)
    optimiser.step()


def rate_share(fraction: float, warm: float = 0.0, last: float = 0.0) -> float:
    """Share of the largest learning rate at a fraction of the run, 0..1: a rise over `warm` of it, then a cosine to `last`."""
    share = last + (1 - last) * (0.5 + 0.5 * math.cos(math.pi * fraction))
    return min((fraction + _FIRST) / warm, share) if warm else share
