"""The population of TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015, section 3.2)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.rng import below

__all__ = ["Population"]

_GROWTH = 2  # ratio of the capacities of two successive populations

_Member = tuple[Any, ...]
"""A schedule as a tuple of arrays."""


class Population:
    """A set of at most `capacity` distinct schedules, its members, with their objective values; threads may share it.

    The population has converged when the last `capacity` tabu searches have not improved it. If it `grows`, only the best member
    is then kept, the capacity is doubled, and the population is filled again. (In Peng, Lu and Cheng the size is constant.)

    Args:
        size: The first capacity.
        equal: A function that returns whether two members of equal objective value are the same schedule.
        grows: Whether a converged population is replaced by a larger one.
    """

    def __init__(self, size: int, equal: Callable[[_Member, _Member], bool], grows: bool) -> None:
        self.size, self._capacity, self._equal, self._grows = size, size, equal, grows
        self._failed_searches = 0  # tabu searches since the population improved
        self._lock = threading.Lock()
        self._members: list[_Member] = []
        self._values: list[int] = []

    @property
    def capacity(self) -> int:
        """The present maximum number of members."""
        return self._capacity

    @property
    def values(self) -> list[int]:
        """The objective values of the members."""
        return list(self._values)

    def add(self, member: _Member, value: int) -> None:
        """Insert a member unless an equal one is present; if the population is full, only in place of one that is no better."""
        with self._lock:
            self._failed_searches += 1
            self._insert(member, value)
            if self._grows and len(self._members) == self._capacity > 1 and self._failed_searches >= self._capacity:
                best = int(np.argmin(self._values))
                self._members, self._values = [self._members[best]], [self._values[best]]
                self._capacity, self._failed_searches = self._capacity * _GROWTH, 0

    def _insert(self, member: _Member, value: int) -> None:
        """Insert a member as `add` describes; if that improves the population, reset the number of failed searches."""
        if any(other == value and self._equal(each, member) for other, each in zip(self._values, self._members)):
            return
        if len(self._members) == self._capacity:
            worst = int(np.argmax(self._values))
            if value > self._values[worst]:
                return
            if value < self._values[worst]:
                self._failed_searches = 0
            del self._members[worst], self._values[worst]
        else:
            self._failed_searches = 0
        self._members.append(member)
        self._values.append(value)

    def parents(self, random: NDArray[np.uint64]) -> tuple[_Member, _Member] | None:
        """Return two different members at random; None until the population is full."""
        with self._lock:
            if not len(self._members) == self._capacity > 1:
                return None
            i, j = (below(random, count) for count in (self._capacity, self._capacity - 1))
            return self._members[i], self._members[j + (j >= i)]
