"""Tabu search of a flexible job shop, as path relinking needs it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import random_state, uniform
from corl.solvers.jobshop.dispatch.rules import rules_for
from corl.solvers.jobshop.tabu.flexible_search import (
    IDLE,
    VALUE,
    advance_flexible,
    begin_flexible,
    flexible_shop_of,
    new_flexible_search,
)
from corl.solvers.jobshop.tabu.path_relinking import TabuParameters

__all__ = ["FlexibleTabu"]

_SHARES = (0.3, 0.5)  # of the way from one parent to the other
_CLOSE = 0.02  # parents that choose differently for a smaller share of the operations are not worth relinking

_Member = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Starts, choices."""


class FlexibleTabu:
    """A `TabuSearch` (path_relinking.py): a critical operation moves to any place of any of its machines."""

    noise = (0.5, 0.5)
    grows = False

    def __init__(self, instance: JobShopInstance, seed: int) -> None:
        self.instance, self.random, self.rules = instance, random_state(seed), rules_for(instance)
        self._shop = flexible_shop_of(instance)
        self._search, self._copy = (new_flexible_search(instance, self.random) for _ in range(2))

    @property
    def value(self) -> int:
        return int(self._search.counts[VALUE])

    def best(self) -> _Member:
        copy, search, n = self._copy, self._search, self.instance.operations
        copy.order[:], copy.choice[:] = search.best_order, search.best_choice
        begin_flexible(self._shop, copy)
        return copy.end[:n].astype(np.int64) - copy.duration, search.best_choice.copy()

    def schedule(self) -> Schedule:
        start, choice = self.best()
        return Schedule(start, self.instance.choice_machine[choice])

    def start_at(self, schedule: Schedule) -> None:
        instance = self.instance
        chosen = instance.choice_machine == np.repeat(schedule.machine, np.diff(instance.choice_first))
        self._start(schedule.start, np.flatnonzero(chosen).astype(np.int32))

    def start_between(self, one: _Member, other: _Member) -> bool:
        """The starts are weighted means, so what precedes in both precedes; a choice comes from either."""
        if (one[1] != other[1]).mean() < _CLOSE:
            return False
        share, *drawn = (float(uniform(self.random)) for _ in range(1 + len(one[1])))  # type: ignore[no-untyped-call]
        share = _SHARES[0] + (_SHARES[1] - _SHARES[0]) * share
        taken = np.array(drawn) < share
        mean = np.round(1024 * ((1.0 - share) * one[0] + share * other[0])).astype(np.int64)
        self._start(mean, np.where(taken, other[1], one[1]).astype(np.int32))
        return True

    def _start(self, start: NDArray[np.int64], choice: NDArray[np.int32]) -> None:
        """From starts that keep the order of every job; operations on one machine go in that order."""
        search = self._search
        # of equal starts the shorter operation first, then the lower number: no cycle can arise
        search.order[:] = np.lexsort((self.instance.choice_duration[choice], start))
        search.choice[:] = choice
        begin_flexible(self._shop, search)

    def advance(self, parameters: TabuParameters, units: int) -> int:
        return int(advance_flexible(self._shop, self._search, *parameters, units))

    def ended(self, parameters: TabuParameters) -> bool:
        return bool(self._search.counts[IDLE] >= parameters.cut)

    def alike(self, one: _Member, other: _Member) -> bool:
        return bool((one[1] == other[1]).all() and (one[0] == other[0]).all())

    def another(self, seed: int) -> FlexibleTabu:
        return FlexibleTabu(self.instance, seed)
