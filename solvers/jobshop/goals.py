"""What a tabu search of a job shop without choices minimises: how it begins and goes on, and what fills its population."""

from __future__ import annotations

from typing import Protocol

from corl.problems.jobshop.instance import JobShopInstance
from corl.solvers.jobshop.dispatching import RULES
from corl.solvers.jobshop.lateness import advance_late, begin_late
from corl.solvers.jobshop.search import Search, advance, begin
from corl.solvers.jobshop.searcher import Rules

__all__ = ["Goal", "goal_of"]


class Goal(Protocol):
    """An objective."""

    rules: tuple[int, ...]
    """The dispatching rules (indices into RULES) that fill the population."""

    def begin(self, search: Search) -> None:
        """Start from the orders in `search.selection.sequence`."""
        ...

    def advance(self, search: Search, rules: Rules, units: int) -> int:
        """Make up to `units` moves, fewer where the search ends; returns how many are left."""
        ...


class _Makespan:
    def __init__(self) -> None:
        self.rules = _numbers("mwkr", "fdd/mwkr", "mor")

    def begin(self, search: Search) -> None:
        begin(search)

    def advance(self, search: Search, rules: Rules, units: int) -> int:
        return int(advance(search, *rules, units))


class _Tardiness:
    def __init__(self, instance: JobShopInstance) -> None:
        assert instance.due is not None
        self._due, self._weight = instance.due, instance.weight
        self.rules = _numbers("atc", "edd", "mwkr")

    def begin(self, search: Search) -> None:
        begin_late(search, self._due, self._weight)

    def advance(self, search: Search, rules: Rules, units: int) -> int:
        return int(advance_late(search, self._due, self._weight, *rules, units))


def goal_of(instance: JobShopInstance) -> Goal:
    """The instance's own objective."""
    return _Makespan() if instance.objective == "makespan" else _Tardiness(instance)


def _numbers(*names: str) -> tuple[int, ...]:
    return tuple(RULES.index(name) for name in names)
