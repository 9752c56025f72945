"""What the tests know of the toy family (see support/families)."""

from __future__ import annotations

from itertools import product

import numpy as np
from halves import Halves, Numbers

CHEAP = "flip"


def sample(seed: int) -> Numbers:
    """Up to eight numbers."""
    random = np.random.default_rng(seed)
    return Numbers(f"sample-{seed}", random.integers(0, 20, random.integers(1, 9)).astype(float))


def solved(seed: int) -> tuple[Numbers, float]:
    """With the least difference of all splits."""
    instance = sample(seed)
    splits = product((-1, 1), repeat=len(instance.values))
    return instance, min(Halves().evaluate(instance, np.array(split)) for split in splits)
