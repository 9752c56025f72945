"""Scaling for engines that compute with integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["factor_for"]


def factor_for(largest: float, most: float, parts: list[NDArray[np.float64]]) -> float:
    """1 where all finite numbers in `parts` are whole, else the power of two that makes `largest` at most `most`."""
    if all(bool((part[np.isfinite(part)] == np.floor(part[np.isfinite(part)])).all()) for part in parts):
        return 1.0
    return float(2.0 ** np.floor(np.log2(most / max(largest, 1e-9))))
