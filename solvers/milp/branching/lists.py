"""Candidate lists of different lengths, concatenated into one tensor, with a mask that says how many each node has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Lists", "lists", "spread"]


class Lists(NamedTuple):
    """The candidate lists of N nodes, with S candidates in total and at most K at one node."""

    lines: Tensor
    """[S, ...] the data of each candidate, node by node."""
    mask: Tensor
    """bool [N, K] True in slots with a candidate."""


def lists(observed: Sequence[Mapping[str, NDArray[Any]]], name: str, device: torch.device) -> Lists:
    """Return the candidate lists of several batches of observations as one.

    Args:
        observed: Batches of R nodes with at most K candidates, which differ in R and K: "mask", bool [R, K], and other arrays.
        name: The array [R, K, ...] to take, in the slots where "mask" is True.
        device: The device of the tensors.
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
    """Return the outputs of a policy network that scores each candidate.

    Args:
        scores: float [S], the scores of the candidates, node by node.
        mask: bool [N, K], True in slots with a candidate.

    Returns:
        Logits, float [N, K], -inf in empty slots; and values, float32 [N], all 0.
    """
    logits = torch.full(mask.shape, -torch.inf, device=scores.device, dtype=scores.dtype).masked_scatter(mask, scores)
    return logits, torch.zeros(len(mask), device=scores.device)
