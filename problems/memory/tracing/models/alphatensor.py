"""AlphaTensor's network, from the supplementary information of Fawzi et al. 2022, "Discovering faster matrix multiplication
algorithms with reinforcement learning".

The network projects the tensor (S x S x S) onto three grids of S x S vectors, and its torso attends over pairs of grids. A policy
head predicts the tokens of an action one after another; a value head predicts the return. The program is a forward pass as in
training: it processes all tokens of a known action at once, each attending to the tokens before it. An action has 3 S numbers
from -2 to 2. Their division into tokens is our choice: twelve tokens of four numbers each.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from corl.problems.memory.tracing.models.attention import Attention, causal

__all__ = ["AlphaTensor"]

_PAIRS = ((0, 1), (2, 0), (1, 2))  # of grids


class _Block(nn.Module):
    """Self-attention over 2 S tokens, those of slice i of one grid and of slice i of another one, for all i."""

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
    """A layer of the torso: attention over each pair of grids in turn."""

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


class _Decoder(nn.Module):
    """A layer of the policy head: each token attends to the tokens before it, then to the torso's vectors.

    There are no feed-forward layers.
    """

    def __init__(self, width: int, heads: int, memory: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.own, self.cross = Attention(width, heads, bias=False), Attention(width, heads, bias=False, memory=memory)

    def forward(self, x: Tensor, bias: Tensor, memory: Tensor) -> Tensor:
        x = self.norm1(x)
        x = self.norm2(x + self.own(x, bias))
        y: Tensor = x + self.cross(x, memory=memory)
        return y


class _PolicyHead(nn.Module):
    """Two decoder layers with 32 heads of 64 features.

    Maps an action's tokens, shifted by one, to the logits of each token and the vectors of the last layer.
    """

    def __init__(self, tokens: int, words: int, memory: int, layers: int = 2, heads: int = 32, features: int = 64) -> None:
        super().__init__()
        width = heads * features
        self.word, self.position = nn.Embedding(words + 1, width), nn.Parameter(torch.zeros(tokens, width))
        self.layers = nn.ModuleList(_Decoder(width, heads, memory) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        x = self.word(tokens) + self.position
        bias = causal(x)
        for layer in self.layers:
            x = layer(x, bias, memory)
        return self.head(torch.relu(x)), x


class AlphaTensor(nn.Module):
    """AlphaTensor's network with the sizes for 4 x 4 matrices.

    Maps the last T tensors of shape S x S x S, some scalars and an action's tokens to the logits of the tokens and eight
    quantiles of the value. The tokens are shifted by one: the first one marks the beginning.
    """

    def __init__(
        self, size: int = 16, past: int = 7, scalars: int = 2, width: int = 512, heads: int = 16, blocks: int = 8
    ) -> None:
        super().__init__()
        self.scalar = nn.ModuleList(nn.Linear(scalars, size * size) for _ in range(3))
        self.project = nn.ModuleList(nn.Linear(past * size + 1, width) for _ in range(3))
        self.blocks = nn.ModuleList(_AttentiveModes(width, heads) for _ in range(blocks))
        self.policy, layers = _PolicyHead(3 * size // 4, 5**4, width), list[nn.Module]()
        for before in (self.policy.head.in_features, width, width):
            layers += [nn.Linear(before, width), nn.ReLU()]
        self.value = nn.Sequential(*layers, nn.Linear(width, 8))

    def forward(self, tensors: Tensor, scalars: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        batch, past, size = tensors.shape[:3]
        grids = []
        for axis, (scalar, project) in enumerate(zip(self.scalar, self.project)):
            grid = tensors.movedim(1 + (axis + 1) % 3 + 1, 4).movedim(1, 4) if axis else tensors.movedim(1, 4)
            slices = grid.reshape(batch, size, size, past * size)
            grids.append(project(torch.cat([slices, scalar(scalars).view(batch, size, size, 1)], 3)))
        for block in self.blocks:
            grids = block(grids)
        logits, vectors = self.policy(tokens, torch.stack(grids, 1).flatten(1, 3))
        return logits, self.value(vectors[:, 0])
