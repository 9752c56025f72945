"""AlphaTensor's torso and value head (Fawzi et al. 2022, "Discovering faster matrix multiplication algorithms with reinforcement
learning", supplementary information): attention over pairs of the three grids on which the tensor is projected.

The policy head, which samples an action token by token, is left out.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from corl.problems.memory.mapping.tracing.models.attention import Attention

__all__ = ["AlphaTensor"]

_PAIRS = ((0, 1), (2, 0), (1, 2))


class _Block(nn.Module):
    """Self-attention over the 2 S tokens of slice i of one grid and slice i of another, for all i and all three pairs."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, bias=False)
        self.grow, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        y: Tensor = x + self.shrink(functional.gelu(self.grow(self.norm2(x))))
        return y


class _AttentiveModes(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.pairs = nn.ModuleList(_Block(width, heads) for _ in _PAIRS)

    def forward(self, grids: list[Tensor]) -> list[Tensor]:
        grids = list(grids)
        for block, (one, other) in zip(self.pairs, _PAIRS):
            batch, size, _, width = grids[one].shape
            tokens = torch.cat([grids[one], grids[other].transpose(1, 2)], 2).view(batch * size, 2 * size, width)
            first, second = block(tokens).view(batch, size, 2 * size, width).chunk(2, 2)
            grids[one], grids[other] = first, second.transpose(1, 2)
        return grids


class AlphaTensor(nn.Module):
    """From the last T tensors of S x S x S and some scalars to 8 quantiles of the value; sizes as for 4 x 4 matrices."""

    def __init__(
        self, size: int = 16, past: int = 7, scalars: int = 2, width: int = 512, heads: int = 16, blocks: int = 8
    ) -> None:
        super().__init__()
        self.scalar = nn.ModuleList(nn.Linear(scalars, size * size) for _ in range(3))
        self.project = nn.ModuleList(nn.Linear(past * size + 1, width) for _ in range(3))
        self.blocks = nn.ModuleList(_AttentiveModes(width, heads) for _ in range(blocks))
        layers: list[nn.Module] = []
        for before in (3 * size * size * width, width, width):
            layers += [nn.Linear(before, width), nn.ReLU()]
        self.value = nn.Sequential(*layers, nn.Linear(width, 8))

    def forward(self, tensors: Tensor, scalars: Tensor) -> Tensor:
        batch, past, size = tensors.shape[:3]
        grids = []
        for axis, (scalar, project) in enumerate(zip(self.scalar, self.project)):
            grid = tensors.movedim(1 + (axis + 1) % 3 + 1, 4).movedim(1, 4) if axis else tensors.movedim(1, 4)
            seen = grid.reshape(batch, size, size, past * size)
            grids.append(project(torch.cat([seen, scalar(scalars).view(batch, size, size, 1)], 3)))
        for block in self.blocks:
            grids = block(grids)
        quantiles: Tensor = self.value(torch.stack(grids, 1).flatten(1))
        return quantiles
