"""Signatures: 16 numbers that describe a program, by which a shipped policy is chosen for it.

A policy's checkpoint contains the range of each number over its training programs. A program matches if each number is within
that range, widened by 0.05 for fractions, by a factor of 4 for sizes (so that larger programs of the family match as well), and
by 0.3 for the spread of costs. A fraction that was always 0, or always 1, in training must be exactly that. For example,
all rows of the family `auctions` are packing rows; so a program with 200 packing rows and six knapsack rows does not match the
policy for auctions.
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
"""The numbers of a signature.

- log_...: the decimal logarithms of the numbers of columns and rows, and of the mean numbers of coefficients per row and column.
- binary, integer, continuous: the fractions of binary, other integer, and continuous columns. at_most, at_least, equal: the
  fractions of rows with an upper side only, a lower side only, or both.
- ones: the fraction of rows whose coefficients are all 1; packing, covering: the fraction of rows that also have only an upper
  (lower) side, which is 1.
- negative_costs, zero_costs: the fractions of objective coefficients that are negative, or zero (those of a maximised objective
  are negated first); cost_spread: the standard deviation of the objective coefficients' absolute values, divided by the mean of
  these values.
"""
_FRACTIONS = slice(4, 15)  # the numbers that are fractions
_SLACK = np.array([np.log10(4.0)] * 4 + [0.05] * 11 + [0.3])  # by how much the range of each number is widened


def signature(instance: MilpInstance) -> NDArray[np.float64]:
    """Return the signature of a program, float64 [len(NAMES)]."""
    n, m, entries = max(instance.n, 1), max(instance.m, 1), max(instance.nonzeros, 1)
    low, high = np.isfinite(instance.row_lower), np.isfinite(instance.row_upper)
    not_one = np.bincount(instance.row[instance.value != 1.0], minlength=instance.m) if instance.m else np.zeros(0)
    ones = not_one[: instance.m] == 0
    cost = -instance.c if instance.sense == "max" else instance.c
    mean_size = max(float(np.abs(cost).mean()) if len(cost) else 0.0, 1e-12)
    return np.array([
        np.log10(n), np.log10(m), np.log10(entries / m), np.log10(entries / n),
        instance.binary.sum() / n, (instance.integer & ~instance.binary).sum() / n, (~instance.integer).sum() / n,
        (high & ~low).sum() / m, (low & ~high).sum() / m, (low & high).sum() / m, ones.sum() / m,
        (ones & high & ~low & (instance.row_upper == 1.0)).sum() / m,
        (ones & low & ~high & (instance.row_lower == 1.0)).sum() / m,
        (cost < 0.0).sum() / n, (cost == 0.0).sum() / n, float(np.std(np.abs(cost))) / mean_size if len(cost) else 0.0,
    ])  # fmt: skip


def signature_range(signatures: Sequence[NDArray[np.float64]]) -> tuple[list[float], list[float]]:
    """Return the smallest and the largest value of each number over these signatures, for a checkpoint."""
    every = np.array(signatures)
    return every.min(0).tolist(), every.max(0).tolist()


def matches(found: NDArray[np.float64], lower: Sequence[float], upper: Sequence[float]) -> bool:
    """Return whether a signature is within a widened range (see the module's docstring); False if the range is empty."""
    if len(lower) != len(NAMES) or len(upper) != len(NAMES):
        return False
    low, high, slack = np.array(lower), np.array(upper), _SLACK.copy()
    slack[_FRACTIONS][(low == high)[_FRACTIONS] & ((low == 0.0) | (low == 1.0))[_FRACTIONS]] = 0.0
    return bool((found >= low - slack).all() and (found <= high + slack).all())


@cache
def shipped_policies() -> dict[str, dict[str, Any]]:
    """Return the configurations of the shipped branching policies by name; loads neither their weights nor torch."""
    from corl.networks import checkpoints

    headers = ((name, checkpoints.read_header(path)) for name, path in checkpoints.shipped().items() if name.startswith("milp-"))
    return {name: header["config"] for name, header in headers if header["architecture"] == "milp-branching"}


def family_of(instance: MilpInstance) -> str:
    """Return the name of the shipped policy whose training programs match this one; "" if there is none.

    Policies of several families (names with commas) are not considered, because their ranges match many other programs.
    """
    own_signature, policies = signature(instance), shipped_policies().items()
    fits = (
        name
        for name, config in policies
        if "," not in config["family"] and matches(own_signature, config["lower"], config["upper"])
    )
    return next(fits, "")
