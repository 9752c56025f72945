"""The judge: what a choice of items is worth, and whether it fits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.knapsack.instance import KnapsackInstance

__all__ = ["TOLERANCE", "check_items", "total_value"]

TOLERANCE = 1e-9
"""How far a sum of weights may be above its capacity, relative to it: what float64 sums of decimal fractions are off."""


def check_items(instance: KnapsackInstance, solution: Any) -> NDArray[np.int64]:
    """`solution` as int64 [k], if its items differ and fit. Raises Infeasible naming the first fault, in the file's numbers."""
    try:
        items = np.asarray(solution)
    except ValueError:  # ragged
        raise Infeasible("a solution is a list of items") from None
    if items.ndim != 1:
        raise Infeasible(f"a solution is a list of items, not an array of shape {list(items.shape)}")
    if items.dtype.kind not in "iu" and len(items):
        raise Infeasible(f"a solution is a list of integers, not of {items.dtype}")
    items, base = items.astype(np.int64), instance.first_item
    if (outside := (items < 0) | (items >= instance.n)).any():
        at = int(outside.argmax())
        raise Infeasible(f"there is no item {items[at] + base}; accepted: {base} to {instance.n - 1 + base}")
    counts = np.bincount(items, minlength=instance.n)
    if (again := counts > 1).any():
        raise Infeasible(f"item {int(again.argmax()) + base} is taken {counts[again.argmax()]} times; accepted: once")
    for i, capacity in enumerate(instance.capacities.tolist()):
        used = math.fsum(instance.weights[i, items].tolist())
        if used > capacity * (1.0 + TOLERANCE):
            which = "" if instance.m == 1 else f" {i + 1}"
            raise Infeasible(f"the items taken weigh {used:.10g}; capacity{which} is {capacity:.10g}")
    return items


def total_value(instance: KnapsackInstance, solution: Any) -> float:
    """The sum of the values of the items taken. Raises Infeasible where they do not fit."""
    return math.fsum(instance.values[check_items(instance, solution)].tolist())
