"""`Placer`: schedules of one instance with rules, by dispatching, and a search that goes on from the best."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.feasibility import impossible
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import random_state
from corl.solvers.jobshop.placing.annealing import BEST, CURRENT, anneal, spread
from corl.solvers.jobshop.placing.building import MISSING, UNFINISHED, build, decode, new_looks
from corl.solvers.jobshop.placing.gaps import begin
from corl.solvers.jobshop.placing.pinned import pinned_choices
from corl.solvers.jobshop.placing.shop import new_plan, schedule_of, shop_of

__all__ = ["Annealing", "Placer"]

_TOGETHER = 200  # units that are placed between two looks at the clock
_PINNED = 1000  # choices of machines that are tried for runs of which something is fixed
_TRIES = 100  # changes from which the first temperature is told
_HOT, _COLD = 0.3, 0.003  # times what a change for the worse costs in the mean: the first and the last temperature
_FIRST = 20_000  # changes of the first cooling; each is twice as long as the one before


class Placer:
    """Puts the operations of one instance into the gaps of its machines, one unit after the other."""

    def __init__(self, instance: JobShopInstance) -> None:
        self.instance, self.shop = instance, shop_of(instance)
        self.plan, self.base = new_plan(instance), new_plan(instance)
        fixed = np.flatnonzero(self.shop.fixed_start >= 0)
        ends = self.shop.fixed_start[fixed] + self.shop.duration[self.shop.fixed_choice[fixed]]
        self.fixed = fixed[np.lexsort((ends, self.shop.fixed_start[fixed]))]
        self.greedy = np.full(instance.operations, -1, np.int64)
        wanted = islice(pinned_choices(self.shop), 0 if impossible(instance) else _PINNED)
        self.possible = any(begin(self.shop, self.base, self.fixed, choices) for choices in wanted)
        """Whether what is fixed, and what follows without waiting, fits at all."""
        loose = self.base.choice[self.shop.unit[:-1]] < 0
        self.word = np.repeat(np.arange(instance.jobs), np.add.reduceat(loose.astype(np.int64), self.shop.unit_at[:-1]))

    def dispatch(
        self, rule: int, noise: float, active: bool, random: NDArray[np.uint64], stopped: Callable[[], bool] = lambda: False
    ) -> float:
        """Build a schedule by a rule; returns its value, inf where not everything fits, or once `stopped`. `word` becomes its
        order."""
        if not self.possible:
            return np.inf
        seen, value = new_looks(self.instance), UNFINISHED
        for first in range(0, len(self.word) or 1, _TOGETHER):
            if first and stopped():
                return np.inf
            value = build(
                self.shop, self.base, self.plan, self.fixed, self.greedy, rule, noise, active, random, self.word, seen, first,
                first + _TOGETHER,
            )  # fmt: skip
            if value != UNFINISHED:
                break
        return float(value) if value < MISSING else np.inf

    def by_heads(self) -> float:
        """Make `word` the order in which the units would start if no job waited, at once; its value, inf where that fails."""
        if not self.possible:
            return np.inf
        loose = self.shop.unit[:-1][self.base.choice[self.shop.unit[:-1]] < 0]
        opening = self.shop.first[self.shop.job[loose]]
        heads = self.shop.lowest[opening] + self.shop.rest[opening] - self.shop.rest[loose]
        self.word = self.shop.job[loose[np.argsort(heads, kind="stable")]].astype(np.int64)
        value = float(decode(self.shop, self.base, self.plan, self.fixed, self.word, self.greedy))
        return value if value < MISSING else np.inf

    def follow(self, schedule: Schedule) -> NDArray[np.int64]:
        """Make `word` the order in which the units of a schedule start; returns its choices of machines."""
        loose = np.flatnonzero(self.base.choice[self.shop.unit[:-1]] < 0)
        first = self.shop.unit[loose]
        self.word = self.shop.job[first[np.lexsort((first, schedule.start[first]))]]
        owner = np.repeat(np.arange(self.instance.operations), np.diff(self.shop.begin))
        return np.flatnonzero(self.shop.machine == schedule.machine[owner])

    def schedule(self) -> Schedule:
        """What was built last."""
        return schedule_of(self.instance, self.plan)


class Annealing:
    """Coolings, each twice as long as the one before, from the best order so far."""

    def __init__(self, placer: Placer, wanted: NDArray[np.int64], seed: int) -> None:
        self._placer, self._random = placer, random_state(seed)
        free = np.flatnonzero((np.diff(placer.shop.begin) > 1) & (placer.base.choice < 0))
        self._state = (placer.word.copy(), wanted.copy(), placer.word.copy(), wanted.copy(), free)
        self._values = np.full(2, self._decoded(placer.word, wanted))
        self._costs, self._tried = np.zeros(2), 0  # of changes for the worse, tried before a cooling: their sum and their number
        self._done, self._changes = 0, _FIRST

    @property
    def value(self) -> float:
        """Of the best schedule; at least MISSING where none is feasible."""
        return float(self._values[BEST])

    def step(self, units: int) -> None:
        """So many changes, those among them that are tried before a cooling, from which its first temperature is told."""
        p = self._placer
        word, wanted, best_word, best_wanted, _ = self._state
        while units:
            if self._tried < _TRIES:
                now = min(units, _TRIES - self._tried)
                spread(p.shop, p.base, p.plan, p.fixed, word, wanted, self._values[CURRENT], now, self._costs, self._random)
                self._tried, units = self._tried + now, units - now
                continue
            hot = max(1e-9, _HOT * float(self._costs[0]) / max(1.0, float(self._costs[1])))
            now = min(units, self._changes - self._done)
            cooling = (hot, hot * _COLD / _HOT, float(self._changes))
            anneal(p.shop, p.base, p.plan, p.fixed, self._state, self._values, cooling, self._done, now, self._random)
            self._done, units = self._done + now, units - now
            if self._done == self._changes:
                self._done, self._tried, self._changes = 0, 0, 2 * self._changes
                word[:], wanted[:], self._values[CURRENT] = best_word, best_wanted, self._values[BEST]
                self._costs[:] = 0.0

    def schedule(self) -> Schedule:
        """The best one."""
        _, _, word, wanted, _ = self._state
        self._decoded(word, wanted)
        return self._placer.schedule()

    def _decoded(self, word: NDArray[np.int64], wanted: NDArray[np.int64]) -> float:
        p = self._placer
        return float(decode(p.shop, p.base, p.plan, p.fixed, word, wanted))
