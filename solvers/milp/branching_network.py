"""`BranchingNetwork`: a branching policy in torch, for training; kernels evaluate it elsewhere (scoring.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from corl.solvers.milp.branching_features import FEATURES
from corl.solvers.milp.scoring import CLIP, Scorer

if TYPE_CHECKING:
    from corl.solvers.milp.reliability.network import GainNetwork

__all__ = ["BranchingNetwork", "scorer_of"]


class BranchingNetwork(nn.Module):
    """A perceptron with two hidden layers on each candidate's features.

    family: what it was trained on; lower, upper: the range of such programs' signatures (signature.py).
    """

    architecture: ClassVar[str] = "milp-branching"
    mean: Tensor
    scale: Tensor

    def __init__(
        self, problem: str = "milp", family: str = "", lower: Sequence[float] = (), upper: Sequence[float] = (),
        hidden: Sequence[int] = (32, 16),
    ) -> None:  # fmt: skip
        super().__init__()
        self.problem = problem
        self.config: dict[str, Any] = {
            "problem": problem, "family": family, "lower": list(lower), "upper": list(upper), "hidden": list(hidden),
        }  # fmt: skip
        self.register_buffer("mean", torch.zeros(len(FEATURES)))
        self.register_buffer("scale", torch.ones(len(FEATURES)))
        self.first, self.second = nn.Linear(len(FEATURES), hidden[0]), nn.Linear(hidden[0], hidden[1])
        self.last = nn.Linear(hidden[1], 1, bias=False)

    def standardise(self, features: Tensor) -> None:
        """Take mean and deviation from training features [N, F]."""
        self.mean.copy_(features.mean(0))
        self.scale.copy_(1.0 / features.std(0, correction=0).clamp(min=1e-3))

    def forward(self, features: Tensor) -> Tensor:
        """Scores [...] of candidates with features [..., F]."""
        x = ((features - self.mean) * self.scale).clamp(-CLIP, CLIP)
        scores: Tensor = self.last(torch.relu(self.second(torch.relu(self.first(x)))))
        return scores.squeeze(-1)


def scorer_of(network: BranchingNetwork | GainNetwork) -> Scorer:
    """The weights as they are now, copied for kernels."""
    parts = (
        network.mean, network.scale, network.first.weight.t(), network.first.bias, network.second.weight.t(), network.second.bias,
        network.last.weight[0],
    )  # fmt: skip
    return Scorer(*(np.array(part.detach().cpu().numpy(), np.float32, order="C") for part in parts))
