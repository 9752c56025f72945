"""Grid: the runs of one suite as arrays over time limits, solvers, instances and repetitions, their traces flat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.benchmark.reporting.measures import gap, primal_gap
from corl.errors import UsageError
from corl.record import Record
from corl.tolerance import reaches

__all__ = ["FAILURES", "OUTCOMES", "Grid", "Limit", "Traces", "is_limit_free"]

OUTCOMES = ("missing", "ok", "nothing", "refused", "crash", "timeout", "wrong", "lost")
"""The outcomes, by their number in `Grid.outcome`; "missing": part of the grid, but no such run is stored."""

FAILURES = frozenset(OUTCOMES) - {"ok", "nothing", "refused", "missing"}
"""Outcomes in which something is wrong with the solver or the machine."""

_OVERRUN = (0.2, 0.05)  # seconds, and share of the limit, up to which exceeding it is not reported
_NUMBERS = ("objective", "bound", "runtime", "setup_seconds", "wall_seconds", "cpu_seconds", "peak_bytes")


class Limit(NamedTuple):
    """The limit of a run: seconds, or iterations."""

    seconds: float | None
    iterations: int | None = None

    def __str__(self) -> str:
        texts = [] if self.seconds is None else [f"{self.seconds:g} s"]
        texts += [] if self.iterations is None else [f"{self.iterations:,} iteration{'s' * (self.iterations != 1)}"]
        return " or ".join(texts) or "no limit"

    @property
    def allowed(self) -> float:
        """The greatest runtime in seconds that does not count as an overrun; inf without a time limit."""
        return float("inf") if self.seconds is None else self.seconds + max(_OVERRUN[0], _OVERRUN[1] * self.seconds)

    @property
    def order(self) -> tuple[bool, float]:
        """A key to sort by: seconds first, then iterations."""
        return self.seconds is None, self.seconds if self.seconds is not None else float(self.iterations or 0)


class Traces:
    """The traces of many records: parallel arrays sorted by record, and by time within one.

    run int64, time, objective, bound float64 [points]; objective and bound are the best so far, NaN before the first.
    A run without a trace has one point, its end.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        points = [r.trace or (((r.runtime or 0.0), r.objective, r.bound),) for r in records]
        flat = np.array(list(chain.from_iterable(chain.from_iterable(points))), float).reshape(-1, 3)
        self.run = np.repeat(np.arange(len(records)), [len(each) for each in points])
        self.time = flat[:, 0]
        if (np.diff(self.time)[np.diff(self.run) == 0] < 0).any():
            order = np.lexsort((self.time, self.run))
            flat, self.time = flat[order], flat[order, 0]
        self.start = np.searchsorted(self.run, np.arange(len(records)))
        self.objective, self.bound = (self._filled(flat[:, column]) for column in (1, 2))
        self._span = 1.0 + float(self.time.max(initial=0.0))

    def _filled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values with unknown ones replaced by the last known one of the same run."""
        last = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
        found = last >= self.start[self.run]
        return np.where(found, values[np.where(found, last, 0)], np.nan) if len(values) else values

    def at(self, runs: NDArray[np.integer], times: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (objective, bound) of each run at its time (inclusive); NaN before the first."""
        if not len(self.time):
            return np.full(runs.shape, np.nan), np.full(runs.shape, np.nan)
        keys = self.run * self._span + self.time
        position = runs * self._span + np.minimum(times, self._span - 0.5)
        place = np.searchsorted(keys, position, side="right") - 1
        begun = (place >= 0) & (self.run[place] == runs)
        return np.where(begun, self.objective[place], np.nan), np.where(begun, self.bound[place], np.nan)


