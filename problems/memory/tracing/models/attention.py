"""BERT (Devlin et al. 2018), GPT-2 (Radford et al. 2019), ViT (Dosovitskiy et al. 2020) and T5 (Raffel et al. 2019).

Attention is written out: the scores are a tensor of the program, as in PyTorch's eager mode.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["T5", "Bert", "Gpt2", "Vit"]


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """Return softmax(query key^T scale + bias) value with the heads concatenated, [B, S, heads D].

    query, key, value: [B, heads, S, D]; bias: added to the scores [B, heads, S, S], or None.
    """
    scores = query @ key.transpose(-1, -2)
    scores = scores * scale if scale != 1.0 else scores
    scores = scores if bias is None else scores + bias
    mixed = (scores.softmax(-1) @ value).transpose(1, 2)
    return mixed.reshape(*mixed.shape[:2], -1)


def heads_of(x: Tensor, heads: int) -> Tensor:
    """Return x, [B, S, heads D], as a view [B, heads, S, D]."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


class Attention(nn.Module):
    """Multi-head attention with separate projections of query, key and value."""

    def __init__(self, width: int, heads: int, bias: bool = True, inner: int = 0, scaled: bool = True, memory: int = 0) -> None:
        """Create the layer.

        Args:
            width: The width of the input x.
            heads: The number of heads.
            bias: Whether the projections have biases.
            inner: The total width of the heads; 0: `width`.
            scaled: Whether scores are divided by the square root of a head's width.
            memory: The width of the sequence that x attends to; 0: `width`.
        """
        super().__init__()
        inner, memory = inner or width, memory or width
        self.heads, self.scale = heads, 1 / math.sqrt(inner // heads) if scaled else 1.0
        self.query, self.key, self.value = (nn.Linear(of, inner, bias) for of in (width, memory, memory))
        self.out = nn.Linear(inner, width, bias)

    def forward(self, x: Tensor, bias: Tensor | None = None, memory: Tensor | None = None) -> Tensor:
        source = x if memory is None else memory
        query, key, value = (heads_of(p(y), self.heads) for p, y in ((self.query, x), (self.key, source), (self.value, source)))
        mixed: Tensor = self.out(attend(query, key, value, bias, self.scale))
        return mixed


class _BertLayer(nn.Module):
    """Attention and two dense layers, each followed by a residual connection and normalisation."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.norm1 = Attention(width, heads), nn.LayerNorm(width, 1e-12)
        self.grow, self.shrink, self.norm2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.LayerNorm(width, 1e-12)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        x = self.norm1(self.attention(x, bias) + x)
        y: Tensor = self.norm2(self.shrink(functional.gelu(self.grow(x))) + x)
        return y


class Bert(nn.Module):
    """BERT of the base size: 12 layers, width 768, 12 heads.

    Maps tokens, token types and a mask to the vectors of the last layer and the pooled vector of the first token.
    """

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12, words: int = 30522, positions: int = 512) -> None:
        super().__init__()
        self.word, self.position, self.segment = (nn.Embedding(count, width) for count in (words, positions, 2))
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(_BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        position = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.word(tokens) + self.segment(types) + self.position(position))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))


class _PreNormLayer(nn.Module):
    """Attention and two dense layers, each with normalisation before it; query, key and value come from one projection."""

    def __init__(self, width: int, heads: int, approximate: str) -> None:
        super().__init__()
        self.heads, self.approximate = heads, approximate
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.grow, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        query, key, value = (heads_of(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(attend(query, key, value, bias, 1 / math.sqrt(query.shape[-1])))
        y: Tensor = x + self.shrink(functional.gelu(self.grow(self.norm2(x)), approximate=self.approximate))
        return y


def causal(x: Tensor) -> Tensor:
    """Return the bias of the scores, [S, S], that hides later positions from each of the S positions of x."""
    length = x.shape[1]
    return torch.full((length, length), torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device).triu(1)


class Gpt2(nn.Module):
    """GPT-2 of the small size: 12 layers, width 768, 12 heads. Maps tokens to logits; the output layer is the tied embedding."""

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12, words: int = 50257, positions: int = 1024) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.layers = nn.ModuleList(_PreNormLayer(width, heads, "tanh") for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.word.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.word(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        bias = causal(x)
        for layer in self.layers:
            x = layer(x, bias)
        logits: Tensor = self.head(self.norm(x))
        return logits


class Vit(nn.Module):
    """ViT of the base size: 12 layers, width 768, 12 heads. Maps pictures of 224 x 224, in 16 x 16 patches, to 1000 classes."""

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12, patch: int = 16, side: int = 224) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, (side // patch) ** 2 + 1, width))
        self.layers = nn.ModuleList(_PreNormLayer(width, heads, "none") for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, pictures: Tensor) -> Tensor:
        patches = self.patches(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(patches), -1, -1), patches], 1) + self.position
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.head(self.norm(x)[:, 0])
        return logits


class _RootMeanSquare(nn.Module):
    """Normalisation by the root mean square, without mean and bias."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class _T5Layer(nn.Module):
    """Self-attention, cross-attention to the encoder (only in a decoder), and two dense layers.

    Each has normalisation before it and a residual connection.
    """

    def __init__(self, width: int, heads: int, inner: int, dense: int, decoder: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(_RootMeanSquare(width) for _ in range(3 if decoder else 2))
        self.attention = Attention(width, heads, False, inner, scaled=False)
        self.cross = Attention(width, heads, False, inner, scaled=False) if decoder else None
        self.grow, self.shrink = nn.Linear(width, dense, bias=False), nn.Linear(dense, width, bias=False)

    def forward(self, x: Tensor, bias: Tensor, memory: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norms[0](x), bias)
        if self.cross is not None:
            x = x + self.cross(self.norms[1](x), memory=memory)
        y: Tensor = x + self.shrink(torch.relu(self.grow(self.norms[-1](x))))
        return y


class _T5Stack(nn.Module):
    """The encoder or the decoder of T5."""

    def __init__(self, layers: int, width: int, heads: int, inner: int, dense: int, decoder: bool) -> None:
        super().__init__()
        self.decoder, self.bias = decoder, nn.Embedding(32, heads)
        self.layers = nn.ModuleList(_T5Layer(width, heads, inner, dense, decoder) for _ in range(layers))
        self.norm = _RootMeanSquare(width)

    def _buckets(self, x: Tensor) -> Tensor:
        """Return the bucket, one of 32, of the distance between each two positions, [S, S] (Raffel et al., section 2.1).

        Half of the buckets have one distance each; the others have ranges of distances up to 128, equally long in logarithms.
        """
        place = torch.arange(x.shape[1], device=x.device)
        away, buckets = place[None, :] - place[:, None], 32
        first = torch.zeros_like(away)
        if not self.decoder:
            buckets //= 2
            first, away = (away > 0).long() * buckets, away.abs()
        else:
            away = (-away).clamp(min=0)
        exact = buckets // 2
        far = exact + (torch.log(away.clamp(min=1) / exact) / math.log(128 / exact) * (buckets - exact)).long()
        return first + torch.where(away < exact, away, far.clamp(max=buckets - 1))

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        bias = self.bias(self._buckets(x)).permute(2, 0, 1)[None]
        bias = bias + causal(x) if self.decoder else bias
        for layer in self.layers:
            x = layer(x, bias, memory)
        y: Tensor = self.norm(x)
        return y


class T5(nn.Module):
    """T5 of the small size: an encoder and a decoder of 6 layers each, width 512, 8 heads of 64, dense layers of width 2048.

    Maps the tokens of the encoder and of the decoder to logits.
    """

    def __init__(
        self, layers: int = 6, width: int = 512, heads: int = 8, inner: int = 512, dense: int = 2048, words: int = 32128
    ) -> None:
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.encoder, self.decoder = (_T5Stack(layers, width, heads, inner, dense, decoder) for decoder in (False, True))
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.word.weight

    def forward(self, tokens: Tensor, decoder_tokens: Tensor) -> Tensor:
        memory = self.encoder(self.word(tokens))
        x = self.decoder(self.word(decoder_tokens), memory)
        logits: Tensor = self.head(x * self.word.embedding_dim**-0.5)
        return logits
