"""The judge of solutions: the total value of the items taken, and whether they fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.knapsack.instance import KnapsackInstance
from corl.tolerance import keeps

__all__ = ["check", "objective"]


def check(instance: KnapsackInstance, solution: Any) -> NDArray[np.int64]:
    """Return `solution` as int64 [k], if no item is taken twice and the items taken fit into every capacity.

    Raises Infeasible, naming the first violated condition, with items numbered as in the file.
    """
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
    taken = np.zeros(instance.n, bool)
    taken[items] = True
    if np.count_nonzero(taken) < len(items):
        counts = np.bincount(items)
        again = int((counts > 1).argmax())
        raise Infeasible(f"item {again + base} is taken {counts[again]} times; accepted: once")
    for i, capacity in enumerate(instance.capacities.tolist()):
        used = _sum(instance.weights[i, items])
        if not keeps(used, capacity):
            which = "" if instance.m == 1 else f" {i + 1}"
            raise Infeasible(f"the items taken weigh {used:.10g}; capacity{which} is {capacity:.10g}")
    return items


def objective(instance: KnapsackInstance, solution: Any) -> float:
    """Return the sum of the values of the items taken. Raises Infeasible if they do not fit."""
    return _sum(instance.values[check(instance, solution)])


def _sum(numbers: NDArray[np.float64]) -> float:
    """Return the sum, rounded only once."""
    total = float(numbers.sum())
    if total < 2.0**53 and (numbers == np.floor(numbers)).all():  # non-negative integers: no partial sum was rounded
        return total
    return math.fsum(numbers.tolist())
