"""Schedules of learning rates over the fraction of a run."""

from __future__ import annotations

import math

__all__ = ["warm_cosine"]

_FIRST = 1e-3  # the first step learns a little already


def warm_cosine(fraction: float, warm: float) -> float:
    """Share of the largest learning rate at a fraction of the run, 0..1: a rise over the first `warm`, then a cosine to 0."""
    return min((fraction + _FIRST) / warm, 0.5 + 0.5 * math.cos(math.pi * fraction))
