"""Policy: a network from an observation to logits of the listed actions and a value."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from corl.errors import UsageError
from corl.networks.tokens import Tokens

__all__ = ["Policy"]


class Policy(nn.Module, abc.ABC):
    """A network that reads one problem's observations through one of its `Problem.features`.

    A subclass calls `super().__init__(problem, features)` and sets `config` and `has_value`. It is rebuilt from a checkpoint
    as `cls(**config)`.
    """

    architecture: ClassVar[str]
    """Its entry-point name in the group `corl.networks`."""
    config: dict[str, Any]
    """JSON values: the keyword arguments that rebuild it, "problem" and "features" among them."""
    has_value: bool = False
    """Whether `value` means anything; otherwise it is 0."""

    def __init__(self, problem: str, features: str) -> None:
        super().__init__()
        self.problem, self.features = problem, features

    @abc.abstractmethod
    def forward(self, x: Tensor, mask: Tensor, pairs: Tensor | None) -> tuple[Tensor, Tensor]:
        """The tensors of Tokens -> logits float32 [R, K], -inf in empty slots, and values float32 [R] in the row's unit."""

    def tokens(self, observation: Mapping[str, NDArray[Any]]) -> Tokens:
        """The tokens of an observation. Raises UsageError where the problem has no such features."""
        from corl.registry import problem

        known = problem(self.problem).features
        if self.features not in known:
            raise UsageError(f"{self.problem} has no features {self.features!r}; accepted: {', '.join(known) or 'none'}")
        return known[self.features](observation)

    def evaluate(self, observation: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Logits float32 [R, K] of the listed actions, -inf in empty slots, and values float64 [R].

        A value is the expected sum of the rewards to come in the environment's units (0 without a value head). Call it in
        eval mode (`corl.load_policy` returns it so); a row's numbers depend on the batch by rounding alone.
        """
        seen = self.tokens(observation)
        with torch.inference_mode():
            logits, value = self(*self.tensors(seen))
        return logits.float().cpu().numpy(), value.double().cpu().numpy() * seen.scale

    def tensors(self, tokens: Tokens) -> tuple[Tensor, Tensor, Tensor | None]:
        """The arguments of `forward` on the network's device."""
        device = next(self.parameters()).device
        pairs = None if tokens.pairs is None else torch.from_numpy(tokens.pairs).to(device)
        return torch.from_numpy(tokens.x).to(device), torch.from_numpy(tokens.mask).to(device), pairs
