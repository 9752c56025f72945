"""QueueNetwork: a policy with a few hundred parameters that chooses which waiting job a free machine processes next."""

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
from corl.problems.jobshop.environments.arriving.features import JOB_FEATURES, SHOP_FEATURES
from corl.solvers.jobshop.arriving.forward import QueueEvaluator, QueueWeights

if TYPE_CHECKING:
    from corl.adapter import Problem

__all__ = ["QueueNetwork"]


class QueueNetwork(NetworkPolicy):
    """The logit of a job is a linear function of its features, plus a perceptron of the features of job and shop.

    A new network is the dispatching rule "apparent tardiness cost": the linear part is the sum of the first two features, which
    is the logarithm of that cost; the perceptron is 0.
    """

    architecture: ClassVar[str] = "jobshop-queue"
    extra = 1  # the number of tokens that belong to no job: one, that of the shop

    def __init__(self, width: int = 16, problem: str = "jobshop", features: str = "queue", environment: str = "arriving") -> None:
        """Initialise the network with `width` hidden units; 0: without the perceptron."""
        super().__init__(problem, features, environment)
        if width < 0:
            raise UsageError(f"width is {width}; accepted: an integer from 0")
        self.config = {"width": width, "problem": problem, "features": features, "environment": environment}
        self.line = nn.Parameter(torch.zeros(JOB_FEATURES))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of a layer without units
            self.hidden = nn.Linear(JOB_FEATURES + SHOP_FEATURES, width)
        self.out = nn.Parameter(torch.zeros(width))
        with torch.no_grad():
            self.line[:2] = 1.0

    def weights(self) -> QueueWeights:
        """Return copies of the parameters, as arrays for the kernels."""
        hidden = torch.cat([self.hidden.weight.T, self.hidden.bias[None]])
        return QueueWeights(array_of(self.line), array_of(hidden), array_of(self.out))

    def on(self, environment: Environment) -> QueueEvaluator:
        """See NetworkPolicy.on."""
        return QueueEvaluator(environment, self.weights())

    @classmethod
    def sized(cls, problem: Problem, instance: Any, shape: Shape) -> QueueNetwork:
        """See NetworkPolicy.sized."""
        return cls(shape.width)

    def forward(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward."""
        x, mask, _ = batch
        jobs, shop = x[:, :-1, :JOB_FEATURES], x[:, -1, JOB_FEATURES:]
        logits = x.new_full((len(x), jobs.shape[1]), float("-inf"))
        row, slot = mask[:, :-1].nonzero(as_tuple=True)
        listed = jobs[row, slot]
        hidden = torch.tanh(self.hidden(torch.cat([listed, shop[row]], dim=1)))
        logits[row, slot] = listed @ self.line + hidden @ self.out
        return logits, logits.new_zeros(len(logits))
