"""Plan: the runs that a suite asks for, in the order of their execution."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from corl.benchmark.running.sources import SuiteInstance
from corl.benchmark.running.suite import Lineup, Suite
from corl.errors import InputError
from corl.files.json_values import is_number
from corl.store import Key

__all__ = ["Loaded", "PlannedRun", "load", "planned_runs"]

_CACHED_INSTANCES = 4  # kept in memory


@dataclass(frozen=True)
class PlannedRun:
    """One run: an instance, a solver, a seed and a limit."""

    source: SuiteInstance
    lineup: Lineup
    seed: int
    time_limit: float | None
    """Seconds; None if `iterations` is given."""
    iterations: int | None
    base_limit: float | None = None
    """The time limit in the suite, if `time_limit` is a multiple of it (Suite.time_limit_per)."""

    def key(self, suite: str) -> Key:
        """Return the run's key in the store; it equals `key_of` of the run's Record."""
        return (suite, self.source.label, self.lineup.label, self.seed, self.time_limit, self.iterations)


@dataclass(frozen=True)
class Loaded:
    """An instance in memory."""

    instance: Any
    pickled: bytes
    """The instance, pickled for the processes of runs."""
    facts: dict[str, Any]
    """The facts that `corl info` prints, if they are numbers or single words; and `size`, the first number among them."""

    @property
    def kind(self) -> tuple[tuple[str, Any], ...]:
        """The facts that are words, sorted: instances with equal ones need the same compiled kernels."""
        return tuple(sorted((key, fact) for key, fact in self.facts.items() if not is_number(fact)))


def planned_runs(suite: Suite) -> Iterator[PlannedRun]:
    """Yield all runs, seed by seed; solvers are innermost, so that runs that are compared are close together in time.

    A solver that is `limit_free` is run with the longest time limit only; its trace has the results of shorter limits.
    """
    limits: list[tuple[float | None, int | None]] = [(seconds, None) for seconds in suite.time_limits]
    limits += [(None, count) for count in suite.iterations]
    scales = [_scale(suite, source) for source in suite.sources]
    for seed in suite.seeds:
        for source, scale in zip(suite.sources, scales):
            for time_limit, iterations in limits:
                for lineup in suite.lineups:
                    if time_limit is None or time_limit == suite.time_limits[-1] or not lineup.limit_free:
                        if scale is None or time_limit is None:
                            yield PlannedRun(source, lineup, seed, time_limit, iterations)
                        else:
                            yield PlannedRun(source, lineup, seed, float(f"{time_limit * scale:.12g}"), iterations, time_limit)


def _scale(suite: Suite, source: SuiteInstance) -> float | None:
    """Return the fact of an instance that its time limits are multiplied by; None if the suite names none."""
    if not suite.time_limit_per:
        return None
    facts = load(suite, source).facts
    value: Any = facts.get(suite.time_limit_per)
    if not is_number(value) or value <= 0:
        numbers = ", ".join(name for name, fact in facts.items() if is_number(fact))
        wrong = f"no number above 0 among the facts of {source.label}; accepted: {numbers}"
        raise InputError(wrong, file=str(suite.file), field="time_limit_per")
    return float(value)


def load(suite: Suite, source: SuiteInstance) -> Loaded:
    """Return the instance of a source, from a cache of the last few. Raises InputError."""
    return _load(suite.problem, source)


@lru_cache(_CACHED_INSTANCES)
def _load(problem: Any, source: SuiteInstance) -> Loaded:
    instance = source.load()
    facts = {key: fact for key, fact in problem.describe(instance).items() if is_number(fact) or _is_word(fact)}
    sizes = [fact for fact in facts.values() if is_number(fact)]
    facts = ({"size": sizes[0]} if sizes else {}) | facts
    return Loaded(instance, pickle.dumps(instance, protocol=5), facts)


def _is_word(fact: Any) -> bool:
    return isinstance(fact, bool) or (isinstance(fact, str) and 0 < len(fact) <= 24 and " " not in fact)
