"""Runs of candidates: blocks of runs of a benchmark's suite, executed or taken from its store, and the budget that they use.

A tuning is a function of the results of its runs. When it is started again, runs that the store has are not repeated, so that it
continues where it was killed, with the same candidates.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.benchmark.running.plan import PlannedRun, planned_runs
from corl.benchmark.running.runner import Listener, missing, run_suite, warm_up
from corl.benchmark.running.sources import SuiteInstance
from corl.benchmark.running.suite import Lineup, Suite
from corl.benchmark.running.supervisor import Supervisor
from corl.record import Record
from corl.store import Key, Store, key_of
from corl.tuning.costs import cost, references

__all__ = ["DEFAULT", "Block", "Candidate", "Runs"]

DEFAULT = "default"
"""The label of the candidate with the default options."""


@dataclass(frozen=True)
class Candidate:
    """A solver with options, as it takes part in a race."""

    options: Mapping[str, Any]
    """All options that are not the solver's own defaults."""
    label: str = ""
    """The label of its runs, by default a hash of the options."""
    trial: Any = field(default=None, compare=False, repr=False)
    """The sampler's trial; None for the defaults."""

    def __post_init__(self) -> None:
        if not self.label:
            text = json.dumps(dict(sorted(self.options.items())), default=str)
            object.__setattr__(self, "label", hashlib.sha256(text.encode()).hexdigest()[:8])


@dataclass(frozen=True)
class Block:
    """Pairs of instances and seeds: each of the instances with each of the seeds."""

    sources: tuple[SuiteInstance, ...]
    seeds: tuple[int, ...]

    @property
    def pairs(self) -> list[tuple[str, int]]:
        return [(source.label, seed) for seed in self.seeds for source in self.sources]


class Runs:
    """The runs of a tuning, and the processor seconds that they used."""

    def __init__(self, suite: Suite, store: Store, jobs: int, budget: float, command: str, listener: Listener) -> None:
        """Create the runs of a tuning.

        Args:
            suite: The suite, with all instances; its solvers are replaced by candidates.
            store: The store of the runs.
            jobs: Runs at a time.
            budget: Processor seconds.
            command: The command line, which is stored.
            listener: Receives the progress.
        """
        self.suite, self.store, self.budget, self._command, self._jobs = suite, store, budget, command, jobs
        self._listener = replace(listener, ended=self._ended, begin=lambda todo: None)
        self._told: Callable[[Record], None] = listener.ended
        self._stored: dict[Key, Record] = {key_of(record): record for record in store.records(suite.name)}
        self._used: dict[tuple[str, str, int], Record] = {}  # (label, instance, seed) -> the run
        self._warmed: set[str] = set()
        self.spent = 0.0
        """Processor seconds of the runs that have been used so far, also of those that the store had."""

    # ---------------------------------------------------------------- runs
    def measure(self, candidates: Sequence[Candidate], block: Block) -> None:
        """Execute the runs of the candidates on a block that are not known yet. Raises KeyboardInterrupt on Ctrl-C."""
        lineups = tuple(self._lineup(each) for each in candidates)
        suite = replace(self.suite, lineups=lineups, sources=block.sources, seeds=block.seeds)
        todo = missing(suite, self.store, resume=True)
        if todo:
            self._warm_up(suite, todo)
            run_suite(suite, todo, self.store, Supervisor.here(self._jobs), self._listener, self._command, warm=False)
        for plan in planned_runs(suite):
            record = self._stored[plan.key(suite.name)]
            where = record.solver, record.instance, record.seed
            if where not in self._used:
                self._used[where] = record
                self.spent += _seconds(record)

    def _lineup(self, candidate: Candidate) -> Lineup:
        return Lineup(candidate.label, self.suite.lineups[0].solver, candidate.options)

    def _ended(self, record: Record) -> None:
        self._stored[key_of(record)] = record
        self._told(record)

    def _warm_up(self, suite: Suite, todo: Sequence[PlannedRun]) -> None:
        """Compile kernels before the first runs: once for each combination of options that are not numbers."""
        fresh = []
        for plan in todo:
            words = repr(sorted((name, each) for name, each in plan.lineup.options.items() if not _is_amount(each)))
            if words not in self._warmed:
                self._warmed.add(words)
                fresh.append(plan)
        if fresh:
            with closing(Supervisor.here(1)) as supervisor:
                if supervisor.local:
                    warm_up(suite, fresh, supervisor, self._listener)

    # ---------------------------------------------------------------- budget
    @property
    def per_run(self) -> float:
        """The expected processor seconds of a run: the mean of the known ones."""
        known = [_seconds(record) for record in self._used.values()]
        return sum(known) / len(known) if known else (self.suite.time_limits[0] if self.suite.time_limits else 0.0)

    def unknown(self, candidates: Sequence[Candidate], block: Block) -> int:
        """Return how many runs of the candidates on a block have not been used yet."""
        return sum((each.label, *pair) not in self._used for each in candidates for pair in block.pairs)

    @property
    def left(self) -> float:
        """Processor seconds that are left of the budget."""
        return self.budget - self.spent

    # ---------------------------------------------------------------- results
    def records(self, candidate: Candidate | None = None) -> list[Record]:
        """Return the runs that have been used so far, of all candidates or of one."""
        return [record for record in self._used.values() if candidate is None or record.solver == candidate.label]

    def costs(self, candidates: Sequence[Candidate], pairs: Sequence[tuple[str, int]], objective: str) -> NDArray[np.float64]:
        """Return the costs of candidates, float64 [candidates, pairs]; NaN for runs that have not been used."""
        reference = references(self._used.values())
        found = np.full((len(candidates), len(pairs)), np.nan)
        for row, candidate in enumerate(candidates):
            for column, (instance, seed) in enumerate(pairs):
                if (record := self._used.get((candidate.label, instance, seed))) is not None:
                    found[row, column] = cost(record, reference, objective)
        return found

    def pairs(self, candidate: Candidate, among: Sequence[Block]) -> list[tuple[str, int]]:
        """Return the pairs of some blocks on which a candidate was run."""
        return [pair for block in among for pair in block.pairs if (candidate.label, *pair) in self._used]


def _seconds(record: Record) -> float:
    """Return the processor seconds of a run; its wall-clock seconds on systems that do not measure them."""
    return record.cpu_seconds if record.cpu_seconds is not None else record.wall_seconds or 0.0


def _is_amount(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
