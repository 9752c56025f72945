"""The knapsack: items of no weight or no value, equal items, capacities of nothing or of everything; optima over all subsets."""

from __future__ import annotations

import numpy as np

from corl.problems.knapsack.instance import KnapsackInstance
from support.families.knapsack import most
from support.mixes import Mix

__all__ = ["RULES", "make"]

RULES = ("several capacities", "decimals", "weightless", "worthless", "equal items", "no capacity", "all fit", "from one")


def make(seed: int) -> Mix:
    """Up to eight items and three capacities."""
    random = np.random.default_rng([seed, 37])
    has = set(random.choice(RULES, int(random.integers(0, 6)), replace=False).tolist())
    items, count = int(random.integers(1, 9)), int(random.integers(2, 4)) if "several capacities" in has else 1
    values, weights = random.integers(1, 30, items), random.integers(1, 30, (count, items))
    if "equal items" in has:
        values[:], weights[:] = values[0], weights[:, :1]
    weights[(random.random(weights.shape) < 0.4) & ("weightless" in has)] = 0
    values[(random.random(items) < 0.4) & ("worthless" in has)] = 0
    capacities = np.floor(weights.sum(axis=1) * random.random(count))
    capacities[(random.random(count) < 0.6) & ("no capacity" in has)] = 0
    capacities = weights.sum(axis=1) if "all fit" in has else capacities
    unit = 100.0 if "decimals" in has else 1.0
    instance = KnapsackInstance(f"mix-{seed}", values / unit, weights / unit, capacities / unit, first_item="from one" in has)
    return Mix(instance, most(instance), tuple(sorted(has)))
