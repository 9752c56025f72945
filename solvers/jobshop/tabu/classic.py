"""Tabu search of a job shop without choices of machines, for either objective; the `TabuSearch` of path relinking."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import below, random_state
from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
from corl.solvers.jobshop.dispatch.rules import RULES
from corl.solvers.jobshop.tabu.makespan_search import IDLE, VALUE, advance, begin, new_search, next_window
from corl.solvers.jobshop.tabu.path_relinking import TabuParameters
from corl.solvers.jobshop.tabu.reassignment import Choices, choices_of
from corl.solvers.jobshop.tabu.relink import distance, relink
from corl.solvers.jobshop.tabu.selection import new_selection, rebuild, shop_of, sort_starts
from corl.solvers.jobshop.tabu.tardiness_search import advance_tardiness, begin_tardiness

__all__ = ["ClassicTabu", "compile_relinking"]

_SHARES = (0.3, 0.5)  # range of the share of the path from one parent to the other
_COVERED = 10  # a tabu search ends once unsuccessful windows in a row have covered the schedule this many times
_CLOSE = 10  # parents with fewer differences than this are not worth relinking
_RULES = {"makespan": ("mwkr", "fdd/mwkr", "mor"), "weighted_tardiness": ("atc", "edd", "mwkr")}

_Member = tuple[NDArray[np.uint32]]
"""A sequence (selection.py)."""


class ClassicTabu:
    """A `TabuSearch` (path_relinking.py): N7 for the makespan, swaps for the weighted tardiness.

    Args:
        instance: An instance without choices of machines.
        seed: Of all random numbers.
        window: The number of operations that are searched at a time for the makespan (windows.py); all, if there are no more.
    """

    noise = (0.3, 0.5)
    grows = True

    def __init__(self, instance: JobShopInstance, seed: int, window: int) -> None:
        self.instance, self.random, self._window = instance, random_state(seed), window
        self.rules = tuple(RULES.index(name) for name in _RULES[instance.objective])
        self._search = new_search(shop_of(instance), self.random)
        self._copy = new_selection(self._search.shop)
        self._value_at_opening = self._failed_windows = 0  # best value when the window opened; unsuccessful windows in a row
        self._closed = False
        self._due_data: tuple[Choices, NDArray[np.int64], NDArray[np.int64]] | None = None
        if instance.due is not None and instance.objective != "makespan":
            self._due_data = (choices_of(instance), instance.due, instance.weight)

    @property
    def value(self) -> int:
        return int(self._search.counts[VALUE])

    @property
    def _idle(self) -> int:
        """Moves since the best schedule improved."""
        return int(self._search.counts[IDLE])

    def best(self) -> _Member:
        return (self._search.best.copy(),)

    def schedule(self) -> Schedule:
        instance, copy = self.instance, self._copy
        copy.sequence[:] = self._search.best
        rebuild(self._search.shop, copy)
        start = copy.end[: instance.operations].astype(np.int64) - instance.choice_duration
        return Schedule(start, instance.choice_machine)

    def start_at(self, schedule: Schedule) -> None:
        sort_starts(self._search.shop, schedule.start, self._search.selection.sequence)
        self._begin()

    def start_between(self, one: _Member, other: _Member) -> bool:
        search = self._search
        if distance(search.shop, one[0], other[0], _CLOSE) < _CLOSE:
            return False
        relink(search.shop, one[0], other[0], *_SHARES, search.random, search.selection)
        self._begin()
        return True

    def _begin(self) -> None:
        """Start from the machine orders in the selection's sequence."""
        if self._due_data is None:
            begin(self._search)
            self._failed_windows, self._closed = 0, self._window < self.instance.operations
        else:
            begin_tardiness(self._search, *self._due_data)

    def advance(self, parameters: TabuParameters, units: int) -> int:
        if self._due_data is not None:
            return int(advance_tardiness(self._search, *self._due_data, *parameters, units))
        while units and not self.ended(parameters):
            if self._closed:
                self._open_window()
            units = int(advance(self._search, *parameters, units))
            self._closed = self._idle >= parameters.cut
            if self._closed:
                self._failed_windows = 0 if self.value < self._value_at_opening else self._failed_windows + 1
        return units

    def ended(self, parameters: TabuParameters) -> bool:
        """Return whether the search has ended: by its moves or, with windows, by unsuccessful windows (`_COVERED`)."""
        if self._due_data is not None or self._window >= self.instance.operations:
            return self._idle >= parameters.cut
        return self._failed_windows * self._window >= _COVERED * self.instance.operations

    def _open_window(self) -> None:
        """Continue from the best schedule in another window, at a random position."""
        n, size = self.instance.operations, self._window
        first = int(below(self.random, n)) - size // 2
        self._value_at_opening, self._closed = self.value, False
        next_window(self._search, max(0, first), min(n, first + size))

    def equal(self, one: _Member, other: _Member) -> bool:
        return bool(distance(self._search.shop, one[0], other[0], 1) == 0)

    def with_seed(self, seed: int) -> ClassicTabu:
        return ClassicTabu(self.instance, seed, self._window)


def compile_relinking(instance: JobShopInstance) -> None:
    """Compile the kernels that a run calls only once its population is full."""
    search = new_search(shop_of(instance), random_state(0))
    dispatcher = Dispatcher(instance)
    dispatcher.run(0, 0.0, search.random)
    sort_starts(search.shop, dispatcher.schedule().start, search.best)
    distance(search.shop, search.best, search.best, _CLOSE)
    relink(search.shop, search.best, search.best, *_SHARES, search.random, search.selection)
