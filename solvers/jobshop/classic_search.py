"""Tabu searches of one job shop without choices, restarted between two members of a population (TS/PR)."""

from __future__ import annotations

import numpy as np

from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import random_state
from corl.solvers.jobshop.dispatching import Dispatcher
from corl.solvers.jobshop.goals import goal_of
from corl.solvers.jobshop.population import Population, start_by_rule
from corl.solvers.jobshop.search import IDLE, VALUE, new_search
from corl.solvers.jobshop.searcher import Rules
from corl.solvers.jobshop.selection import new_selection, rebuild, set_sequence, shop_of

__all__ = ["ClassicSearch"]


class ClassicSearch:
    """Tabu searches for the instance's objective, from starts of a population; `step` goes on from one to the next.

    population: its size, or one that others use too.
    """

    def __init__(self, instance: JobShopInstance, population: int | Population, rules: Rules, seed: int) -> None:
        self._instance, self._rules, self._goal = instance, rules, goal_of(instance)
        if isinstance(population, int):
            population = Population(population, Dispatcher(instance), self._goal.rules)
        self._population = population
        self._search = new_search(shop_of(instance), random_state(seed))
        self._copy = new_selection(self._search.shop)
        self._dispatcher = Dispatcher(instance)

    @property
    def value(self) -> int:
        """What the best since the last start is worth."""
        return int(self._search.counts[VALUE])

    def schedule(self) -> Schedule:
        """The best since the last start, everything as early as its orders allow."""
        instance, copy = self._instance, self._copy
        copy.sequence[:] = self._search.best
        rebuild(self._search.shop, copy)
        start = copy.end[: instance.operations].astype(np.int64) - instance.choice_duration
        return Schedule(start, instance.choice_machine)

    def start_by_rule(self, rule: int, noise: float = 0.0) -> None:
        """Start from a dispatching rule's schedule."""
        start_by_rule(self._search, self._dispatcher, rule, noise)
        self._goal.begin(self._search)

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        # of equal starts the shorter operation first, then the lower number: no cycle can arise
        order = np.lexsort((self._instance.choice_duration, schedule.start))
        set_sequence(self._search.shop, order, self._search.selection.sequence)
        self._goal.begin(self._search)

    def step(self, units: int) -> int:
        """Make moves, up to `units` and up to the end of the present tabu search; returns how many are left."""
        search = self._search
        if search.counts[IDLE] >= self._rules.cut:
            self._population.add(search, search.best, self.value)
            self._population.start(search)
            self._goal.begin(search)
        return self._goal.advance(search, self._rules, units)

    def fellow(self, seed: int, share: bool) -> ClassicSearch:
        """Another search of the instance, from a noisy rule; with `share` both have one population."""
        other = ClassicSearch(self._instance, self._population if share else self._population.size, self._rules, seed)
        other._population.start(other._search)
        self._goal.begin(other._search)
        return other
