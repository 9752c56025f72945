"""`Placer` builds schedules of an instance with side constraints by dispatching or from a sequence; `Annealing` improves them.

Units, sequences and requested choices are explained in building.py.
"""

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

_UNITS_PER_CHECK = 200  # units placed between two calls of `stopped`
_MAX_PINNED_CHOICES = 1000  # combinations of machines tried for units with a fixed operation
_SAMPLES = 100  # candidates from which the first temperature of a cooling is estimated
_HOT, _COLD = 0.3, 0.003  # first and last temperature, in units of the mean increase caused by worse candidates
_FIRST_COOLING_STEPS = 20_000  # each cooling has twice as many steps as the one before


class Placer:
    """Builds schedules of one instance by placing one unit after the other in the gaps of the machines.

    Attributes:
        sequence: int64 [L], the sequence of the schedule that was built last.
        greedy: int64 [O], requested choices that are all -1: each operation is placed on the machine where it ends first.
        shop, base, plan, fixed: Arguments of the kernels in building.py.
    """

    def __init__(self, instance: JobShopInstance) -> None:
        self.instance, self.shop = instance, shop_of(instance)
        self.plan, self.base = new_plan(instance), new_plan(instance)
        fixed = np.flatnonzero(self.shop.fixed_start >= 0)
        ends = self.shop.fixed_start[fixed] + self.shop.duration[self.shop.fixed_choice[fixed]]
        self.fixed = fixed[np.lexsort((ends, self.shop.fixed_start[fixed]))]
        self.greedy = np.full(instance.operations, -1, np.int64)
        requested = islice(pinned_choices(self.shop), 0 if impossible(instance) else _MAX_PINNED_CHOICES)
        self.possible = any(place_fixed(self.shop, self.base, self.fixed, choices) for choices in requested)
        """Whether a placement was found for the fixed operations and the other operations of their units."""
        free_units = self.base.choice[self.shop.unit[:-1]] < 0
        self.sequence = np.repeat(
            np.arange(instance.jobs), np.add.reduceat(free_units.astype(np.int64), self.shop.unit_offset[:-1])
        )

    def dispatch(
        self, rule: int, noise: float, active: bool, random: NDArray[np.uint64], stopped: Callable[[], bool] = lambda: False
    ) -> float:
        """Build a schedule by a dispatching rule, and set `sequence`.

        Args:
            rule: Index into RULES.
            noise: Priorities are multiplied by random factors, uniform in 1..1 + noise.
            active: Whether to build an active schedule instead of a non-delay one.
            random: uint64 [1], the state of the random number generator.
            stopped: Once it returns True, the schedule is given up.

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
        """Build the schedule of the order in which units would start if no job waited, and set `sequence`.

        Returns the objective value, or inf if a unit does not fit.
        """
        if not self.possible:
            return np.inf
        free_units = self.shop.unit[:-1][self.base.choice[self.shop.unit[:-1]] < 0]
        job_first = self.shop.first[self.shop.job[free_units]]
        heads = self.shop.lowest[job_first] + self.shop.time_to_job_end[job_first] - self.shop.time_to_job_end[free_units]
        self.sequence = self.shop.job[free_units[np.argsort(heads, kind="stable")]].astype(np.int64)
        value = float(decode(self.shop, self.base, self.plan, self.fixed, self.sequence, self.greedy))
        return value if value < MISSING else np.inf

    def adopt_order(self, schedule: Schedule) -> NDArray[np.int64]:
        """Set `sequence` to the order in which the units of `schedule` start; return the schedule's choices, int64 [O]."""
        free_units = np.flatnonzero(self.base.choice[self.shop.unit[:-1]] < 0)
        first = self.shop.unit[free_units]
        self.sequence = self.shop.job[first[np.lexsort((first, schedule.start[first]))]]
        owner = np.repeat(np.arange(self.instance.operations), np.diff(self.shop.choice_offset))
        return np.flatnonzero(self.shop.machine == schedule.machine[owner])

    def schedule(self) -> Schedule:
        """Return the schedule that was built last."""
        return schedule_of(self.instance, self.plan)


class Annealing:
    """Simulated annealing in coolings: each has twice as many steps as the one before, and starts from the best solution so far.

    Args:
        placer: The placer; its `sequence` is the first current one.
        requested: int64 [O], the first current requested choices.
        seed: The seed of all random numbers.
    """

    def __init__(self, placer: Placer, requested: NDArray[np.int64], seed: int) -> None:
        self._placer, self._random = placer, random_state(seed)
        with_choice = np.flatnonzero((np.diff(placer.shop.choice_offset) > 1) & (placer.base.choice < 0))
        self._state = (placer.sequence.copy(), requested.copy(), placer.sequence.copy(), requested.copy(), with_choice)
        self._values = np.full(2, self._decode(placer.sequence, requested))
        self._increases, self._sampled = np.zeros(2), 0  # sum and number of the increases; number of candidates sampled
        self._steps_done, self._cooling_steps = 0, _FIRST_COOLING_STEPS

    @property
    def value(self) -> float:
        """The objective value of the best schedule; MISSING or more if no feasible one was found."""
        return float(self._values[BEST])

    def step(self, remaining: int) -> None:
        """Build `remaining` schedules; before each cooling, `_SAMPLES` of them serve only to estimate its first temperature."""
        p = self._placer
        sequence, requested, best_sequence, best_requested, _ = self._state
        while remaining:
            if self._sampled < _SAMPLES:
                count, value = min(remaining, _SAMPLES - self._sampled), self._values[CURRENT]
                sample_increases(
                    p.shop, p.base, p.plan, p.fixed, sequence, requested, value, count, self._increases, self._random
                )
                self._sampled, remaining = self._sampled + count, remaining - count
                continue
            hot = max(1e-9, _HOT * float(self._increases[0]) / max(1.0, float(self._increases[1])))
            count = min(remaining, self._cooling_steps - self._steps_done)
            cooling = (hot, hot * _COLD / _HOT, float(self._cooling_steps))
            anneal(p.shop, p.base, p.plan, p.fixed, self._state, self._values, cooling, self._steps_done, count, self._random)
            self._steps_done, remaining = self._steps_done + count, remaining - count
            if self._steps_done == self._cooling_steps:
                self._steps_done, self._sampled, self._cooling_steps = 0, 0, 2 * self._cooling_steps
                sequence[:], requested[:], self._values[CURRENT] = best_sequence, best_requested, self._values[BEST]
                self._increases[:] = 0.0

    def schedule(self) -> Schedule:
        """Return the best schedule."""
        _, _, sequence, requested, _ = self._state
        self._decode(sequence, requested)
        return self._placer.schedule()

    def _decode(self, sequence: NDArray[np.int64], requested: NDArray[np.int64]) -> float:
        p = self._placer
        return float(decode(p.shop, p.base, p.plan, p.fixed, sequence, requested))
