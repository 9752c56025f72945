"""`FlexibleTabu`: tabu search of a job shop with choices of machines, for the makespan or the weighted tardiness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import below, random_state, uniform
from corl.solvers.jobshop.dispatch.rules import rules_for
from corl.solvers.jobshop.tabu.flexible_search import advance_flexible, begin_flexible
from corl.solvers.jobshop.tabu.makespan_search import IDLE, VALUE, new_search
from corl.solvers.jobshop.tabu.path_relinking import TabuParameters
from corl.solvers.jobshop.tabu.reassignment import choices_of, take
from corl.solvers.jobshop.tabu.selection import new_selection, rebuild, set_sequence, shop_of
from corl.solvers.jobshop.tabu.tardiness_search import advance_tardiness, begin_tardiness

__all__ = ["FlexibleTabu"]

_SHARES = {"makespan": (0.3, 0.5), "weighted_tardiness": (0.1, 0.2)}
"""Relinking goes this share of the path from one parent to the other, drawn at random."""
_MIN_DIFFERENCE = {"makespan": 0.005, "weighted_tardiness": 0.02}
"""Parents whose choices differ for a smaller share of the operations are not relinked."""
_WEIGHTS = (0, 1, 2, 4, 8)
"""Weights, in halves, of a move's added work in its estimate; each tabu search draws one of them at random.

The added work is the difference between the operation's durations on the new and on the old machine. If all machines are busy
until the end, the makespan can only decrease with the total work, but a single move that reduces the work shortens no critical
path. Measured makespans: weight 2 instead of 0 gives 2 % less on Behnke's 16th instance, weight 8 gives 9 % more on Brandimarte's
mk10.
"""

_Member = tuple[NDArray[np.int64], NDArray[np.int32]]
"""A member of the population: start times [N] and choices of machines [N]."""


class FlexibleTabu:
    """A `TabuSearch` (path_relinking.py) that moves operations within the sequences of their machines and to other machines.

    For the makespan, half of the searches also exchange two operations, which is slower, and helps if machines are always busy.
    Half of them have half the tenure: shorter tenures are better on mk10, la29 of edata and vdata, longer ones on Dauzère's 10a.
    """

    noise = (0.5, 0.5)
    grows = True

    def __init__(self, instance: JobShopInstance, seed: int) -> None:
        self.instance, self.random, self.rules = instance, random_state(seed), rules_for(instance)
        self._search, self._choices = new_search(shop_of(instance), self.random), choices_of(instance)
        self._copy = shop_of(instance), new_selection(shop_of(instance)), choices_of(instance)
        self._dates = None if instance.due is None or instance.objective == "makespan" else (instance.due, instance.weight)
        self._weight, self._exchanges, self._divisor = 0, False, 1

    @property
    def value(self) -> int:
        return int(self._search.counts[VALUE])

    def best(self) -> _Member:
        shop, selection, choices = self._copy
        take(shop, choices, self._choices.best)
        selection.sequence[:] = self._search.best
        rebuild(shop, selection)
        return selection.end[: self.instance.operations].astype(np.int64) - shop.duration, self._choices.best.copy()

    def schedule(self) -> Schedule:
        start, choice = self.best()
        return Schedule(start, self.instance.choice_machine[choice])

    def start_at(self, schedule: Schedule) -> None:
        instance = self.instance
        chosen = instance.choice_machine == np.repeat(schedule.machine, np.diff(instance.choice_first))
        self._start(schedule.start, np.flatnonzero(chosen).astype(np.int32))

    def start_between(self, one: _Member, other: _Member) -> bool:
        """Start from a mixture of two members; return False, without an effect, if the two are too similar.

        Each operation takes the choice of one of the two members at random. On each machine the operations
        are sorted by the weighted mean of their two start times, so that two operations keep their order if both members agree.
        """
        if (one[1] != other[1]).mean() < _MIN_DIFFERENCE[self.instance.objective]:
            return False
        share, *drawn = (float(uniform(self.random)) for _ in range(1 + len(one[1])))
        low, high = _SHARES[self.instance.objective]
        share = low + (high - low) * share
        from_other = np.array(drawn) < share
        mean = np.round(1024 * ((1.0 - share) * one[0] + share * other[0])).astype(np.int64)
        self._start(mean, np.where(from_other, other[1], one[1]).astype(np.int32))
        return True

    def _start(self, start: NDArray[np.int64], choice: NDArray[np.int32]) -> None:
        """Start from the choices `choice` [N] and the order of the times `start` [N], an order that respects all jobs."""
        search, choices = self._search, self._choices
        take(search.shop, choices, choice)
        # ties: the shorter operation first, then the lower number, which agrees with the jobs' orders
        order = np.lexsort((search.shop.duration, start))
        set_sequence(search.shop, order, search.selection.sequence)
        if self._dates is None:
            begin_flexible(search, choices)
            self._weight = _WEIGHTS[below(self.random, len(_WEIGHTS))]
            self._exchanges, self._divisor = below(self.random, 2) == 0, 1 + below(self.random, 2)
        else:
            begin_tardiness(search, choices, *self._dates)

    def advance(self, parameters: TabuParameters, units: int) -> int:
        if self._dates is None:
            cut, *tenures = parameters
            shortest, longest = (max(1, tenure // self._divisor) for tenure in tenures)
            search, choices = self._search, self._choices
            return int(advance_flexible(search, choices, self._weight, self._exchanges, cut, shortest, longest, units))
        return int(advance_tardiness(self._search, self._choices, *self._dates, *parameters, units))

    def ended(self, parameters: TabuParameters) -> bool:
        return bool(self._search.counts[IDLE] >= parameters.cut)

    def equal(self, one: _Member, other: _Member) -> bool:
        return bool((one[1] == other[1]).all() and (one[0] == other[0]).all())

    def with_seed(self, seed: int) -> FlexibleTabu:
        return FlexibleTabu(self.instance, seed)
