"""ScoringNetwork: the base of policies with a few hundred parameters that score each listed action."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from corl.environment import Environment
from corl.errors import UsageError
from corl.networks.compiled import array_of
from corl.networks.policy import NetworkPolicy, Shape
from corl.networks.tokens import TokenBatch
from corl.solvers.jobshop.scoring.forward import ScoringEvaluator, ScoringWeights

if TYPE_CHECKING:
    from typing import Self

    from corl.adapter import Problem

__all__ = ["ScoringNetwork"]


class ScoringNetwork(NetworkPolicy):
    """The logit of an action is a linear function of its features, plus a perceptron of the features of action and whole.

    A new network is a dispatching rule: the linear part is `rule`, the perceptron is 0.
    """

    extra = 1  # the number of tokens that belong to no action: one, that of the whole
    plays: ClassVar[type[Environment]]
    """The class of the environment."""
    observed: ClassVar[tuple[int, int]]
    """The numbers of columns of its observation of an action, and of entries of its observation of the whole."""
    counts: ClassVar[tuple[int, int]]
    """The numbers of features of an action, and of the whole."""
    rule: ClassVar[Mapping[int, float]]
    """Feature of an action -> its weight in a new network; the others have 0."""

    def __init__(self, width: int, problem: str, features: str, environment: str) -> None:
        """Initialise the network with `width` hidden units; 0: without the perceptron."""
        super().__init__(problem, features, environment)
        if width < 0:
            raise UsageError(f"width is {width}; accepted: an integer from 0")
        self.config = {"width": width, "problem": problem, "features": features, "environment": environment}
        self.line = nn.Parameter(torch.zeros(self.counts[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of a layer without units
            self.hidden = nn.Linear(sum(self.counts), width)
        self.out = nn.Parameter(torch.zeros(width))
        with torch.no_grad():
            for feature, weight in self.rule.items():
                self.line[feature] = weight

    def weights(self) -> ScoringWeights:
        """Return copies of the parameters, as arrays for the kernels."""
        hidden = torch.cat([self.hidden.weight.T, self.hidden.bias[None]])
        return ScoringWeights(array_of(self.line), array_of(hidden), array_of(self.out))

    def on(self, environment: Environment) -> ScoringEvaluator:
        """See NetworkPolicy.on."""
        if not isinstance(environment, self.plays):
            raise UsageError(
                f"a network {self.architecture} plays in the environment {self.config['environment']}; accepted: that one"
            )
        return ScoringEvaluator(environment, self.weights(), *self.observed)

    @classmethod
    def sized(cls, problem: Problem, instance: Any, shape: Shape) -> Self:
        """See NetworkPolicy.sized."""
        return cls(shape.width)  # type: ignore[call-arg]  # subclasses have defaults

    def forward(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward."""
        x, mask, _ = batch
        actions, whole = x[:, :-1, : self.counts[0]], x[:, -1, self.counts[0] :]
        logits = x.new_full((len(x), actions.shape[1]), float("-inf"))
        row, slot = mask[:, :-1].nonzero(as_tuple=True)
        listed = actions[row, slot]
        hidden = torch.tanh(self.hidden(torch.cat([listed, whole[row]], dim=1)))
        logits[row, slot] = listed @ self.line + hidden @ self.out
        return logits, logits.new_zeros(len(logits))
