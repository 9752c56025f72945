"""Restarts: which search comes next, towards which height, and for how many nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory_static.instance import StaticInstance, sections
from corl.rng import random_state
from corl.solvers.memory_static.branch_and_bound import canonical, skyline
from corl.solvers.memory_static.branch_and_bound.canonical_state import new_tree, set_ranks
from corl.solvers.memory_static.branch_and_bound.sections import FOUND, FULL, NONE
from corl.solvers.memory_static.branch_and_bound.skyline import FEWEST, TIGHT, WEIGHTED
from corl.solvers.memory_static.branch_and_bound.skyline_state import new_skyline
from corl.solvers.memory_static.first_fit.fitting import most_loads

__all__ = ["Restarts"]

_SHARES = (0.0, 1.0, 0.0, 1.0, 0.5)
"""Where between the bound and the ceiling the heights lie that are tried in turn."""
_SKYLINES = 3
"""Searches over skylines a round, beside those of the canonical tree."""
_NOISE = 0.3
"""Standard deviation of the noise, on logarithms of lifetimes and areas, of the preorders that are drawn."""
_MOST_CANONICAL = 4000
"""Buffers beyond which pairs of them are not listed, so that skylines alone are searched."""


@dataclass(frozen=True)
class _Way:
    """A search: the tree of canonical allocations with its ranks, or of skylines with its priorities."""

    canonical: bool
    keys: NDArray[Any]
    rule: int
    """`leading` of the canonical tree, the rule of skylines."""


class Restarts:
    """Searches for an allocation between two heights, in turn by tree, order and rule; node limits double from round to round."""

    def __init__(self, instance: StaticInstance, seed: int, bound: int, ceiling: int, any_will_do: bool = False) -> None:
        self.instance, self.bound, self.ceiling = instance, bound, ceiling
        self.chosen = np.flatnonzero(instance.size > 0)
        self.offsets = np.maximum(instance.fixed, 0)
        self.random = random_state(seed, 1)
        self.rooms = {True: 1, False: 1}
        self.trees = {kind: self._new(kind) for kind in ((True, False) if len(self.chosen) <= _MOST_CANONICAL else (False,))}
        self.shares = (1.0,) if any_will_do else _SHARES
        self.count, self.left = 0, 0
        self.step = _step(instance)
        self.noise = np.random.default_rng([seed, 3])
        self.canonical = _preorders(instance, self.chosen) if True in self.trees else []
        rules = (FEWEST, TIGHT, WEIGHTED)
        self.skylines = [_Way(False, priority, rule) for priority in _priorities(instance, self.chosen) for rule in rules]
        self.target, self.way = bound, self.skylines[0]

    def search(self, nodes: int) -> NDArray[np.int64] | None:
        """Visit that many nodes, or until an allocation is found: its offsets, int64 [n], and `ceiling` is then below it.

        `bound` rises where a search proves that a height cannot be reached; above `ceiling` there is nothing left to find.
        """
        while nodes > 0 and self.bound <= self.ceiling:
            if self.left == 0 and not self._begin():
                continue
            tree, engine = self.trees[self.way.canonical], canonical if self.way.canonical else skyline
            status, visited = engine.advance(tree, min(nodes, self.left), self.target, self.way.rule)
            nodes, self.left = nodes - visited, max(0, self.left - visited)
            if status == FULL:
                self.rooms[self.way.canonical] *= 2
                self.trees[self.way.canonical], self.left = self._new(self.way.canonical), 0
            elif status == NONE:
                self._proven()
            elif status == FOUND:
                self.offsets[self.chosen] = tree.offset
                self.left = 0
                self.ceiling = int((self.offsets + self.instance.size).max()) - 1
                return self.offsets.copy()
        return None

    def _new(self, kind: bool) -> Any:
        """Arrays for a tree, as long as its searches have needed so far."""
        if kind:
            return new_tree(self.instance, self.chosen, self.rooms[kind])
        return new_skyline(self.instance, self.chosen, self.random, self.rooms[kind])

    def _begin(self) -> bool:
        """The next search; False where its height is seen at once to be out of reach."""
        turn, place = divmod(self.count, 2 * len(self.canonical) + _SKYLINES)
        later = place - len(self.canonical)
        if later < 0:
            self.way = self.canonical[place]
        elif later < _SKYLINES:
            self.way = self.skylines[(turn * _SKYLINES + later) % len(self.skylines)]
        else:
            self.way = _preorders(self.instance, self.chosen, self.noise)[later - _SKYLINES]
        share = self.shares[self.count % len(self.shares)]
        self.target = self.bound + int(share * (self.ceiling - self.bound)) // self.step * self.step
        self.left = 2 * max(1, len(self.chosen)) * 2 ** min(turn, 40)
        self.count += 1
        if not len(self.chosen):
            return True
        tree = self.trees[self.way.canonical]
        if self.way.canonical:
            set_ranks(tree, self.way.keys)
            possible = canonical.restart(tree, self.target)
        else:
            tree.priority[:] = self.way.keys
            possible = skyline.restart(tree, self.target)
        if not possible:
            self._proven()
        return bool(possible)

    def _proven(self) -> None:
        """Nothing is within `target`: the bound is the next height that sizes, alignments and fixed offsets allow."""
        self.bound = max(self.bound, (self.target // self.step + 1) * self.step)
        self.left = 0


def _step(instance: StaticInstance) -> int:
    """What every height of an allocation that cannot be pushed down is a multiple of."""
    fixed = instance.fixed[instance.fixed >= 0].tolist()
    aligned = instance.alignment[instance.alignment > 1].tolist()
    return max(1, math.gcd(*instance.size.tolist(), *fixed, *aligned))


def _measures(instance: StaticInstance) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The largest load that a buffer lives under, its lifetime, and its size, [n] each."""
    found = sections(instance)
    load = np.zeros(instance.n, np.int64)
    most_loads(found.first, found.last, found.load, load)
    return load, (instance.upper - instance.lower).astype(np.float64), instance.size.astype(np.float64)


def _preorders(instance: StaticInstance, chosen: NDArray[np.int64], noise: np.random.Generator | None = None) -> list[_Way]:
    """minimalloc's: falling lifetime, area, load ("WAT"); load, area, lifetime ("TAW"); load, lifetime, area ("TWA").

    The load, where it leads, is what is still to come: the tree itself puts it before the rank. With `noise` lifetimes and areas
    are multiplied by random factors: what one order takes long to find another one may find soon.
    """
    load, length, size = _measures(instance)
    area = length * size
    if noise is not None:
        length, area = (key * np.exp(_NOISE * noise.standard_normal(instance.n)) for key in (length, area))
    orders = [((load, area, length), False), ((length, area), True), ((area, length), True)]  # the least key first
    found = []
    for keys, leading in orders:
        rank = np.empty(len(chosen), np.int64)
        rank[np.lexsort([-key[chosen] for key in keys])] = np.arange(len(chosen))
        found.append(_Way(True, rank, int(leading)))
    return found


def _priorities(instance: StaticInstance, chosen: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Ranks, float64 [n], by minimalloc's keys (load, lifetime, area, three orders), and by size x root of lifetime."""
    load, length, size = _measures(instance)
    area = length * size
    keys = [(area, length, load), (length, area, load), (load, area, length), (size * np.sqrt(length),)]
    ranks = [np.argsort(np.lexsort([part[chosen] for part in key])) for key in keys]
    return [1.0 + rank.astype(np.float64) for rank in ranks]
