"""`Placer`: schedules of one instance with side constraints, by dispatching or from a sequence; `Annealing` improves the best."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.feasibility import impossible
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import random_state
from corl.solvers.jobshop.placing.annealing import BEST, CURRENT, anneal, sample_increases
from corl.solvers.jobshop.placing.building import MISSING, UNFINISHED, build, decode, new_cache
from corl.solvers.jobshop.placing.gaps import place_fixed
from corl.solvers.jobshop.placing.pinned import pinned_choices
from corl.solvers.jobshop.placing.shop import new_plan, schedule_of, shop_of

__all__ = ["Annealing", "Placer"]

_UNITS_PER_CHECK = 200  # units placed between two time checks
_PINNED = 1000  # the most combinations of machines tried for units that contain a fixed operation
_SAMPLES = 100  # candidates from which the first temperature is estimated
_HOT, _COLD = 0.3, 0.003  # the first and the last temperature, in units of the mean increase of candidates that are worse
_FIRST_COOLING = 20_000  # steps of the first cooling; each cooling is twice as long as the one before


class Placer:
    """Builder of schedules of one instance, which places one unit after the other in the gaps of the machines.

    `sequence`, int64 [L], holds the jobs in the order in which their units were placed last; `greedy`, int64 [O], requests no
    machines. `shop`, `base`, `plan` and `fixed` are arguments of the kernels (building.py).
    """

    def __init__(self, instance: JobShopInstance) -> None:
        self.instance, self.shop = instance, shop_of(instance)
        self.plan, self.base = new_plan(instance), new_plan(instance)
        fixed = np.flatnonzero(self.shop.fixed_start >= 0)
        ends = self.shop.fixed_start[fixed] + self.shop.duration[self.shop.fixed_choice[fixed]]
        self.fixed = fixed[np.lexsort((ends, self.shop.fixed_start[fixed]))]
        self.greedy = np.full(instance.operations, -1, np.int64)
        requested = islice(pinned_choices(self.shop), 0 if impossible(instance) else _PINNED)
        self.possible = any(place_fixed(self.shop, self.base, self.fixed, choices) for choices in requested)
        """Whether the fixed operations, and those that follow or precede them without waiting, fit at all."""
        free_units = self.base.choice[self.shop.unit[:-1]] < 0
        self.sequence = np.repeat(np.arange(instance.jobs), np.add.reduceat(free_units.astype(np.int64), self.shop.unit_at[:-1]))

    def dispatch(
        self, rule: int, noise: float, active: bool, random: NDArray[np.uint64], stopped: Callable[[], bool] = lambda: False
    ) -> float:
        """Build a schedule by a dispatching rule; `sequence` becomes its order.

        Args:
            rule: Index into RULES.
            noise: Priorities are multiplied by 1 to 1 + noise at random.
            active: Whether to build an active schedule instead of a non-delay one.
            random: uint64 [1], the state of the random number generator.
            stopped: Function that returns whether to give up.

        Returns:
            The objective value; inf if a unit does not fit, or if `stopped` returned True.
        """
        if not self.possible:
            return np.inf
        cache, value = new_cache(self.instance), UNFINISHED
        for first in range(0, len(self.sequence) or 1, _UNITS_PER_CHECK):
            if first and stopped():
                return np.inf
            value = build(
                self.shop, self.base, self.plan, self.fixed, self.greedy, rule, noise, active, random, self.sequence, cache,
                first, first + _UNITS_PER_CHECK,
            )  # fmt: skip
            if value != UNFINISHED:
                break
        return float(value) if value < MISSING else np.inf

    def order_by_heads(self) -> float:
        """Make `sequence` the order in which units would start if no job waited; return its value, inf if infeasible."""
        if not self.possible:
            return np.inf
        free_units = self.shop.unit[:-1][self.base.choice[self.shop.unit[:-1]] < 0]
        opening = self.shop.first[self.shop.job[free_units]]
        heads = self.shop.lowest[opening] + self.shop.rest[opening] - self.shop.rest[free_units]
        self.sequence = self.shop.job[free_units[np.argsort(heads, kind="stable")]].astype(np.int64)
        value = float(decode(self.shop, self.base, self.plan, self.fixed, self.sequence, self.greedy))
        return value if value < MISSING else np.inf

    def adopt_order(self, schedule: Schedule) -> NDArray[np.int64]:
        """Make `sequence` the order in which the units of a schedule start; return its choices of machines, int64 [O]."""
        free_units = np.flatnonzero(self.base.choice[self.shop.unit[:-1]] < 0)
        first = self.shop.unit[free_units]
        self.sequence = self.shop.job[first[np.lexsort((first, schedule.start[first]))]]
        owner = np.repeat(np.arange(self.instance.operations), np.diff(self.shop.choice_at))
        return np.flatnonzero(self.shop.machine == schedule.machine[owner])

    def schedule(self) -> Schedule:
        """Return the schedule that was built last."""
        return schedule_of(self.instance, self.plan)


class Annealing:
    """Simulated annealing in coolings, each twice as long as the one before, and each from the best sequence so far.

    Args:
        placer: Its `sequence` is the first one.
        requested: int64 [O], the first requested choices of machines.
        seed: Of all random numbers.
    """

    def __init__(self, placer: Placer, requested: NDArray[np.int64], seed: int) -> None:
        self._placer, self._random = placer, random_state(seed)
        free = np.flatnonzero((np.diff(placer.shop.choice_at) > 1) & (placer.base.choice < 0))
        self._state = (placer.sequence.copy(), requested.copy(), placer.sequence.copy(), requested.copy(), free)
        self._values = np.full(2, self._decode(placer.sequence, requested))
        self._costs, self._sampled = np.zeros(2), 0  # sum and number of the increases of candidates; candidates sampled
        self._done, self._changes = 0, _FIRST_COOLING

    @property
    def value(self) -> float:
        """The objective value of the best schedule; at least MISSING if none is feasible."""
        return float(self._values[BEST])

    def step(self, units: int) -> None:
        """Build `units` schedules; the first `_SAMPLES` before each cooling only serve to estimate its first temperature."""
        p = self._placer
        sequence, requested, best_sequence, best_requested, _ = self._state
        while units:
            if self._sampled < _SAMPLES:
                now = min(units, _SAMPLES - self._sampled)
                sample_increases(
                    p.shop, p.base, p.plan, p.fixed, sequence, requested, self._values[CURRENT], now, self._costs, self._random
                )
                self._sampled, units = self._sampled + now, units - now
                continue
            hot = max(1e-9, _HOT * float(self._costs[0]) / max(1.0, float(self._costs[1])))
            now = min(units, self._changes - self._done)
            cooling = (hot, hot * _COLD / _HOT, float(self._changes))
            anneal(p.shop, p.base, p.plan, p.fixed, self._state, self._values, cooling, self._done, now, self._random)
            self._done, units = self._done + now, units - now
            if self._done == self._changes:
                self._done, self._sampled, self._changes = 0, 0, 2 * self._changes
                sequence[:], requested[:], self._values[CURRENT] = best_sequence, best_requested, self._values[BEST]
                self._costs[:] = 0.0

    def schedule(self) -> Schedule:
        """Return the best schedule."""
        _, _, sequence, requested, _ = self._state
        self._decode(sequence, requested)
        return self._placer.schedule()

    def _decode(self, sequence: NDArray[np.int64], requested: NDArray[np.int64]) -> float:
        p = self._placer
        return float(decode(p.shop, p.base, p.plan, p.fixed, sequence, requested))
