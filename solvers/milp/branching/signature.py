"""Which trained family a program belongs to: 16 numbers of its shape, compared with the range of the training programs'.

A policy's checkpoint holds the range. A program matches where every number is within it, widened by 0.05 for shares, by a factor
of 4 for sizes (so that larger programs of a family match too) and by 0.3 for how costs spread. A share that was 0, or 1, in all
training programs must be so: six knapsack rows beside 200 packing rows make no auction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.milp.instance import MilpInstance

__all__ = ["NAMES", "family_of", "matches", "shipped_policies", "signature", "signature_range"]

NAMES = (
    "log_columns", "log_rows", "log_row_length", "log_column_length", "binary", "integer", "continuous", "at_most", "at_least",
    "equal", "ones", "packing", "covering", "negative_costs", "zero_costs", "cost_spread",
)  # fmt: skip
"""Sizes as log10; kinds of columns and of rows as shares; shares of rows whose entries are all 1 and of those with the side 1;
signs of the costs when minimising; their standard deviation / mean of absolute values."""
_SHARES = slice(4, 15)
_SLACK = np.array([np.log10(4.0)] * 4 + [0.05] * 11 + [0.3])


def signature(instance: MilpInstance) -> NDArray[np.float64]:
    """The numbers, float64 [len(NAMES)]."""
    n, m, entries = max(instance.n, 1), max(instance.m, 1), max(instance.nonzeros, 1)
    low, high = np.isfinite(instance.row_lower), np.isfinite(instance.row_upper)
    others = np.bincount(instance.row[instance.value != 1.0], minlength=instance.m) if instance.m else np.zeros(0)
    ones = others[: instance.m] == 0
    cost = -instance.c if instance.sense == "max" else instance.c
    size = max(float(np.abs(cost).mean()) if len(cost) else 0.0, 1e-12)
    return np.array([
        np.log10(n), np.log10(m), np.log10(entries / m), np.log10(entries / n),
        instance.binary.sum() / n, (instance.integer & ~instance.binary).sum() / n, (~instance.integer).sum() / n,
        (high & ~low).sum() / m, (low & ~high).sum() / m, (low & high).sum() / m, ones.sum() / m,
        (ones & high & ~low & (instance.row_upper == 1.0)).sum() / m,
        (ones & low & ~high & (instance.row_lower == 1.0)).sum() / m,
        (cost < 0.0).sum() / n, (cost == 0.0).sum() / n, float(np.std(np.abs(cost))) / size if len(cost) else 0.0,
    ])  # fmt: skip


def signature_range(signatures: Sequence[NDArray[np.float64]]) -> tuple[list[float], list[float]]:
    """(lower, upper) over training programs, for a checkpoint."""
    every = np.array(signatures)
    return every.min(0).tolist(), every.max(0).tolist()


def matches(found: NDArray[np.float64], lower: Sequence[float], upper: Sequence[float]) -> bool:
    """The test; False for a policy without a range."""
    if len(lower) != len(NAMES) or len(upper) != len(NAMES):
        return False
    low, high, slack = np.array(lower), np.array(upper), _SLACK.copy()
    slack[_SHARES][(low == high)[_SHARES] & ((low == 0.0) | (low == 1.0))[_SHARES]] = 0.0
    return bool((found >= low - slack).all() and (found <= high + slack).all())


@cache
def shipped_policies() -> dict[str, dict[str, Any]]:
    """Name -> configuration of the branching policies that come with the package; neither their weights are loaded nor torch."""
    from corl.networks import checkpoints

    headers = ((name, checkpoints.read_header(path)) for name, path in checkpoints.shipped().items() if name.startswith("milp-"))
    return {name: header["config"] for name, header in headers if header["architecture"] == "milp-branching"}


def family_of(instance: MilpInstance) -> str:
    """The name of the shipped policy whose training programs are like this one; "" where none is.

    A policy of several families (their names with commas) is nobody's: the range of all is that of much else besides.
    """
    found, known = signature(instance), shipped_policies().items()
    fits = (n for n, config in known if "," not in config["family"] and matches(found, config["lower"], config["upper"]))
    return next(fits, "")
