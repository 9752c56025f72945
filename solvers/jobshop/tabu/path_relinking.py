"""TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015): tabu searches that start between two good schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from corl.rng import below
from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
from corl.solvers.jobshop.tabu.population import Population

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["PathRelinking", "TabuParameters", "TabuSearch"]


class TabuParameters(NamedTuple):
    """When a tabu search ends, and its tenures."""

    cut: int
    """Moves without an improvement after which the search (or, with several windows, the search of one window) ends."""
    shortest: int
    """Least tenure, in moves; tenures are drawn uniformly from shortest..longest."""
    longest: int
    """Greatest tenure, in moves."""


class TabuSearch(Protocol):
    """A tabu search of one instance that can be restarted, and the operations of a population on its schedules.

    A member of the population is a tuple of arrays that are never changed.
    """

    instance: JobShopInstance
    random: NDArray[np.uint64]
    """[1] the state of the random number generator."""
    rules: tuple[int, ...]
    """The dispatching rules (indices into RULES) whose noisy schedules fill a population."""
    noise: tuple[float, float]
    """The noise of these rules: until the population is full, and when two parents are too close."""
    grows: bool
    """Whether a converged population is replaced by a larger one."""

    @property
    def value(self) -> int:
        """The objective value of the best schedule since the last start."""
        ...

    def ended(self, parameters: TabuParameters) -> bool:
        """Return whether the tabu search since the last start has ended."""
        ...

    def best(self) -> tuple[Any, ...]:
        """Return the best schedule since the last start, as a member."""
        ...

    def schedule(self) -> Schedule:
        """Return the best schedule since the last start."""
        ...

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        ...

    def start_between(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Start from between two members; return False, without an effect, if they are too close."""
        ...

    def advance(self, parameters: TabuParameters, units: int) -> int:
        """Make up to `units` moves, until the search ends; return the number of units that are left."""
        ...

    def equal(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Return whether two members of equal objective value are the same schedule."""
        ...

    def with_seed(self, seed: int) -> TabuSearch:
        """Return a new search of the same instance."""
        ...


class PathRelinking:
    """A sequence of tabu searches, each from a start that the population provides.

    Args:
        search: The tabu search.
        population: The size of a new population, or a population shared with other searches.
        parameters: When a tabu search ends, and its tenures.
    """

    def __init__(self, search: TabuSearch, population: int | Population, parameters: TabuParameters) -> None:
        self._search, self._parameters = search, parameters
        self._population = Population(population, search.equal, search.grows) if isinstance(population, int) else population
        self._dispatcher = Dispatcher(search.instance)

    @property
    def value(self) -> int:
        """The objective value of the best schedule since the last start."""
        return self._search.value

    def schedule(self) -> Schedule:
        """Return the best schedule since the last start; all operations start as early as its machine orders allow."""
        return self._search.schedule()

    def start_by_rule(self, rule: int, noise: float = 0.0) -> None:
        """Start from the schedule of a dispatching rule (index into RULES)."""
        self._dispatcher.run(rule, noise, self._search.random)
        self._search.start_at(self._dispatcher.schedule())

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        self._search.start_at(schedule)

    def step(self, units: int) -> int:
        """Make up to `units` moves of one tabu search, a new one if the last has ended; return how many units are left."""
        if self._search.ended(self._parameters):
            self._population.add(self._search.best(), self._search.value)
            self._restart()
        return self._search.advance(self._parameters, units)

    def for_thread(self, seed: int, share: bool) -> PathRelinking:
        """Return a PathRelinking with another seed for another thread; if `share`, both use one population."""
        population = self._population if share else self._population.size
        other = PathRelinking(self._search.with_seed(seed), population, self._parameters)
        other._restart()
        return other

    def _restart(self) -> None:
        """Start from between two members; from a noisy rule if the population is not full or the two members are too close."""
        search = self._search
        parents = self._population.parents(search.random)
        if parents is None or not search.start_between(*parents):
            rule = search.rules[below(search.random, len(search.rules))]
            self.start_by_rule(rule, search.noise[parents is not None])
