"""Tabu searches of one flexible job shop, restarted between two members of a population."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import below, random_state, uniform
from corl.solvers.jobshop.dispatching import Dispatcher, rules_for
from corl.solvers.jobshop.insertion import IDLE, VALUE, Plan, Plant, advance_plan, begin_plan, new_plan, plant_of
from corl.solvers.jobshop.searcher import Rules

__all__ = ["FlexibleSearch"]

_SHARES = (0.3, 0.5)  # of the way from one parent to the other
_CLOSE = 0.02  # parents that choose differently for a smaller share of the operations are not worth relinking
_NOISE = 0.5  # of the dispatching rules that fill the population

_Member = tuple[int, NDArray[np.int64], NDArray[np.int32]]
"""Makespan, starts, choices."""


class FlexibleSearch:
    """A search by moves of single operations (`insertion`); `step` goes on from one tabu search to the next."""

    def __init__(self, instance: JobShopInstance, population: int, rules: Rules, seed: int) -> None:
        self._instance, self._size, self._rules = instance, population, rules
        self._plant: Plant = plant_of(instance)
        self._plan: Plan = new_plan(instance, random_state(seed))
        self._copy: Plan = new_plan(instance, random_state(seed))
        self._dispatcher = Dispatcher(instance)
        self._members: list[_Member] = []
        self._lock = threading.RLock()

    @property
    def value(self) -> int:
        """The makespan of the best since the last start."""
        return int(self._plan.counts[VALUE])

    def schedule(self) -> Schedule:
        """The best since the last start."""
        member = self._best()
        return Schedule(member[1], self._instance.choice_machine[member[2]])

    def start_by_rule(self, rule: int, noise: float = 0.0) -> None:
        """Start from a dispatching rule's schedule."""
        self._dispatcher.run(rule, noise, self._plan.random)
        self.start_at(self._dispatcher.schedule())

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        instance = self._instance
        chosen = instance.choice_machine == np.repeat(schedule.machine, np.diff(instance.choice_first))
        self._start(schedule.start, np.flatnonzero(chosen).astype(np.int32))

    def step(self, units: int) -> int:
        """Make moves, up to `units` and up to the end of the present tabu search; returns how many are left."""
        if self._plan.counts[IDLE] >= self._rules.cut:
            with self._lock:
                self._add(self._best())
                self._restart()
        return int(advance_plan(self._plant, self._plan, *self._rules, units))

    def fellow(self, seed: int, share: bool) -> FlexibleSearch:
        """Another search of the instance from a noisy rule; with `share` both have one population."""
        other = FlexibleSearch(self._instance, self._size, self._rules, seed)
        if share:
            other._members, other._lock = self._members, self._lock
        other._restart(fresh=True)
        return other

    def _start(self, start: NDArray[np.int64], choice: NDArray[np.int32]) -> None:
        """From starts that keep the order of every job; operations on one machine go in that order."""
        plan = self._plan
        # of equal starts the shorter operation first, then the lower number: no cycle can arise
        plan.order[:] = np.lexsort((self._instance.choice_duration[choice], start))
        plan.choice[:] = choice
        begin_plan(self._plant, plan)

    def _best(self) -> _Member:
        copy, plan, n = self._copy, self._plan, self._instance.operations
        copy.order[:], copy.choice[:] = plan.best_order, plan.best_choice
        begin_plan(self._plant, copy)
        return self.value, copy.end[:n].astype(np.int64) - copy.duration, plan.best_choice.copy()

    def _add(self, new: _Member) -> None:
        """Take a member in: while there is room, otherwise in place of the worst, if no worse and unlike all."""
        for value, start, choice in self._members:
            if value == new[0] and (choice == new[2]).all() and (start == new[1]).all():
                return
        if len(self._members) >= self._size:
            worst = max(range(len(self._members)), key=lambda k: self._members[k][0])
            if new[0] > self._members[worst][0]:
                return
            del self._members[worst]
        self._members.append(new)

    def _restart(self, fresh: bool = False) -> None:
        """From between two members; by a noisy rule while there is room, or where they are close.

        Between: the starts are weighted means, so what precedes in both precedes; a choice comes from either.
        """
        random, members = self._plan.random, self._members
        if not fresh and len(members) == self._size > 1:
            i, j = below(random, self._size), below(random, self._size - 1)
            one, other = members[i], members[j + (j >= i)]
            if (one[2] != other[2]).mean() >= _CLOSE:
                share = _SHARES[0] + (_SHARES[1] - _SHARES[0]) * uniform(random)
                taken = np.array([uniform(random) < share for _ in one[2]])
                mean = np.round(1024 * ((1.0 - share) * one[1] + share * other[1])).astype(np.int64)
                self._start(mean, np.where(taken, other[2], one[2]).astype(np.int32))
                return
        rules = rules_for(self._instance)
        self.start_by_rule(rules[below(random, len(rules))], _NOISE)
