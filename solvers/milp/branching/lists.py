"""Candidate lists of different lengths, concatenated into one tensor, with a mask of the slots that they fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Lists", "lists", "spread"]


class Lists(NamedTuple):
    """N lists of S candidates in total, at most K in one list."""

    lines: Tensor
    """[S, ...] the data of each candidate, list after list."""
    mask: Tensor
    """bool [N, K] the filled slots."""


def lists(observed: Sequence[Mapping[str, NDArray[Any]]], name: str, device: torch.device) -> Lists:
    """Return the candidate lists of several batches of observations.

    Args:
        observed: Observations by name, of R nodes each: "mask", bool [R, K], and others; R and K differ between batches.
        name: The array [R, K, ...] to take, at the slots where "mask" is True.
        device: Where the tensors are put.
    """
    mask = np.zeros((sum(len(part["mask"]) for part in observed), max(part["mask"].shape[1] for part in observed)), bool)
    begin = 0
    for part in observed:
        rows, width = part["mask"].shape
        mask[begin : begin + rows, :width] = part["mask"]
        begin += rows
    lines = np.concatenate([part[name][part["mask"]] for part in observed])
    return Lists(torch.from_numpy(lines).to(device), torch.from_numpy(mask).to(device))


def spread(scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outputs of a policy network for concatenated scores.

    Args:
        scores: float [S], the scores of the candidates, list after list.
        mask: bool [N, K], the filled slots.

    Returns:
        Logits, float [N, K], -inf in empty slots; and values, float32 [N], all 0.
    """
    logits = torch.full(mask.shape, -torch.inf, device=scores.device, dtype=scores.dtype).masked_scatter(mask, scores)
    return logits, torch.zeros(len(mask), device=scores.device)
