"""The network of the learned priority: a torch module with which the weights of the kernels are trained, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from corl.errors import UsageError
from corl.networks.compiled import array_of
from corl.solvers.memory.priority.items import FEATURES

if TYPE_CHECKING:
    from corl.solvers.memory.priority.construct import Weights

__all__ = ["PriorityNetwork"]


class PriorityNetwork(nn.Module):
    """The parameters of a `Weights` (construct.py).

    Initially the score is a compiler's priority, benefit over square root of size, and the hidden units, which are random, have
    no influence.
    """

    architecture: ClassVar[str] = "memory-priority"

    def __init__(self, width: int = 16) -> None:
        """Create a network with `width` hidden units. Raises UsageError if it is not positive."""
        super().__init__()
        if width < 1:
            raise UsageError(f"width is {width}; accepted: an integer from 1")
        self.config: dict[str, Any] = {"width": width}
        self.hidden = nn.Parameter(torch.randn(FEATURES + 1, width) * FEATURES**-0.5)
        out = torch.zeros(FEATURES + width + 1, 2)
        out[0, 0], out[1, 0] = 1.0, -0.5  # weights of the logarithms of benefit and size
        self.out = nn.Parameter(out)

    def weights(self) -> Weights:
        """Return the arrays that the kernels use."""
        from corl.solvers.memory.priority.construct import Weights

        return Weights(*(array_of(part, np.float64) for part in (self.hidden, self.out)))
