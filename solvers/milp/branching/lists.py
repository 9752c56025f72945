"""Lists of candidates of different lengths, as tensors: what is there in one row after the other, and which slots that fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Lists", "lists", "spread"]


class Lists(NamedTuple):
    """N lists of S candidates in all, K in one at the most."""

    lines: Tensor
    """[S, ...] what is known of each candidate, list after list."""
    mask: Tensor
    """bool [N, K] the slots that are filled."""


def lists(seen: Sequence[Mapping[str, NDArray[Any]]], name: str, device: torch.device) -> Lists:
    """Of the parts of a Replay's CollateInputs: their arrays `name` [R, K, ...] where their "mask" [R, K] is True; K differs."""
    mask = np.zeros((sum(len(part["mask"]) for part in seen), max(part["mask"].shape[1] for part in seen)), bool)
    begin = 0
    for part in seen:
        rows, width = part["mask"].shape
        mask[begin : begin + rows, :width] = part["mask"]
        begin += rows
    lines = np.concatenate([part[name][part["mask"]] for part in seen])
    return Lists(torch.from_numpy(lines).to(device), torch.from_numpy(mask).to(device))


def spread(scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """What `Policy.forward` returns: of scores [S] the logits [N, K], -inf in empty slots; and values [N], 0."""
    logits = torch.full(mask.shape, -torch.inf, device=scores.device, dtype=scores.dtype).masked_scatter(mask, scores)
    return logits, torch.zeros(len(mask), device=scores.device)
