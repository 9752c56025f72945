"""Value heads: what turns a hidden vector into a value, and the loss that trains it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from corl.errors import UsageError

__all__ = ["HLGaussHead", "ScalarHead", "value_head"]

_SPREAD = 0.75  # standard deviation of the targets in bins, as Farebrother et al. found it best


class ScalarHead(nn.Module):
    """One number, trained by the squared error."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., width] -> the head's output [..., 1], which the other two methods take."""
        return self.linear(hidden)  # type: ignore[no-any-return]

    def value(self, output: Tensor) -> Tensor:
        """[..., 1] -> the value [...]."""
        return output.squeeze(-1)

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """[..., 1], target [...] -> the loss [...]."""
        return (output.squeeze(-1) - target).square()


class HLGaussHead(nn.Module):
    """Values by classification: a histogram over [low, high], trained by cross-entropy against a Gaussian around the target.

    HL-Gauss of Imani & White (ICML 2018), as Farebrother et al. (2024, section 3.1) use it: bins of equal width, standard
    deviation 0.75 of one, the value is the mean of the bins' centres. Targets outside [low, high] count as the end.
    """

    edges: Tensor

    def __init__(self, width: int, low: float, high: float, bins: int = 51) -> None:
        super().__init__()
        if bins < 2 or not -math.inf < low < high < math.inf:
            raise UsageError(f"an HL-Gauss head takes at least 2 bins and finite low < high, not {bins}, {low:g}, {high:g}")
        self.linear = nn.Linear(width, bins)
        self.register_buffer("edges", torch.linspace(low, high, bins + 1), persistent=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., width] -> the head's output, logits [..., bins], which the other two methods take."""
        return self.linear(hidden)  # type: ignore[no-any-return]

    def value(self, output: Tensor) -> Tensor:
        """Logits [..., bins] -> the value [...]."""
        centres = (self.edges[1:] + self.edges[:-1]) / 2
        return output.float().softmax(-1) @ centres

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Logits [..., bins], target [...] -> the cross-entropy [...]."""
        return -(self.histogram(target) * output.float().log_softmax(-1)).sum(-1)

    def histogram(self, target: Tensor) -> Tensor:
        """Targets [...] -> their probabilities of the bins [..., bins]."""
        edges = self.edges
        deviation = _SPREAD * (edges[1] - edges[0])
        mean = target.float().clamp(edges[0], edges[-1]).unsqueeze(-1)
        below = torch.erf((edges - mean) / (deviation * math.sqrt(2.0)))
        return below.diff(dim=-1) / (below[..., -1:] - below[..., :1])


def value_head(width: int, config: dict[str, Any] | None) -> ScalarHead | HLGaussHead:
    """The head of a network's JSON config: None is scalar, {"low":, "high":, "bins":} is HL-Gauss. Raises UsageError."""
    if config is None:
        return ScalarHead(width)
    if unknown := sorted(set(config) - {"low", "high", "bins"}):
        raise UsageError(f"an HL-Gauss head has low, high and bins, not {unknown[0]!r}")
    return HLGaussHead(width, **config)
