"""The optimiser and its step, for all recipes: a separate learning rate for gates, clipped gradients, a cosine schedule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn, optim

__all__ = ["GATE_RATE", "gradient_step", "new_optimiser", "optimiser_step", "rate_share"]

GATE_RATE = 30.0
"""The learning rate of gates divided by that of other parameters, from experiments (instances/tsp/results/attention-layers.csv).

Gates are the factors of residual branches that start at 0."""
_CLIP = 1.0  # largest norm of the gradient
_FIRST = 1e-3  # added to the fraction of the run in a warm-up, so that its first step has a rate above 0


def new_optimiser(network: nn.Module, rate: float, *, decay: float = 0.01, gate_rate: float = GATE_RATE) -> optim.Optimizer:
    """Return AdamW for a network, with weight decay for matrices and none for vectors (biases, norms, gates).

    Gates are factors of residual branches that start at 0; a module names its gates in a tuple `gates`. Their learning rate is
    `gate_rate` times that of the weights. (AdamW changes a parameter by at most about the learning rate per step, whatever the
    gradient; at the rate of the weights, gates would stay near 0 for thousands of steps.)
    """
    import torch

    gate_ids = {id(getattr(module, name)) for module in network.modules() for name in _gates(module)}
    gates, vectors, weights = list[Any](), list[Any](), list[Any]()
    for parameter in network.parameters():
        (gates if id(parameter) in gate_ids else weights if parameter.ndim > 1 else vectors).append(parameter)
    groups = [
        {"params": weights, "weight_decay": decay, "share": 1.0},
        {"params": vectors, "weight_decay": 0.0, "share": 1.0},
        {"params": gates, "weight_decay": 0.0, "share": gate_rate},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=rate)


def _gates(module: nn.Module) -> tuple[str, ...]:
    """Return the attribute names of a module's gates; an attribute `gates` that is no tuple of names means something else."""
    names = getattr(module, "gates", ())
    return names if isinstance(names, tuple) and all(isinstance(name, str) for name in names) else ()


def gradient_step(
    optimiser: optim.Optimizer, loss: Tensor, rate: float, fraction: float, *, warm: float = 0.0, clip: float = _CLIP
) -> None:
    """Make one step down the gradient of `loss`, see `optimiser_step`."""
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser_step(optimiser, rate, fraction, warm=warm, clip=clip)


def optimiser_step(
    optimiser: optim.Optimizer, rate: float, fraction: float, *, warm: float = 0.0, last: float = 0.0, clip: float = _CLIP
) -> None:
    """Make one step along the gradients of the parameters.

    Args:
        optimiser: The optimiser; a group of parameters may have a "share", a factor of its learning rate (by default 1).
        rate: The largest learning rate of the run. The rate of this step is `rate` * `rate_share(fraction, warm, last)`.
        fraction: The share of the run that is done, 0..1.
        warm: The share of the run, at its start, over which the rate rises.
        last: The rate at the end of the run, as a share of `rate`.
        clip: The largest norm of the gradient; inf: no limit.
    """
    from torch.nn.utils import clip_grad_norm_

    for group in optimiser.param_groups:
        group["lr"] = rate * rate_share(fraction, warm, last) * group.get("share", 1.0)
    if math.isfinite(clip):
        clip_grad_norm_([parameter for group in optimiser.param_groups for parameter in group["params"]], clip)
    optimiser.step()


def rate_share(fraction: float, warm: float = 0.0, last: float = 0.0) -> float:
    """Return the share of the largest learning rate at a fraction of the run: a rise over `warm`, then a cosine to `last`."""
    share = last + (1 - last) * (0.5 + 0.5 * math.cos(math.pi * fraction))
    return min((fraction + _FIRST) / warm, share) if warm else share
