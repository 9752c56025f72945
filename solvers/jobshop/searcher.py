"""What tabu searches of classic and of flexible job shops have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import Schedule

__all__ = ["Rules", "Searcher"]


class Rules(NamedTuple):
    """When a tabu search ends, and for how many moves, at random within the two, what it undid stays so."""

    cut: int
    shortest: int
    longest: int


class Searcher(Protocol):
    """Tabu searches one after another, each from a start that its population gives."""

    @property
    def value(self) -> int:
        """What the best since the last start is worth."""
        ...

    def schedule(self) -> Schedule:
        """The best since the last start."""
        ...

    def start_by_rule(self, rule: int, noise: float = 0.0) -> None:
        """Start from a dispatching rule's schedule."""
        ...

    def start_at(self, schedule: Schedule) -> None:
        """Start from a feasible schedule."""
        ...

    def step(self, units: int) -> int:
        """Make moves, up to `units` and up to the end of the present tabu search; returns how many are left."""
        ...

    def fellow(self, seed: int, share: bool) -> Searcher:
        """Another searcher of the instance, from a noisy rule; with `share` both have one population."""
        ...
