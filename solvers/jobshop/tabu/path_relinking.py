"""TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015): tabu searches that start between two good schedules.

Path relinking takes two members of a population, and starts a tabu search from a schedule on a path between the two.
"""

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
    """The parameters of a tabu search. A tenure is the number of moves for which a change is not undone."""

    cut: int
    """The number of moves without an improvement after which the search (with windows: the search in one window) ends."""
    shortest: int
    """The minimum tenure, in moves; tenures are drawn uniformly from shortest..longest."""
    longest: int
    """The maximum tenure, in moves."""


class TabuSearch(Protocol):
    """A tabu search of one instance that can be restarted, with the functions that a population of its schedules needs.

    A member of the population is a schedule as a tuple of arrays, which are never changed.
    """

    instance: JobShopInstance
    random: NDArray[np.uint64]
    """[1] the state of the random number generator."""
    rules: tuple[int, ...]
    """The dispatching rules (indices into RULES) that build the first members of a population, with noise."""
    noise: tuple[float, float]
    """The noise of these rules (`Dispatcher.run`) until the population is full, and later when two parents are too similar."""
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
        """Start from a schedule between two members; return False, without an effect, if the two are too similar."""
        ...

    def advance(self, parameters: TabuParameters, units: int) -> int:
        """Make up to `units` moves, fewer if the search ends; return `units` minus the number of moves made."""
        ...

    def equal(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Return whether two members of equal objective value are the same schedule."""
        ...

    def with_seed(self, seed: int) -> TabuSearch:
        """Return a new search of the same instance with another seed."""
        ...


class PathRelinking:
    """Repeated tabu searches; the best schedule of each enters a population, from which the next one starts.

    Args:
        search: The tabu search.
        population: The size of a new population, or a population shared with other threads.
        parameters: The parameters of the tabu search.
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
        """Return the best schedule since the last start; its operations start as early as the machine orders allow."""
        return self._search.schedule()

    def start_by_rule(self, rule: int, noise: float = 0.0) -> None:
        """Start from the schedule of a dispatching rule (index into RULES)."""
        self._dispatcher.run(rule, noise, self._search.random)
        self._search.start_at(self._dispatcher.schedule())

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        self._search.start_at(schedule)

    def step(self, units: int) -> int:
        """Make up to `units` moves of the present tabu search, or of a new search if the present one has ended.

        Returns `units` minus the number of moves made.
        """
        if self._search.ended(self._parameters):
            self._population.add(self._search.best(), self._search.value)
            self._restart()
        return self._search.advance(self._parameters, units)

    def for_thread(self, seed: int, share: bool) -> PathRelinking:
        """Return a PathRelinking for another thread, with another seed; if `share`, both use the same population."""
        population = self._population if share else self._population.size
        other = PathRelinking(self._search.with_seed(seed), population, self._parameters)
        other._restart()
        return other

    def _restart(self) -> None:
        """Start between two members, or by a rule with noise if the population is not full or the two are too similar."""
        search = self._search
        parents = self._population.parents(search.random)
        if parents is None or not search.start_between(*parents):
            rule = search.rules[below(search.random, len(search.rules))]
            self.start_by_rule(rule, search.noise[parents is not None])
