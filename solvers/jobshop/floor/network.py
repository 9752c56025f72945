"""FloorNetwork: a policy with a few hundred parameters that chooses what starts next on a shop floor."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from corl.environment import Environment
from corl.errors import UsageError
from corl.networks.compiled import array_of
from corl.networks.policy import NetworkPolicy, Shape
from corl.networks.tokens import TokenBatch
from corl.problems.jobshop.environments.floor.features import ACTION_FEATURES, FLOOR_FEATURES, LINEAR
from corl.solvers.jobshop.floor.forward import FloorEvaluator, FloorWeights

if TYPE_CHECKING:
    from corl.adapter import Problem

__all__ = ["FloorNetwork"]

_RULE = {"rate": 1.0, "covert": 1.0, "setup": 4.0, "regret": 8.0, "wait": -10.0}
"""The linear part of a new network: the rule covert, with weights from days to choose on (tests/studies/jobshop_floor.py)."""


class FloorNetwork(NetworkPolicy):
    """The logit of an action is a linear function of its features, plus a perceptron of the features of action and floor.

    A new network is the dispatching rule "cost over time" with weights of set-up and regret: the linear part is the logarithm of
    its priority; the perceptron is 0.
    """

    architecture: ClassVar[str] = "jobshop-floor"
    extra = 1  # the number of tokens that belong to no action: one, that of the floor

    def __init__(self, width: int = 16, problem: str = "jobshop", features: str = "floor", environment: str = "floor") -> None:
        """Initialise the network with `width` hidden units; 0: without the perceptron."""
        super().__init__(problem, features, environment)
        if width < 0:
            raise UsageError(f"width is {width}; accepted: an integer from 0")
        self.config = {"width": width, "problem": problem, "features": features, "environment": environment}
        self.line = nn.Parameter(torch.zeros(ACTION_FEATURES))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of a layer without units
            self.hidden = nn.Linear(ACTION_FEATURES + FLOOR_FEATURES, width)
        self.out = nn.Parameter(torch.zeros(width))
        with torch.no_grad():
            for name, weight in _RULE.items():
                self.line[LINEAR[name]] = weight

    def weights(self) -> FloorWeights:
        """Return copies of the parameters, as arrays for the kernels."""
        hidden = torch.cat([self.hidden.weight.T, self.hidden.bias[None]])
        return FloorWeights(array_of(self.line), array_of(hidden), array_of(self.out))

    def on(self, environment: Environment) -> FloorEvaluator:
        """See NetworkPolicy.on."""
        return FloorEvaluator(environment, self.weights())

    @classmethod
    def sized(cls, problem: Problem, instance: Any, shape: Shape) -> FloorNetwork:
        """See NetworkPolicy.sized."""
        return cls(shape.width)

    def forward(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward."""
        x, mask, _ = batch
        actions, floor = x[:, :-1, :ACTION_FEATURES], x[:, -1, ACTION_FEATURES:]
        logits = x.new_full((len(x), actions.shape[1]), float("-inf"))
        row, slot = mask[:, :-1].nonzero(as_tuple=True)
        listed = actions[row, slot]
        hidden = torch.tanh(self.hidden(torch.cat([listed, floor[row]], dim=1)))
        logits[row, slot] = listed @ self.line + hidden @ self.out
        return logits, logits.new_zeros(len(logits))
