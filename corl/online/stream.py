"""The contracts of decisions over time: `Stream`, `Day` and `OnlinePolicy`.

A day is an episode: events reveal an instance, and a policy decides with what is known so far. *Events* and *decisions* are JSON
objects (dicts with numbers, texts and lists). Every event has a "time", in the instance's units, and a "kind". *Knowledge* is
what a planner knows at one moment; nothing in it depends on what has not been revealed.

    world (a `Day`, or the user's own plant) -- event --> knowledge --> `OnlinePolicy.decide` -- decision --> world and knowledge
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

from corl.errors import UsageError
from corl.options import Options

__all__ = ["Day", "Decision", "Event", "OnlinePolicy", "Seeds", "Stream"]

Event: TypeAlias = Mapping[str, Any]
Decision: TypeAlias = Mapping[str, Any]


class Seeds(NamedTuple):
    """The seeds of a policy's random numbers, integers from 0; equal in every run of a day with the same seed."""

    decision: int
    """It differs from decision to decision."""
    day: int
    """It is the same in all decisions of a day: for random numbers that several decisions share."""


class Day(abc.ABC):
    """A simulated day. It knows the whole instance, and all random numbers of the day follow from its key."""

    @abc.abstractmethod
    def next_event(self) -> Event | None:
        """Move the clock to the next event and return it; None at the end of the day. Events have non-decreasing times."""

    @abc.abstractmethod
    def perform(self, decision: Decision, delay: float = 0.0) -> Decision:
        """Perform a decision `delay` time units after the last event.

        Returns the part of the decision that is performed: parts that the world no longer permits, because something happened
        during the delay, are left out. Raises UsageError for a decision that was not permitted at the last event either.
        """

    @abc.abstractmethod
    def solution(self) -> Any:
        """Return what was done, as a solution for `Problem.evaluate`. Raises UsageError before the end of the day."""


class Stream(abc.ABC):
    """How the instances of a problem are revealed over time, and what a policy may decide.

    Methods that change `knowledge` check everything first: after an error it is as before.
    """

    version: ClassVar[int] = 1
    """The version of the knowledge's JSON form."""

    @abc.abstractmethod
    def begin(self, instance: Any) -> Any:
        """Return the knowledge at the beginning of a day, from the part of `instance` known then (machines, depot)."""

    @abc.abstractmethod
    def observe(self, knowledge: Any, event: Event) -> None:
        """Add an event to `knowledge`, in place.

        Raises UsageError, in one line that names the field and what is accepted, for an event that is late (its time is before
        the last one's), repeated, unknown or malformed.
        """

    @abc.abstractmethod
    def decidable(self, knowledge: Any) -> bool:
        """Return whether there is anything to decide now."""

    @abc.abstractmethod
    def perform(self, knowledge: Any, decision: Decision, delay: float = 0.0) -> None:
        """Record in `knowledge`, in place, that a decision is performed. Raises UsageError for one that is not permitted."""

    @abc.abstractmethod
    def to_json(self, knowledge: Any) -> Any:
        """Return `knowledge` as JSON values."""

    @abc.abstractmethod
    def from_json(self, instance: Any, value: Any) -> Any:
        """Return the knowledge that `to_json` wrote. Raises InputError for malformed values."""

    @abc.abstractmethod
    def day(self, instance: Any, key: int) -> Day:
        """Return a simulated day of `instance`; days of equal keys have equal random numbers, whatever is decided."""

    def problem_now(self, knowledge: Any) -> tuple[Any, Any]:
        """Return the static instance of what is known and not yet done, and a warm start for it (None: there is none).

        For re-solving (`corl.online.resolve`): what has been decided and cannot be changed is fixed in this instance. Raises
        UsageError if the family has none.
        """
        raise UsageError("re-solving needs a static problem of what is known, and this family has none")

    def decision_from(self, knowledge: Any, solution: Any) -> Decision:
        """Return the decision for the present moment that a solution of `problem_now(knowledge)` begins with."""
        raise UsageError("re-solving needs a static problem of what is known, and this family has none")


class OnlinePolicy(Options, abc.ABC):
    """A frozen dataclass whose fields are options, declared by `corl.options.option`; it decides with what is known.

    Declared as an entry point PROBLEM.NAME of the group `corl.online`.
    """

    title: ClassVar[str] = ""
    """One line for `corl list`."""

    def accepts(self, instance: Any) -> str:
        """Return "" if the policy can decide for `instance`; otherwise the reason, for a message "... because REASON"."""
        return ""

    def prepare(self, instance: Any) -> None:
        """Import packages, load weights and compile kernels, before the first decision."""

    @abc.abstractmethod
    def decide(self, stream: Stream, knowledge: Any, seconds: float, seeds: Seeds) -> Decision:
        """Return a decision for the present moment, within `seconds` of wall time. `knowledge` is not changed.

        A policy keeps no state between calls: whatever it must remember is in `knowledge` (so that saving a dispatcher saves
        all). All its random numbers follow from `seeds`.
        """
