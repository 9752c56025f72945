"""TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015): tabu searches, each from between two good schedules."""

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
    """When a tabu search ends, and for how many moves, at random within the two, what a move undid stays tabu."""

    cut: int
    """Moves without an improvement, in one window if there are several."""
    shortest: int
    longest: int


class TabuSearch(Protocol):
    """One tabu search at a time of one instance, and what a population has to know of its schedules.

    A member of the population is a tuple of arrays that are never changed.
    """

    instance: JobShopInstance
    random: NDArray[np.uint64]
    """[1] where all its randomness comes from."""
    rules: tuple[int, ...]
    """The dispatching rules (indices into RULES) of the schedules that fill a population, with the noises of `noise`."""
    noise: tuple[float, float]
    """While there is room, and where two parents are close."""
    grows: bool
    """Whether a population that has converged is replaced by a larger one."""

    @property
    def value(self) -> int:
        """What the best since the last start is worth."""
        ...

    def ended(self, parameters: TabuParameters) -> bool:
        """Return whether the tabu search since the last start has ended."""
        ...

    def best(self) -> tuple[Any, ...]:
        """The best since the last start, as a member."""
        ...

    def schedule(self) -> Schedule:
        """The best since the last start."""
        ...

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        ...

    def start_between(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Start from between two members; False, and nothing done, where they are too close."""
        ...

    def advance(self, parameters: TabuParameters, units: int) -> int:
        """Make up to `units` moves, fewer where the search ends; returns how many are left."""
        ...

    def alike(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Return whether two members of equal objective value are the same schedule."""
        ...

    def another(self, seed: int) -> TabuSearch:
        """A search of the same instance."""
        ...


class PathRelinking:
    """Tabu searches one after another, each from a start that the population gives; `step` goes on from one to the next.

    population: its size, or one that other searches use too.
    """

    def __init__(self, search: TabuSearch, population: int | Population, parameters: TabuParameters) -> None:
        self._search, self._parameters = search, parameters
        self._population = Population(population, search.alike, search.grows) if isinstance(population, int) else population
        self._dispatcher = Dispatcher(search.instance)

    @property
    def value(self) -> int:
        """What the best since the last start is worth."""
        return self._search.value

    def schedule(self) -> Schedule:
        """The best since the last start, everything as early as its orders allow."""
        return self._search.schedule()

    def start_by_rule(self, rule: int, noise: float = 0.0) -> None:
        """Start from a dispatching rule's schedule."""
        self._dispatcher.run(rule, noise, self._search.random)
        self._search.start_at(self._dispatcher.schedule())

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        self._search.start_at(schedule)

    def step(self, units: int) -> int:
        """Make moves, up to `units` and up to the end of the present tabu search; returns how many are left."""
        if self._search.ended(self._parameters):
            self._population.add(self._search.best(), self._search.value)
            self._restart()
        return self._search.advance(self._parameters, units)

    def fellow(self, seed: int, share: bool) -> PathRelinking:
        """The same for another thread, with another seed; with `share` both have one population."""
        population = self._population if share else self._population.size
        other = PathRelinking(self._search.another(seed), population, self._parameters)
        other._restart()
        return other

    def _restart(self) -> None:
        """From between two members; from a noisy rule while there is room, or where the two are close."""
        search = self._search
        parents = self._population.parents(search.random)
        if parents is None or not search.start_between(*parents):
            rule = search.rules[below(search.random, len(search.rules))]
            self.start_by_rule(rule, search.noise[parents is not None])
