"""Bandits under every kind of constraint; what the best policy earns is not known, and no bound may be beaten."""

from __future__ import annotations

import math

from corl.problems.bandits.constraints import KINDS
from support.families.bandits import random_instance
from support.mixes import Mix

__all__ = ["RULES", "make"]

RULES = tuple(KINDS)


def make(seed: int) -> Mix:
    """Up to four arms of one to three states, from hardly anything allowed to everything."""
    kind = RULES[seed % len(RULES)]
    return Mix(random_instance(kind, 1 + seed // len(RULES) % 4, seed), math.nan, (kind,))