@dataclass(frozen=True)
class Grid:
    """Every array's axes are those of its comment: limits L, solvers S, instances I, repetitions K (the instance's seeds)."""

    suite: str
    problem: str
    sense: str
    limits: tuple[Limit, ...]
    solvers: tuple[str, ...]
    instances: tuple[str, ...]
    records: tuple[Record, ...]
    traces: Traces
    seeds: NDArray[np.int64]  # [I, K], -1 after the last
    slots: NDArray[np.bool_]  # [I, K]
    outcome: NDArray[np.int8]  # [L, S, I, K], indices into OUTCOMES
    record: NDArray[np.int64]  # [L, S, I, K], indices into `records`, -1 if missing
    derived: NDArray[np.bool_]  # [L, S, I, K]: from the trace of a longer run
    numbers: dict[str, NDArray[np.float64]]  # name -> [L, S, I, K], NaN if unknown; objectives only of runs with outcome ok
    reference: NDArray[np.float64]  # [I]; the best objective of any run if there is no reference
    referenced: NDArray[np.bool_]  # [I]: the reference was given
    reference_status: tuple[str, ...]  # per instance
    reference_source: tuple[str, ...]

    @classmethod
    def of(
        cls, records: Sequence[Record], limits: Iterable[float] = (), limit_free: Callable[[Record], bool] | None = None
    ) -> Grid:
        """Return the grid of one suite's records; of runs with equal keys the last counts.

        limits: further time limits in seconds, filled for limit-free solvers from their longest run.
        limit_free: whether a record's solver is one (its trajectory does not depend on the limit).
        """
        records = tuple(records)
        solvers, instances = (tuple(dict.fromkeys(getattr(r, name) for r in records)) for name in ("solver", "instance"))
        found = {Limit(r.time_limit, r.iterations) for r in records} | {Limit(float(seconds)) for seconds in limits}
        ordered = tuple(sorted(found, key=lambda limit: limit.order))
        seeds, place = _seeds(records, instances)
        shape = (len(ordered), len(solvers), *seeds.shape)
        where = {limit: at for at, limit in enumerate(ordered)}, {solver: at for at, solver in enumerate(solvers)}
        record = np.full(shape, -1)
        for number, r in enumerate(records):
            record[(where[0][Limit(r.time_limit, r.iterations)], where[1][r.solver], *place[r.instance, r.seed])] = number
        traces = Traces(records)
        derived = _derive(record, records, ordered, limit_free)
        keep = [at for at in range(len(ordered)) if (record[at] >= 0).any()]
        ordered, record, derived = tuple(ordered[at] for at in keep), record[keep], derived[keep]
        outcome, numbers = _values(record, derived, records, ordered, traces)
        sense = records[0].sense if records else "min"
        if any(record.sense != sense for record in records):
            raise UsageError("some instances are minimised and others maximised: compare them in separate suites")
        reference, status, source = _references(records, instances)
        given = ~np.isnan(reference)
        best = _best(numbers["objective"], sense)
        return cls(
            records[0].suite if records else "", records[0].problem if records else "", sense, ordered, solvers, instances,
            records, traces, seeds, seeds >= 0, outcome, record, derived, numbers, np.where(given, reference, best),
            given, status, source,
        )  # fmt: skip

    @property
    def attempted(self) -> NDArray[np.bool_]:
        """bool [L, S]: limits at which the solver has any run; its other runs are missing there."""
        return np.asarray((self.record >= 0).any(axis=(2, 3)))

    @property
    def refused(self) -> NDArray[np.bool_]:
        """bool [L, S, I, K]: runs of instances that the solver does not accept, excluded from its figures and from pairs."""
        return np.asarray(self.outcome == OUTCOMES.index("refused"))

    def gaps(self) -> NDArray[np.float64]:
        """Return the gap of every run to its instance's reference, [L, S, I, K]."""
        return gap(self.numbers["objective"], self.reference[:, None], self.sense)

    def reached(self) -> NDArray[np.bool_]:
        """Return bool [L, S, I, K]: runs at least as good as their instance's reference, up to rounding."""
        return np.asarray(reaches(self.numbers["objective"], self.reference[:, None], self.sense))

    def longest(self) -> NDArray[np.int64]:
        """Return the record with the longest time limit per solver, instance and repetition, [S, I, K]; -1 if none."""
        longest = np.full(self.record.shape[1:], -1)
        for limit, record in zip(self.limits, self.record):
            if limit.seconds is not None or all(other.seconds is None for other in self.limits):
                longest = np.where(record >= 0, record, longest)
        return longest

    def trace_gaps(self) -> NDArray[np.float64]:
        """Berthold's primal gap at every point of `traces`."""
        index = {name: at for at, name in enumerate(self.instances)}
        of_record = np.array([index[r.instance] for r in self.records], int)
        return primal_gap(self.traces.objective, self.reference[of_record][self.traces.run], self.sense)


