"""The population of TS/PR (Peng, Lu and Cheng, 2015), and the starts that it gives to tabu searches."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance
from corl.rng import below, random_state
from corl.solvers.jobshop.dispatching import Dispatcher
from corl.solvers.jobshop.relink import distance, relink
from corl.solvers.jobshop.search import Search, new_search
from corl.solvers.jobshop.selection import shop_of, sort_starts

__all__ = ["Population", "compile_relinking", "start_by_rule"]

_SHARES = (0.3, 0.5)  # of the way from one parent to the other
_CLOSE = 10  # parents with fewer differences than this are not worth relinking
_NOISE = 0.3  # of the dispatching rules that fill the population
_FRESH_NOISE = 0.5  # of those that replace relinking where two parents are close
_GROWTH = 2  # of the size, from one population to the next


def start_by_rule(search: Search, dispatcher: Dispatcher, rule: int, noise: float) -> None:
    """Write the orders of a dispatching rule (an index into RULES) into `search.selection.sequence`."""
    dispatcher.run(rule, noise, search.random)
    sort_starts(search.shop, dispatcher.schedule().start, search.selection.sequence)


class Population:
    """At most `size` sequences, no two alike, and what they are worth; threads may share one.

    Where as many tabu searches as it has members, one after another, made none of them better, it has converged: the best
    stays, and another population, twice as large, is filled beside it (Peng, Lu and Cheng fill one of the same size).
    """

    def __init__(self, size: int, dispatcher: Dispatcher, rules: tuple[int, ...]) -> None:
        self.size, self._room, self._dispatcher, self._rules = size, size, dispatcher, rules
        self._idle = 0  # tabu searches since a member was made better
        self._lock = threading.RLock()
        self._members: list[NDArray[np.uint32]] = []
        self._values: list[int] = []

    @property
    def room(self) -> int:
        """The size of the present population."""
        return self._room

    @property
    def values(self) -> list[int]:
        """What the members are worth."""
        return list(self._values)

    def add(self, search: Search, sequence: NDArray[np.uint32], value: int) -> None:
        """Take a sequence in: while there is room, otherwise in place of the worst, if no worse and unlike all."""
        with self._lock:
            self._idle += 1
            self._take(search, sequence, value)
            if len(self._members) == self._room > 1 and self._idle >= self._room:
                best = int(np.argmin(self._values))
                self._members, self._values = [self._members[best]], [self._values[best]]
                self._room, self._idle = self._room * _GROWTH, 0

    def _take(self, search: Search, sequence: NDArray[np.uint32], value: int) -> None:
        for known, member in zip(self._values, self._members):
            if known == value and distance(search.shop, member, sequence, 1) == 0:
                return
        if len(self._members) == self._room:
            worst = int(np.argmax(self._values))
            if value > self._values[worst]:
                return
            if value < self._values[worst]:
                self._idle = 0
            del self._members[worst], self._values[worst]
        else:
            self._idle = 0
        self._members.append(sequence.copy())
        self._values.append(value)

    def start(self, search: Search) -> None:
        """Write the next start into `search.selection.sequence`: between two members; a noisy rule while there is room, or
        where the two are close."""
        with self._lock:
            noise, random = _NOISE, search.random
            if len(self._members) == self._room > 1:
                i, j = below(random, self._room), below(random, self._room - 1)
                one, other = self._members[i], self._members[j + (j >= i)]
                if distance(search.shop, one, other, _CLOSE) == _CLOSE:
                    relink(search.shop, one, other, *_SHARES, random, search.selection)
                    return
                noise = _FRESH_NOISE
            start_by_rule(search, self._dispatcher, self._rules[below(random, len(self._rules))], noise)


def compile_relinking(instance: JobShopInstance) -> None:
    """Call what a run calls only once its population is full."""
    search = new_search(shop_of(instance), random_state(0))
    start_by_rule(search, Dispatcher(instance), 0, 0.0)
    search.best[:] = search.selection.sequence
    distance(search.shop, search.best, search.best, _CLOSE)
    relink(search.shop, search.best, search.best, *_SHARES, search.random, search.selection)
