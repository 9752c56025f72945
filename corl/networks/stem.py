"""Stem: the first layer of a network, from the features of tokens to vectors, with a convolution over tokens that form a grid."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Stem"]

_CHANNELS = 8  # of the convolutions


class Stem(nn.Module):
    """A linear map of each token, plus a convolution over the last `grid` tokens, which follow each other in time.

    These tokens are treated as an image, time x features. The result of two 3 x 3 convolutions is added to the tokens' vectors;
    it is 0 before training.
    """

    def __init__(self, inputs: int, width: int, grid: int) -> None:
        super().__init__()
        self.grid = grid
        self.linear = nn.Linear(inputs, width)
        self.near, self.far = (nn.Conv2d(channels, _CHANNELS, 3, padding=1) for channels in (1, _CHANNELS))
        self.join = nn.Linear(_CHANNELS * inputs, width)
        nn.init.zeros_(self.join.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the vectors [R, T, D] of the tokens' features `x` [R, T, F]."""
        hidden: Tensor = self.linear(x)
        image = functional.gelu(self.far(functional.gelu(self.near(x[:, None, -self.grid :]))))
        convolved = self.join(image.transpose(1, 2).flatten(2))
        return torch.cat([hidden[:, : -self.grid], hidden[:, -self.grid :] + convolved], 1)
