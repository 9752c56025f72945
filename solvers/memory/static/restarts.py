"""Restarts: which search over skylines comes next, towards which height, and for how many nodes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory.static.instance import StaticInstance, sections
from corl.rng import random_state
from corl.solvers.memory.static.fitting import most_loads
from corl.solvers.memory.static.skyline import FEWEST, FOUND, FULL, GOING, NONE, TIGHT, WEIGHTED, advance, new_skyline, restart

__all__ = ["Restarts"]

_SHARES = (0.0, 1.0, 0.0, 1.0, 0.5)
"""Where between the bound and the ceiling the heights lie that are tried in turn."""


class Restarts:
    """Searches for an allocation between two heights, in turn by rule and priority; node limits double from round to round."""

    def __init__(self, instance: StaticInstance, seed: int, bound: int, ceiling: int) -> None:
        self.instance, self.bound, self.ceiling = instance, bound, ceiling
        self.chosen = np.flatnonzero(instance.size > 0)
        self.offsets = np.maximum(instance.fixed, 0)
        self.sky = new_skyline(instance, self.chosen, random_state(seed, 1))
        self.room, self.round, self.left = 1, 0, 0
        self.limit = 2 * max(1, len(self.chosen))
        self.step = _step(instance)
        self.ways = [(priority, rule) for priority in _priorities(instance, self.chosen) for rule in (FEWEST, TIGHT, WEIGHTED)]
        self.target, self.rule = bound, FEWEST

    def search(self, nodes: int) -> NDArray[np.int64] | None:
        """Visit that many nodes, or until an allocation is found: its offsets, int64 [n], and `ceiling` is then below it.

        `bound` rises where a search proves that a height cannot be reached; above `ceiling` there is nothing left to find.
        """
        while nodes > 0 and self.bound <= self.ceiling:
            if self.left == 0 and not self._begin():
                continue
            status, visited = advance(self.sky, min(nodes, self.left), self.target, self.rule)
            nodes, self.left = nodes - visited, max(0, self.left - visited)
            if status == FULL:
                self.room, self.left = 2 * self.room, 0
                self.sky = new_skyline(self.instance, self.chosen, self.sky.random, self.room)
            elif status == NONE:
                self._proven()
            elif status == FOUND:
                self.offsets[self.chosen] = self.sky.offset
                self.left = 0
                self.ceiling = int((self.offsets + self.instance.size).max()) - 1
                return self.offsets.copy()
            elif status == GOING and self.left > 0:
                continue
        return None

    def _begin(self) -> bool:
        """The next search; False where its height is seen at once to be out of reach."""
        priority, self.rule = self.ways[self.round % len(self.ways)]
        share = _SHARES[self.round % len(_SHARES)]
        self.target = self.bound + int(share * (self.ceiling - self.bound)) // self.step * self.step
        self.left = self.limit * 2 ** (self.round // len(self.ways))
        self.round += 1
        self.sky.priority[:] = priority
        if len(self.chosen) and restart(self.sky, self.target):
            return True
        if len(self.chosen):
            self._proven()
        return not len(self.chosen)

    def _proven(self) -> None:
        """Nothing is within `target`: the bound is the next height that sizes, alignments and fixed offsets allow."""
        self.bound = max(self.bound, (self.target // self.step + 1) * self.step)
        self.left = 0


def _step(instance: StaticInstance) -> int:
    """What every height of an allocation that cannot be pushed down is a multiple of."""
    fixed = instance.fixed[instance.fixed >= 0].tolist()
    aligned = instance.alignment[instance.alignment > 1].tolist()
    return max(1, math.gcd(*instance.size.tolist(), *fixed, *aligned))


def _priorities(instance: StaticInstance, chosen: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Ranks, float64 [n], by minimalloc's keys (load, lifetime, area, three orders), and by size x root of lifetime."""
    found = sections(instance)
    load = np.zeros(instance.n, np.int64)
    most_loads(found.first, found.last, found.load, load)
    length, size = (instance.upper - instance.lower).astype(np.float64), instance.size.astype(np.float64)
    area = length * size
    keys = [(area, length, load), (length, area, load), (load, area, length), (size * np.sqrt(length),)]
    ranks = [np.argsort(np.lexsort([part[chosen] for part in key])) for key in keys]
    return [1.0 + rank.astype(np.float64) for rank in ranks]
