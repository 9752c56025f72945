"""AttentionPolicy: a transformer over the tokens of a state.

As in BQ-NCO (Drakulic et al., NeurIPS 2023), with ReZero (Bachlechner et al., UAI 2021): each residual branch is multiplied by a
learned factor that starts at 0, and there is no normalisation. Features of pairs of tokens are added to the attention scores with
a learned weight per head (as in Graphormer, Ying et al., NeurIPS 2021).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from corl.errors import UsageError
from corl.networks.policy import NetworkPolicy, Shape
from corl.networks.stem import Stem
from corl.networks.tokens import TokenBatch, groups, token_sizes

if TYPE_CHECKING:
    from corl.adapter import Problem

__all__ = ["AttentionPolicy", "Layer"]

_GROUP = 64  # rows that are processed together in training on a CPU; with 32 rows, states of 22 tokens take a third longer


class AttentionPolicy(NetworkPolicy):
    """A ReZero transformer over Tokens, with attention biases from pairs of tokens, a logit for each slot, and a value."""

    architecture: ClassVar[str] = "attention"
    options: ClassVar[tuple[str, ...]] = ("grid", "caution")  # see NetworkPolicy

    def __init__(
        self,
        problem: str,
        features: str,
        inputs: int,
        pairs: int = 0,
        extra: int = 2,
        width: int = 96,
        layers: int = 3,
        heads: int = 8,
        feedforward: int = 192,
        value: bool = True,
        grid: int = 0,
        environment: str = "",
        caution: int = 0,
    ) -> None:
        """Create a network with random weights.

        Args:
            problem, features, environment: As for NetworkPolicy.
            inputs: F, the number of features of a token.
            pairs: P, the number of features of a pair of tokens; 0: none.
            extra: The number of tokens after the action slots.
            width: The width of the hidden vectors, a multiple of `heads`.
            layers: The number of layers.
            heads: The number of attention heads.
            feedforward: The width of the feed-forward networks.
            value: Whether there is a value head.
            grid: If above 0, the last `grid` tokens, which follow each other in time, also pass through a convolution (Stem).
            caution: The logit of an action is reduced by this multiple of the action's first feature. This is for features of
                which the first says how much worse the action is than the best one in the eyes of a rule. Imitation is without
                it (`imitated`), as a teacher's actions do not say what a mistake costs.

        Raises:
            UsageError: The sizes do not fit together.
        """
        super().__init__(problem, features, environment)
        if min(inputs, width, layers, heads, feedforward) < 1 or min(pairs, extra, grid, caution) < 0 or width % heads:
            raise UsageError(f"width is {width} and heads {heads}; accepted: a multiple of heads, and positive sizes")
        self.config = {
            "problem": problem, "features": features, "inputs": inputs, "pairs": pairs, "extra": extra, "width": width,
            "layers": layers, "heads": heads, "feedforward": feedforward, "value": value, "grid": grid,
            "environment": environment, "caution": caution,
        }  # fmt: skip
        self.extra, self.heads, self.has_value, self.caution = extra, heads, value, caution
        self.embed = Stem(inputs, width, grid) if grid else nn.Linear(inputs, width)
        self.bias = nn.Linear(pairs, layers * heads, bias=False) if pairs else None
        self.layers = nn.ModuleList(Layer(width, heads, feedforward) for _ in range(layers))
        self.score = nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1)) if value else None

    @classmethod
    def sized(cls, problem: Problem, instance: Any, shape: Shape) -> AttentionPolicy:
        """See NetworkPolicy.sized."""
        sizes = token_sizes(problem, shape.features, shape.environment, instance)
        width, layers, heads = shape.width, shape.layers, shape.heads
        return cls(**sizes, width=width, layers=layers, heads=heads, feedforward=2 * width, **shape.options)

    def forward(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward. Rows without any token have value 0, not NaN."""
        logits, values = self.imitated(batch)
        if self.caution:
            logits = logits - self.caution * batch[0][:, : logits.shape[1], 0]
        return logits, values

    def imitated(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """Return the logits without `caution`, and values, see NetworkPolicy.imitated.

        If gradients are computed on a CPU, rows with similar numbers of tokens are processed together, which saves the work for
        empty slots and changes results only by rounding.
        """
        batch = TokenBatch(*batch)
        if not torch.is_grad_enabled() or batch.x.device.type != "cpu" or len(batch.mask) < 2 * _GROUP:
            return self._whole_batch(batch)
        logits = batch.x.new_full((len(batch.mask), batch.mask.shape[1] - self.extra), float("-inf"))
        values = batch.x.new_zeros(len(batch.mask))
        for rows, slots, part in groups(batch, self.extra, _GROUP):
            present, value = self._whole_batch(part)
            logits = logits.index_put((rows[:, None], slots), present)
            values = values.index_put((rows,), value)
        return logits, values

    def _whole_batch(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """Return logits [R, K] and values [R]; tokens that are absent in all rows are skipped."""
        x, mask, pairs = batch
        tokens = mask.shape[1]
        slots = tokens - self.extra
        used = torch.cat([mask[:, :slots].any(0), mask.new_ones(self.extra)]).nonzero().squeeze(1)
        if len(used) < tokens:
            x, mask = x[:, used], mask[:, used]
            pairs = None if pairs is None else pairs[:, used[:, None], used]
        hidden = self.embed(x)
        for layer, bias in zip(self.layers, self._biases(mask, pairs)):
            hidden = layer(hidden, bias)
        present = len(used) - self.extra
        logits = hidden.new_full((len(mask), slots), float("-inf"))
        scores = self.score(hidden[:, :present]).squeeze(-1).masked_fill(~mask[:, :present], float("-inf"))
        return logits.index_copy(1, used[:present], scores), self._value(hidden, mask)

    def _biases(self, mask: Tensor, pairs: Tensor | None) -> list[Tensor]:
        """Return for each layer the tensor [R, H or 1, T or 1, T] that is added to the attention scores, and excludes tokens."""
        excluded = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -1e9)[:, None, None, :]
        if self.bias is None or pairs is None:
            return [excluded] * len(self.layers)
        rows, tokens = mask.shape
        biases = self.bias(pairs).view(rows, tokens, tokens, len(self.layers), self.heads).permute(3, 0, 4, 1, 2)
        return [bias + excluded for bias in biases]

    def _value(self, hidden: Tensor, mask: Tensor) -> Tensor:
        if self.value is None:
            return hidden.new_zeros(len(hidden))
        present = mask.to(hidden.dtype)[..., None]
        pooled = (hidden * present).sum(1) / present.sum(1).clamp_min(1.0)
        return self.value(pooled).squeeze(-1)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Two residual branches, attention and then a feed-forward network, each multiplied by its own ReZero factor."""

    gates: ClassVar[tuple[str, ...]] = ("rezero",)
    """The parameters that start at 0 and scale branches; the optimiser gives them a higher learning rate (learning.optimise)."""
    branches: ClassVar[tuple[str, ...]] = ("attention", "feed-forward")
    """The names of the branches, for the curves of a training (corl.learning.branches)."""

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.heads = heads
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, feedforward), nn.Linear(feedforward, width)
        self.rezero = nn.Parameter(torch.zeros(2))
        self.sizes: dict[str, float] | None = None
        """Branch -> the norm of its output as a share of its input's norm; `forward` fills the dict unless it is None."""

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """Return the next hidden vectors [R, T, D]; `bias` [R, H or 1, T or 1, T] is added to the scores before softmax."""
        hidden = self._added(0, hidden, self._attention(hidden, bias))
        return self._added(1, hidden, self.down(functional.gelu(self.up(hidden))))

    def _attention(self, hidden: Tensor, bias: Tensor) -> Tensor:
        rows, tokens, width = hidden.shape
        query, key, value = self.mix(hidden).view(rows, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attention = torch.softmax(query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5 + bias, dim=-1)
        mixed: Tensor = self.out((attention @ value).transpose(1, 2).reshape(rows, tokens, width))
        return mixed

    def _added(self, branch: int, hidden: Tensor, change: Tensor) -> Tensor:
        """Return `hidden` plus the output `change` of a branch, times its ReZero factor."""
        change = self.rezero[branch] * change
        if self.sizes is not None:
            with torch.no_grad():
                self.sizes[self.branches[branch]] = float(change.norm() / hidden.norm().clamp_min(1e-12))
        return hidden + change
