"""The population of TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015, section 3.2)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.rng import below

__all__ = ["Population"]

_GROWTH = 2  # of the size, from one population to the next

_Member = tuple[Any, ...]


class Population:
    """At most `size` members, no two equal, and their objective values; threads may share one.

    Where as many tabu searches as it has members, one after another, made none of them better, it has converged. If it `grows`,
    the best then stays, and another population, twice as large, is filled beside it (Peng, Lu and Cheng fill one of the same
    size).
    """

    def __init__(self, size: int, alike: Callable[[_Member, _Member], bool], grows: bool) -> None:
        self.size, self._room, self._alike, self._grows = size, size, alike, grows
        self._idle = 0  # tabu searches since a member was made better
        self._lock = threading.Lock()
        self._members: list[_Member] = []
        self._values: list[int] = []

    @property
    def room(self) -> int:
        """The size of the present population."""
        return self._room

    @property
    def values(self) -> list[int]:
        """Return the objective values of the members."""
        return list(self._values)

    def add(self, member: _Member, value: int) -> None:
        """Take a member in: while there is room, otherwise in place of the worst, if no worse and unlike all."""
        with self._lock:
            self._idle += 1
            self._take(member, value)
            if self._grows and len(self._members) == self._room > 1 and self._idle >= self._room:
                best = int(np.argmin(self._values))
                self._members, self._values = [self._members[best]], [self._values[best]]
                self._room, self._idle = self._room * _GROWTH, 0

    def _take(self, member: _Member, value: int) -> None:
        if any(known == value and self._alike(each, member) for known, each in zip(self._values, self._members)):
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
        self._members.append(member)
        self._values.append(value)

    def parents(self, random: NDArray[np.uint64]) -> tuple[_Member, _Member] | None:
        """Two members at random; None while there is room."""
        with self._lock:
            if not len(self._members) == self._room > 1:
                return None
            i, j = (below(random, count) for count in (self._room, self._room - 1))
            return self._members[i], self._members[j + (j >= i)]
