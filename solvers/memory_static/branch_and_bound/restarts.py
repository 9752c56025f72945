"""Restarts of the searches: which search is next, the height that it must not exceed, and its limit on nodes."""

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
from corl.solvers.memory_static.first_fit.kernels import max_loads

__all__ = ["Restarts"]

_SHARES = (0.0, 1.0, 0.0, 1.0, 0.5)
"""The heights that are tried in turn: 0 is the bound, 1 the ceiling (the largest height that would be an improvement)."""
_SKYLINES_PER_ROUND = 3
"""Searches over skylines per round, besides the searches over canonical allocations."""
_NOISE = 0.3
"""Standard deviation of the noise on the logarithms of lifetimes and areas, for random orders of buffers."""
_MAX_CANONICAL = 4000
"""With more buffers only skylines are searched, since a canonical tree's list of pairs of buffers would be too long."""


@dataclass(frozen=True)
class _Strategy:
    """The settings of a search."""

    canonical: bool
    """Whether the search is over canonical allocations; False: over skylines."""
    keys: NDArray[Any]
    """[n] the buffers' ranks (canonical, int64) or priorities (skylines, float64)."""
    rule: int
    """The last argument of `advance`: `leading` (canonical), or the rule for choosing sections (skylines)."""


class Restarts:
    """A sequence of searches for better and better allocations.

    The searches differ in kind, order of the buffers, rule and height. In each round every kind has its turn, and the limits on
    nodes double.

    Args:
        instance: The instance.
        seed: The seed of all random numbers.
        bound: The smallest height that may be possible.
        ceiling: The largest height to accept.
        stop_at_first: Whether any allocation up to `ceiling` suffices, so that no lower heights are tried.
    """

    def __init__(self, instance: StaticInstance, seed: int, bound: int, ceiling: int, stop_at_first: bool = False) -> None:
        self.instance, self.bound, self.ceiling = instance, bound, ceiling
        self.chosen = np.flatnonzero(instance.size > 0)
        self.offsets = np.maximum(instance.fixed, 0)
        self.random = random_state(seed, 1)
        self.rooms = {True: 1, False: 1}  # by kind (True: canonical): a factor for the lengths of arrays
        self.trees = {kind: self._new(kind) for kind in ((True, False) if len(self.chosen) <= _MAX_CANONICAL else (False,))}
        self.shares = (1.0,) if stop_at_first else _SHARES
        self.count, self.nodes_left = 0, 0
        self.step = _step(instance)
        self.noise = np.random.default_rng([seed, 3])
        self.canonical = _preorders(instance, self.chosen) if True in self.trees else []
        rules = (FEWEST, TIGHT, WEIGHTED)
        self.skylines = [_Strategy(False, priority, rule) for priority in _priorities(instance, self.chosen) for rule in rules]
        self.target, self.strategy = bound, self.skylines[0]

    def search(self, nodes: int) -> NDArray[np.int64] | None:
        """Visit up to `nodes` nodes; return the offsets of the first allocation found, int64 [n], or None.

        `ceiling` is set to one less than the height of this allocation. `bound` rises if a search proves that a height cannot be
        reached; if it exceeds `ceiling`, there is no better allocation.
        """
        while nodes > 0 and self.bound <= self.ceiling:
            if self.nodes_left == 0 and not self._begin():
                continue
            tree, engine = self.trees[self.strategy.canonical], canonical if self.strategy.canonical else skyline
            status, visited = engine.advance(tree, min(nodes, self.nodes_left), self.target, self.strategy.rule)
            nodes, self.nodes_left = nodes - visited, max(0, self.nodes_left - visited)
            if status == FULL:
                self.rooms[self.strategy.canonical] *= 2
                self.trees[self.strategy.canonical], self.nodes_left = self._new(self.strategy.canonical), 0
            elif status == NONE:
                self._proven()
            elif status == FOUND:
                self.offsets[self.chosen] = tree.offset
                self.nodes_left = 0
                self.ceiling = int((self.offsets + self.instance.size).max()) - 1
                return self.offsets.copy()
        return None

    def _new(self, canonical: bool) -> Any:
        """Return the arrays of a search over canonical allocations or skylines, as long as such searches have needed so far."""
        if canonical:
            return new_tree(self.instance, self.chosen, self.rooms[canonical])
        return new_skyline(self.instance, self.chosen, self.random, self.rooms[canonical])

    def _begin(self) -> bool:
        """Begin the next search; return False if its height is already infeasible at the root.

        A round has the canonical orders, then some searches over skylines, then the canonical orders with noise.
        """
        turn, place = divmod(self.count, 2 * len(self.canonical) + _SKYLINES_PER_ROUND)
        later = place - len(self.canonical)
        if later < 0:
            self.strategy = self.canonical[place]
        elif later < _SKYLINES_PER_ROUND:
            self.strategy = self.skylines[(turn * _SKYLINES_PER_ROUND + later) % len(self.skylines)]
        else:
            self.strategy = _preorders(self.instance, self.chosen, self.noise)[later - _SKYLINES_PER_ROUND]
        share = self.shares[self.count % len(self.shares)]
        self.target = self.bound + int(share * (self.ceiling - self.bound)) // self.step * self.step
        self.nodes_left = 2 * max(1, len(self.chosen)) * 2 ** min(turn, 40)
        self.count += 1
        if not len(self.chosen):
            return True
        tree = self.trees[self.strategy.canonical]
        if self.strategy.canonical:
            set_ranks(tree, self.strategy.keys)
            possible = canonical.restart(tree, self.target)
        else:
            tree.priority[:] = self.strategy.keys
            possible = skyline.restart(tree, self.target)
        if not possible:
            self._proven()
        return bool(possible)

    def _proven(self) -> None:
        """Record that no height up to `target` is possible, by raising the bound to the next multiple of `step`."""
        self.bound = max(self.bound, (self.target // self.step + 1) * self.step)
        self.nodes_left = 0


def _step(instance: StaticInstance) -> int:
    """Return a number that divides the height of every allocation in which no buffer can be lowered.

    It is the greatest common divisor of all sizes, alignments and fixed offsets.
    """
    fixed = instance.fixed[instance.fixed >= 0].tolist()
    aligned = instance.alignment[instance.alignment > 1].tolist()
    return max(1, math.gcd(*instance.size.tolist(), *fixed, *aligned))


def _measures(instance: StaticInstance) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each buffer, the largest load during its lifetime, the length of its lifetime, and its size, [n] each.

    The load is the total size of the buffers that are alive at a moment.
    """
    section_data = sections(instance)
    load = np.zeros(instance.n, np.int64)
    max_loads(section_data.first, section_data.last, section_data.load, load)
    return load, (instance.upper - instance.lower).astype(np.float64), instance.size.astype(np.float64)


def _preorders(instance: StaticInstance, chosen: NDArray[np.int64], noise: np.random.Generator | None = None) -> list[_Strategy]:
    """Return a strategy for each of minimalloc's three orders of buffers, "WAT", "TAW" and "TWA".

    The letters are the keys by which buffers are sorted in decreasing order: W lifetime, A area (lifetime times size), T load. If
    the load is the first key, only the unplaced buffers count, and the tree itself sorts by this load and then by the rank. With
    `noise`, lifetimes and areas are multiplied by random factors, because a slightly different order may lead to an allocation
    much faster.
    """
    load, length, size = _measures(instance)
    area = length * size
    if noise is not None:
        length, area = (key * np.exp(_NOISE * noise.standard_normal(instance.n)) for key in (length, area))
    orders = [((load, area, length), False), ((length, area), True), ((area, length), True)]  # the most important key is the last
    strategies = []
    for keys, leading in orders:
        rank = np.empty(len(chosen), np.int64)
        rank[np.lexsort([-key[chosen] for key in keys])] = np.arange(len(chosen))
        strategies.append(_Strategy(True, rank, int(leading)))
    return strategies


def _priorities(instance: StaticInstance, chosen: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Return four priorities of the buffers, float64 [n] each: minimalloc's three orders, and size x square root of lifetime."""
    load, length, size = _measures(instance)
    area = length * size
    keys = [(area, length, load), (length, area, load), (load, area, length), (size * np.sqrt(length),)]
    ranks = [np.argsort(np.lexsort([part[chosen] for part in key])) for key in keys]
    return [1.0 + rank.astype(np.float64) for rank in ranks]
