"""Values by classification: the last layer of a network returns logits of the bins of a histogram over possible values."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from corl.errors import UsageError

__all__ = ["HLGauss"]

_SPREAD = 0.75  # standard deviation of the targets, in widths of a bin: the best value in Farebrother et al.


class HLGauss(nn.Module):
    """A histogram over [low, high], trained by cross-entropy against a Gaussian around the target.

    The method of Imani & White (ICML 2018), as in section 3.1 of Farebrother et al. (2024): the bins have equal widths, the
    standard deviation of the Gaussian is 0.75 of a bin's width, and the value is the mean of the bins' centres, weighted by their
    probabilities. A target outside [low, high] is replaced by the nearer end.
    """

    edges: Tensor
    """float32 [bins + 1], the ends of the bins, ascending."""

    def __init__(self, low: float, high: float, bins: int = 51) -> None:
        super().__init__()
        if bins < 2 or not -math.inf < low < high < math.inf:
            raise UsageError(f"HL-Gauss takes at least 2 bins and finite low < high, not {bins} bins from {low:g} to {high:g}")
        self.register_buffer("edges", torch.linspace(low, high, bins + 1), persistent=False)

    def mean(self, output: Tensor) -> Tensor:
        """Return the values [...] of logits [..., bins]."""
        centres = (self.edges[1:] + self.edges[:-1]) / 2
        return output.float().softmax(-1) @ centres

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy [...] of logits [..., bins] against targets [...]."""
        return -(self.histogram(target) * output.float().log_softmax(-1)).sum(-1)

    def histogram(self, target: Tensor) -> Tensor:
        """Return the probabilities of the bins, [..., bins], for targets [...]."""
        edges = self.edges
        deviation = _SPREAD * (edges[1] - edges[0])
        mean = torch.minimum(torch.maximum(target.float(), edges[0]), edges[-1]).unsqueeze(-1)
        cumulative = torch.erf((edges - mean) / (deviation * math.sqrt(2.0)))
        return cumulative.diff(dim=-1) / (cumulative[..., -1:] - cumulative[..., :1])
