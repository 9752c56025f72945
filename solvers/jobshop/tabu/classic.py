"""`ClassicTabu`: tabu search of a job shop without choices of machines, for the makespan or the weighted tardiness."""

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

_SHARES = (0.3, 0.5)  # relinking goes this share of the path from one parent to the other, drawn at random
_MAX_FAILED_COVERAGE = 10  # a search ends once consecutive failed windows hold together this many times N operations
_MIN_DISTANCE = 10  # parents with fewer differently ordered pairs of operations are not relinked
_RULES = {"makespan": ("mwkr", "fdd/mwkr", "mor"), "weighted_tardiness": ("atc", "edd", "mwkr")}

_Member = tuple[NDArray[np.uint32]]
"""A member of the population: the sequence of a schedule (`Selection.sequence`)."""


class ClassicTabu:
    """A `TabuSearch` (path_relinking.py) with the neighbourhood N7 for the makespan, and swaps for the weighted tardiness.

    Args:
        instance: An instance without choices of machines.
        seed: The seed of all random numbers.
        window: For the makespan, the number of operations that the search may move at a time (windows.py).
    """

    noise = (0.3, 0.5)
    grows = True

    def __init__(self, instance: JobShopInstance, seed: int, window: int) -> None:
        self.instance, self.random, self._window = instance, random_state(seed), window
        self.rules = tuple(RULES.index(name) for name in _RULES[instance.objective])
        self._search = new_search(shop_of(instance), self.random)
        self._copy = new_selection(self._search.shop)
        self._value_before_window = 0  # the best value when the present window was opened
        self._failed_windows = 0  # consecutive windows without an improvement
        self._needs_window = False  # whether the present window is finished
        self._due_data: tuple[Choices, NDArray[np.int64], NDArray[np.int64]] | None = None
        if instance.due is not None and instance.objective != "makespan":
            self._due_data = (choices_of(instance), instance.due, instance.weight)

    @property
    def value(self) -> int:
        return int(self._search.counts[VALUE])

    @property
    def _idle(self) -> int:
        """The number of moves since the best schedule improved."""
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
        if distance(search.shop, one[0], other[0], _MIN_DISTANCE) < _MIN_DISTANCE:
            return False
        relink(search.shop, one[0], other[0], *_SHARES, search.random, search.selection)
        self._begin()
        return True

    def _begin(self) -> None:
        """Start the search from the schedule in `self._search.selection.sequence`."""
        if self._due_data is None:
            begin(self._search)
            self._failed_windows, self._needs_window = 0, self._window < self.instance.operations
        else:
            begin_tardiness(self._search, *self._due_data)

    def advance(self, parameters: TabuParameters, units: int) -> int:
        if self._due_data is not None:
            return int(advance_tardiness(self._search, *self._due_data, *parameters, units))
        while units and not self.ended(parameters):
            if self._needs_window:
                self._open_window()
            units = int(advance(self._search, *parameters, units))
            self._needs_window = self._idle >= parameters.cut
            if self._needs_window:
                self._failed_windows = 0 if self.value < self._value_before_window else self._failed_windows + 1
        return units

    def ended(self, parameters: TabuParameters) -> bool:
        """Return whether the search has ended.

        It ends after `cut` moves without an improvement or, with windows, after enough windows without one.
        """
        if self._due_data is not None or self._window >= self.instance.operations:
            return self._idle >= parameters.cut
        return self._failed_windows * self._window >= _MAX_FAILED_COVERAGE * self.instance.operations

    def _open_window(self) -> None:
        """Continue from the best schedule in another window, at a random position."""
        n, size = self.instance.operations, self._window
        first = int(below(self.random, n)) - size // 2
        self._value_before_window, self._needs_window = self.value, False
        next_window(self._search, max(0, first), min(n, first + size))

    def equal(self, one: _Member, other: _Member) -> bool:
        return bool(distance(self._search.shop, one[0], other[0], 1) == 0)

    def with_seed(self, seed: int) -> ClassicTabu:
        return ClassicTabu(self.instance, seed, self._window)


def compile_relinking(instance: JobShopInstance) -> None:
    """Compile the kernels for relinking, which a run calls only once its population is full."""
    search = new_search(shop_of(instance), random_state(0))
    dispatcher = Dispatcher(instance)
    dispatcher.run(0, 0.0, search.random)
    sort_starts(search.shop, dispatcher.schedule().start, search.best)
    distance(search.shop, search.best, search.best, _MIN_DISTANCE)
    relink(search.shop, search.best, search.best, *_SHARES, search.random, search.selection)