def is_limit_free(record: Record) -> bool:
    """Return whether the registered solver of a record is limit-free; False for one that is not installed here."""
    from corl import registry

    try:
        return bool(getattr(registry.solver(record.problem, record.solver_name or record.solver), "limit_free", False))
    except UsageError:
        return False


def _seeds(
    records: Sequence[Record], instances: Sequence[str]
) -> tuple[NDArray[np.int64], dict[tuple[str, int], tuple[int, int]]]:
    """Return each instance's seeds in a row, and the place of every (instance, seed)."""
    of: dict[str, set[int]] = {instance: set() for instance in instances}
    for record in records:
        of[record.instance].add(record.seed)
    seeds = np.full((len(of), max(map(len, of.values()), default=0)), -1)
    place = {}
    for row, (instance, own_seeds) in enumerate(of.items()):
        for column, seed in enumerate(sorted(own_seeds)):
            seeds[row, column] = seed
            place[instance, seed] = (row, column)
    return seeds, place


def _derive(
    record: NDArray[np.int64],
    records: Sequence[Record],
    limits: Sequence[Limit],
    limit_free: Callable[[Record], bool] | None,
) -> NDArray[np.bool_]:
    """Fill shorter time limits of limit-free solvers with the longest run's record, in place; return where this was done."""
    derived = np.zeros(record.shape, bool)
    if limit_free is None:
        return derived
    known: dict[tuple[str, str], bool] = {}
    free = np.zeros(len(records) + 1, bool)
    for at, r in enumerate(records):
        kind = (r.solver, r.solver_name)
        if kind not in known:
            known[kind] = limit_free(r)
        free[at] = known[kind] and r.time_limit is not None
    longer = np.full(record.shape[1:], -1)
    for at in reversed(range(len(limits))):
        if limits[at].seconds is None:
            continue
        derived[at] = (record[at] < 0) & free[longer]
        own = record[at] >= 0
        record[at] = np.where(derived[at], longer, record[at])
        longer = np.where((longer < 0) & own, record[at], longer)
    return derived


def _values(
    record: NDArray[np.int64],
    derived: NDArray[np.bool_],
    records: Sequence[Record],
    limits: Sequence[Limit],
    traces: Traces,
) -> tuple[NDArray[np.int8], dict[str, NDArray[np.float64]]]:
    codes = {name: code for code, name in enumerate(OUTCOMES)}
    code = np.array([codes.get(r.outcome, codes["crash"]) for r in records] + [0], np.int8)
    outcome = code[record]
    numbers = {name: np.array([getattr(r, name) for r in records] + [None], float)[record] for name in _NUMBERS}
    for at, limit in enumerate(limits):
        early = derived[at] & (outcome[at] == 1)
        if limit.seconds is None or not early.any():
            continue
        objective, bound = traces.at(record[at][early], np.full(int(early.sum()), limit.seconds))
        numbers["objective"][at][early], numbers["bound"][at][early] = objective, bound
        numbers["runtime"][at][early] = np.minimum(numbers["runtime"][at][early], limit.seconds)
        outcome[at][early] = np.where(np.isnan(objective), codes["nothing"], 1)
    for name in ("wall_seconds", "cpu_seconds", "peak_bytes"):
        numbers[name][derived] = np.nan
    numbers["objective"][outcome != 1] = np.nan
    outcome[(outcome == 1) & np.isnan(numbers["objective"])] = codes["nothing"]
    return outcome, numbers


def _references(
    records: Sequence[Record], instances: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
    """Return each instance's reference, from the last record that has one."""
    last = {r.instance: r for r in records if r.reference is not None}
    values = np.array([last[name].reference if name in last else None for name in instances], float)
    status, source = (
        tuple(getattr(last[name], f"reference_{what}") if name in last else "" for name in instances)
        for what in ("status", "source")
    )
    return values, status, source


def _best(objective: NDArray[np.float64], sense: str) -> NDArray[np.float64]:
    """Return each instance's best objective value over all runs, NaN if there is none."""
    worst = np.inf if sense == "min" else -np.inf
    filled = np.where(np.isnan(objective), worst, objective)
    best = filled.min(axis=(0, 1, 3), initial=np.inf) if sense == "min" else filled.max(axis=(0, 1, 3), initial=-np.inf)
    return np.where(np.isinf(best), np.nan, best)
