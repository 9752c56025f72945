"""Annealing that stays near an announced schedule: a second search in which no announced operation starts earlier than announced.

The kernels place operations as early as possible. If a shifted start costs something, that is too early for many operations; a
search of the second kind keeps them in their places, and the first kind remains, because starting earlier may be better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.solvers.jobshop.placing.placer import Annealing, Placer

__all__ = ["Alternating", "near_announced"]

_TURN = 500  # steps of one search before the other one continues


class Alternating:
    """Searches that take turns of a fixed number of steps, so that the result does not depend on how steps are granted."""

    def __init__(self, searches: Sequence[Annealing]) -> None:
        self._searches, self._done = searches, 0

    @property
    def value(self) -> float:
        """The objective value of the best schedule; MISSING or more if no feasible one was found."""
        return min(search.value for search in self._searches)

    def step(self, remaining: int) -> None:
        """Build `remaining` schedules."""
        while remaining:
            turn, begun = divmod(self._done, _TURN)
            count = min(remaining, _TURN - begun)
            self._searches[turn % len(self._searches)].step(count)
            self._done, remaining = self._done + count, remaining - count

    def schedule(self) -> Schedule:
        """Return the best schedule."""
        return min(self._searches, key=lambda search: search.value).schedule()


def near_announced(instance: JobShopInstance, search: Annealing, seed: int) -> Annealing | Alternating:
    """Return a search that alternates `search` with one that stays near the announced schedule; `search` if there is none."""
    changes = None if instance.rules is None else instance.rules.changes
    if instance.rules is None or changes is None:
        return search
    earliest = instance.rules.lowest(instance)
    free = changes.start >= 0
    free[instance.rules.fixed] = False
    if changes.per_time:
        earliest[free] = np.maximum(earliest[free], changes.start[free])
    placer = Placer(replace(instance, rules=replace(instance.rules, earliest=earliest)))
    if not placer.possible:
        return search
    requested = _adopt_announced(placer, earliest)
    return Alternating([Annealing(placer, requested, seed + 1), search])


def _adopt_announced(placer: Placer, earliest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Set the placer's sequence to the order of the announced starts; return the announced choices, -1 where there are none.

    `earliest`, int64 [O], stands for the starts of operations that were not announced.
    """
    instance = placer.instance
    assert instance.rules is not None and instance.rules.changes is not None
    changes = instance.rules.changes
    first_machine = instance.choice_machine[instance.choice_first[:-1]]
    known = changes.start >= 0
    start, machine = np.where(known, changes.start, earliest), np.where(known, changes.machine, first_machine)
    for i in range(1, instance.operations):  # the order of a job's units is that of the job
        if instance.job[i] == instance.job[i - 1]:
            start[i] = max(start[i], start[i - 1])
    requested = placer.adopt_order(Schedule(start, machine.astype(np.int32)))
    return np.where(known, requested, -1)
