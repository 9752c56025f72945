"""Budget: how long the runs of a suite take, by those that are stored, and how many of them a given time allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from corl.benchmark.running.plan import PlannedRun
from corl.errors import UsageError
from corl.record import Record

__all__ = ["Kind", "Pace", "affordable", "kind_of"]

Kind: TypeAlias = tuple[str, float | None, int | None]
"""(label of the solver, time limit, iterations): runs that are expected to take the same time."""

_OVERHEAD = 3.0  # seconds for the process, imports and verification of a run, while no run of the kind is stored


def kind_of(run: PlannedRun | Record) -> Kind:
    """Return the kind of a run."""
    return run.lineup.label if isinstance(run, PlannedRun) else run.solver, run.time_limit, run.iterations


class Pace:
    """The expected seconds of runs: the mean of ended runs of the same kind; before the first, the limit and an overhead."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._ended: dict[Kind, tuple[float, int]] = {}  # the sum of the seconds, and the number of runs
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Learn from a run that has ended; one without measured seconds is skipped."""
        if record.wall_seconds is not None:
            seconds, count = self._ended.get(kind_of(record), (0.0, 0))
            self._ended[kind_of(record)] = seconds + record.wall_seconds, count + 1

    def total(self, kinds: Mapping[Kind, int]) -> float | None:
        """Return the expected seconds of runs one after the other, given their number by kind.

        None if the seconds of one of them are unknown: its limit is in iterations, and no run of the kind has ended.
        """
        seconds = 0.0
        for kind, count in kinds.items():
            if kind in self._ended:
                total, number = self._ended[kind]
                seconds += count * total / number
            elif kind[1] is not None:
                seconds += count * (kind[1] + _OVERHEAD)
            else:
                return None
        return seconds


def affordable(plans: Sequence[PlannedRun], seconds: float, pace: Pace, jobs: int = 1) -> list[PlannedRun]:
    """Return the first runs that take at most `seconds`: all runs of an instance and a seed or none, so that all are paired.

    Args:
        plans: The runs to do, in their order (seed by seed, instance by instance).
        seconds: The budget on the wall clock.
        pace: The expected seconds of each run.
        jobs: The number of runs at a time.

    Raises:
        UsageError: The seconds of a run are unknown, or the budget does not suffice for the first instance.
    """
    chosen: list[PlannedRun] = []
    left = seconds * jobs
    for _, members in groupby(plans, key=lambda plan: (plan.seed, plan.source.label)):
        block = list(members)
        needed = pace.total(Counter(map(kind_of, block)))
        if needed is None:
            raise UsageError("--budget: the time of runs that are limited by iterations is unknown; accepted: time limits")
        if needed > left and not chosen:
            raise UsageError(f"--budget: {seconds:g} s is not accepted; the first instance takes about {needed / jobs:.0f} s")
        if needed > left:
            break
        left -= needed
        chosen += block
    return chosen
