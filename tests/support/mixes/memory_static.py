"""Static allocation: buffers that are aligned, placed already, of no size, alive for ever; the lowest height by enumeration."""

from __future__ import annotations

import numpy as np

from corl.errors import InputError
from corl.problems.memory_static.instance import FREE, make_instance
from support.families.memory_static import lowest
from support.mixes import Mix

__all__ = ["RULES", "make"]

RULES = ("aligned", "fixed", "all fixed", "empty", "alive for ever", "before zero", "equal")


def make(seed: int) -> Mix:
    """Up to five buffers."""
    random = np.random.default_rng([seed, 37])
    while True:
        has = set(random.choice(RULES, int(random.integers(0, 5)), replace=False).tolist())
        n = int(random.integers(1, 6))
        lower = random.integers(0, 10, n) - (5 if "before zero" in has else 0)
        upper, size = lower + random.integers(1, 7, n), random.integers(1, 6, n)
        if "alive for ever" in has:
            lower[0], upper[0] = lower.min(), upper.max()
        if "equal" in has:
            lower[:], upper[:], size[:] = lower[0], upper[0], size[0]
        size[(random.random(n) < 0.4) & ("empty" in has)] = 0
        alignment = random.choice([1, 2, 3, 4], n) if "aligned" in has else np.ones(n, np.int64)
        placed = (random.random(n) < 0.4) & ("fixed" in has) | ("all fixed" in has)
        fixed = np.where(placed, random.integers(0, 6, n) * alignment, FREE)
        try:
            instance = make_instance(f"mix-{seed}", lower, upper, size, ids=list("abcde")[:n], alignment=alignment, fixed=fixed)
        except InputError:  # two that are placed overlap
            continue
        return Mix(instance, float(lowest(instance)), tuple(sorted(has)))
