"""Grid: the runs of one suite as arrays over limits, solvers, instances and repetitions; all traces are in flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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
"""The outcomes; `Grid.outcome` holds indices into this tuple. "missing": the suite has such a run, but the store does not."""

FAILURES = frozenset(OUTCOMES) - {"ok", "nothing", "refused", "missing"}
"""Outcomes in which something is wrong with the solver or the machine."""

_OVERRUN = (0.2, 0.05)  # seconds, and share of the limit: runs that exceed it by less than the larger one are not reported
_NUMBERS = ("objective", "bound", "runtime", "setup_seconds", "wall_seconds", "cpu_seconds", "peak_bytes")


class Limit(NamedTuple):
    """The limit of a run: a time limit in seconds, or a number of iterations."""

    seconds: float | None
    iterations: int | None = None
    per: str = ""
    """The fact of instances that `seconds` are multiplied by; "" for none. All times of the run are then divided by it, too."""

    def __str__(self) -> str:
        texts = [] if self.seconds is None else [f"{self.seconds:g} s{f' x {self.per}' if self.per else ''}"]
        texts += [] if self.iterations is None else [f"{self.iterations:,} iteration{'s' * (self.iterations != 1)}"]
        return " or ".join(texts) or "no limit"

    @property
    def allowed(self) -> float:
        """The greatest runtime in seconds that does not count as an overrun; inf without a time limit."""
        least = 0.0 if self.per else _OVERRUN[0]
        return float("inf") if self.seconds is None else self.seconds + max(least, _OVERRUN[1] * self.seconds)

    @property
    def order(self) -> tuple[bool, float]:
        """A key to sort by: time limits first, then limits of iterations, each ascending."""
        return self.seconds is None, self.seconds if self.seconds is not None else float(self.iterations or 0)


class Traces:
    """The traces of many records as parallel arrays, sorted by record and within a record by time.

    Attributes:
        run: int64 [points], the index of each point's record.
        time: float64 [points], seconds on the solver's clock.
        objective: float64 [points], the best objective value of the run so far; NaN before the first.
        bound: float64 [points], the best proven bound of the run so far; NaN before the first.
        start: int64 [records], the index of each record's first point.

    A record without a trace has one point, the end of the run.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        traces = [r.trace or (((r.runtime or 0.0), r.objective, r.bound),) for r in records]
        flat = np.array(list(chain.from_iterable(chain.from_iterable(traces))), float).reshape(-1, 3)
        self.run = np.repeat(np.arange(len(records)), [len(trace) for trace in traces])
        self.time = flat[:, 0]
        if (np.diff(self.time)[np.diff(self.run) == 0] < 0).any():
            order = np.lexsort((self.time, self.run))
            flat, self.time = flat[order], flat[order, 0]
        self.start = np.searchsorted(self.run, np.arange(len(records)))
        self.objective, self.bound = (self._filled(flat[:, column]) for column in (1, 2))
        self._span = 1.0 + float(self.time.max(initial=0.0))

    def _filled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values [points], each NaN replaced by the last known value of the same run, if there is one."""
        last = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
        found = last >= self.start[self.run]
        return np.where(found, values[np.where(found, last, 0)], np.nan) if len(values) else values

    def at(self, runs: NDArray[np.integer], times: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the objective values and the bounds, float64 [n] each, of some records at some times.

        Args:
            runs: Integers [n], indices of records.
            times: float64 [n], seconds; a point at exactly this time counts.

        Returns:
            Two arrays with NaN where the run had none yet.
        """
        if not len(self.time):
            return np.full(runs.shape, np.nan), np.full(runs.shape, np.nan)
        keys = self.run * self._span + self.time
        position = runs * self._span + np.minimum(times, self._span - 0.5)
        place = np.searchsorted(keys, position, side="right") - 1
        begun = (place >= 0) & (self.run[place] == runs)
        return np.where(begun, self.objective[place], np.nan), np.where(begun, self.bound[place], np.nan)


@dataclass(frozen=True)
class Grid:
    """The runs of one suite. Axes of arrays: limits L, solvers S, instances I, repetitions K (one for each seed of an instance).

    A slot is an instance with one of its seeds, so every solver should have one run per slot and limit.
    """

    suite: str
    problem: str
    sense: str
    limits: tuple[Limit, ...]
    solvers: tuple[str, ...]
    instances: tuple[str, ...]
    records: tuple[Record, ...]
    traces: Traces
    seeds: NDArray[np.int64]
    """[I, K], the seeds of each instance, -1 after the last."""
    slots: NDArray[np.bool_]
    """[I, K], True where the instance has a seed."""
    outcome: NDArray[np.int8]
    """[L, S, I, K], indices into OUTCOMES."""
    record: NDArray[np.int64]
    """[L, S, I, K], indices into `records`, -1 if there is no such run."""
    derived: NDArray[np.bool_]
    """[L, S, I, K], True where values are read off the trace of a run with a longer limit."""
    numbers: dict[str, NDArray[np.float64]]
    """Field of Record -> [L, S, I, K], NaN if unknown; objective values only of runs with the outcome ok."""
    reference: NDArray[np.float64]
    """[I], the reference value; the best objective value of any run if none was given."""
    referenced: NDArray[np.bool_]
    """[I], whether a reference value was given."""
    reference_status: tuple[str, ...]
    """For each instance, "proven", "best known" or ""."""
    reference_source: tuple[str, ...]
    """For each instance, the source of the reference value or ""."""

    @classmethod
    def of(
        cls, records: Sequence[Record], limits: Iterable[float] = (), limit_free: Callable[[Record], bool] | None = None
    ) -> Grid:
        """Return the grid of one suite's records.

        Args:
            records: The records; of several runs of the same solver, instance, seed and limit the last counts.
            limits: Further time limits in seconds, at which values of limit-free solvers are read off their longest run.
            limit_free: Returns whether a record's solver is limit-free: its search does not depend on the time limit.
                None: no solver is.
        """
        records = tuple(map(_per_unit, records))
        solvers, instances = (tuple(dict.fromkeys(getattr(r, name) for r in records)) for name in ("solver", "instance"))
        per = {_limit_of(r).per for r in records}
        found = set(map(_limit_of, records)) | {Limit(float(seconds), None, each) for seconds in limits for each in per or {""}}
        ordered = tuple(sorted(found, key=lambda limit: limit.order))
        seeds, slot_of = _seeds(records, instances)
        shape = (len(ordered), len(solvers), *seeds.shape)
        index_of = {limit: at for at, limit in enumerate(ordered)}, {solver: at for at, solver in enumerate(solvers)}
        record = np.full(shape, -1)
        for number, r in enumerate(records):
            record[(index_of[0][_limit_of(r)], index_of[1][r.solver], *slot_of[r.instance, r.seed])] = number
        traces = Traces(records)
        derived = _derive(record, records, ordered, limit_free)
        with_runs = [at for at in range(len(ordered)) if (record[at] >= 0).any()]
        ordered, record, derived = tuple(ordered[at] for at in with_runs), record[with_runs], derived[with_runs]
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
        """bool [L, S]: whether the solver has any run at the limit; if so, its other runs at this limit count as missing."""
        return np.asarray((self.record >= 0).any(axis=(2, 3)))

    @property
    def refused(self) -> NDArray[np.bool_]:
        """bool [L, S, I, K]: runs on instances that the solver does not accept; all means and comparisons exclude them."""
        return np.asarray(self.outcome == OUTCOMES.index("refused"))

    def gaps(self) -> NDArray[np.float64]:
        """Return the gap of every run to the reference of its instance, float64 [L, S, I, K]; NaN without a solution."""
        return gap(self.numbers["objective"], self.reference[:, None], self.sense)

    def reached(self) -> NDArray[np.bool_]:
        """Return bool [L, S, I, K]: runs at least as good as the reference of their instance, up to rounding."""
        return np.asarray(reaches(self.numbers["objective"], self.reference[:, None], self.sense))

    def longest(self) -> NDArray[np.int64]:
        """Return for each solver, instance and repetition the index of the record with the longest limit, int64 [S, I, K].

        Limits of iterations count only if there are no time limits; -1 if there is no such record.
        """
        longest = np.full(self.record.shape[1:], -1)
        for limit, record in zip(self.limits, self.record):
            if limit.seconds is not None or all(other.seconds is None for other in self.limits):
                longest = np.where(record >= 0, record, longest)
        return longest

    def trace_gaps(self) -> NDArray[np.float64]:
        """Return Berthold's primal gap at every point of `traces`, float64 [points]."""
        index = {name: at for at, name in enumerate(self.instances)}
        of_record = np.array([index[r.instance] for r in self.records], int)
        return primal_gap(self.traces.objective, self.reference[of_record][self.traces.run], self.sense)


def _limit_of(record: Record) -> Limit:
    return Limit(record.time_limit, record.iterations, str(record.facts.get("limit_per", "")))


def _per_unit(record: Record) -> Record:
    """Return a record whose limit is a multiple of a fact with its limit, runtime and trace divided by that fact."""
    base = record.facts.get("base_limit")
    if record.time_limit is None or not isinstance(base, (int, float)) or not base > 0:
        return record
    scale = record.time_limit / base
    trace = tuple((time / scale, objective, bound) for time, objective, bound in record.trace)
    facts = {name: fact for name, fact in record.facts.items() if name != "base_limit"}
    runtime = None if record.runtime is None else record.runtime / scale
    return replace(record, time_limit=float(base), runtime=runtime, trace=trace, facts=facts)


def is_limit_free(record: Record) -> bool:
    """Return whether the registered solver of a record is limit-free; False if this solver is not installed."""
    from corl import registry

    try:
        return bool(getattr(registry.solver(record.problem, record.solver_name or record.solver), "limit_free", False))
    except UsageError:
        return False


def _seeds(
    records: Sequence[Record], instances: Sequence[str]
) -> tuple[NDArray[np.int64], dict[tuple[str, int], tuple[int, int]]]:
    """Return the seeds of each instance, int64 [I, K], and (instance, seed) -> its row and column in this array."""
    seeds_of: dict[str, set[int]] = {instance: set() for instance in instances}
    for record in records:
        seeds_of[record.instance].add(record.seed)
    seeds = np.full((len(seeds_of), max(map(len, seeds_of.values()), default=0)), -1)
    slot_of = {}
    for row, (instance, own_seeds) in enumerate(seeds_of.items()):
        for column, seed in enumerate(sorted(own_seeds)):
            seeds[row, column] = seed
            slot_of[instance, seed] = (row, column)
    return seeds, slot_of


def _derive(
    record: NDArray[np.int64],
    records: Sequence[Record],
    limits: Sequence[Limit],
    limit_free: Callable[[Record], bool] | None,
) -> NDArray[np.bool_]:
    """Fill missing runs of limit-free solvers with their record at the longest time limit, in `record`, in place.

    Args:
        record: int64 [L, S, I, K], indices into `records`, -1 if there is no such run.
        records: The records.
        limits: The L limits.
        limit_free: Returns whether a record's solver is limit-free; None: no solver is.

    Returns:
        bool [L, S, I, K]: where a record was filled in.
    """
    derived = np.zeros(record.shape, bool)
    if limit_free is None:
        return derived
    solver_is_free: dict[tuple[str, str], bool] = {}
    free = np.zeros(len(records) + 1, bool)  # the last item is for index -1
    for at, r in enumerate(records):
        solver = (r.solver, r.solver_name)
        if solver not in solver_is_free:
            solver_is_free[solver] = limit_free(r)
        free[at] = solver_is_free[solver] and r.time_limit is not None
    longest = np.full(record.shape[1:], -1)
    for at in reversed(range(len(limits))):
        if limits[at].seconds is None:
            continue
        derived[at] = (record[at] < 0) & free[longest]
        stored = record[at] >= 0
        record[at] = np.where(derived[at], longest, record[at])
        longest = np.where((longest < 0) & stored, record[at], longest)
    return derived


def _values(
    record: NDArray[np.int64],
    derived: NDArray[np.bool_],
    records: Sequence[Record],
    limits: Sequence[Limit],
    traces: Traces,
) -> tuple[NDArray[np.int8], dict[str, NDArray[np.float64]]]:
    """Return the fields `outcome` and `numbers` of the Grid; derived runs have the values that the trace has at the limit."""
    codes = {name: code for code, name in enumerate(OUTCOMES)}
    code = np.array([codes.get(r.outcome, codes["crash"]) for r in records] + [0], np.int8)
    outcome = code[record]
    numbers = {name: np.array([getattr(r, name) for r in records] + [None], float)[record] for name in _NUMBERS}
    for at, limit in enumerate(limits):
        from_trace = derived[at] & (outcome[at] == 1)
        if limit.seconds is None or not from_trace.any():
            continue
        objective, bound = traces.at(record[at][from_trace], np.full(int(from_trace.sum()), limit.seconds))
        numbers["objective"][at][from_trace], numbers["bound"][at][from_trace] = objective, bound
        numbers["runtime"][at][from_trace] = np.minimum(numbers["runtime"][at][from_trace], limit.seconds)
        outcome[at][from_trace] = np.where(np.isnan(objective), codes["nothing"], 1)
    for name in ("wall_seconds", "cpu_seconds", "peak_bytes"):
        numbers[name][derived] = np.nan
    numbers["objective"][outcome != 1] = np.nan
    outcome[(outcome == 1) & np.isnan(numbers["objective"])] = codes["nothing"]
    return outcome, numbers


def _references(
    records: Sequence[Record], instances: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
    """Return each instance's reference value, its status and its source, from the last record with a reference.

    The values are float64 [I], NaN if there is none; status and source are "" then.
    """
    last = {r.instance: r for r in records if r.reference is not None}
    values = np.array([last[name].reference if name in last else None for name in instances], float)
    status, source = (
        tuple(getattr(last[name], f"reference_{what}") if name in last else "" for name in instances)
        for what in ("status", "source")
    )
    return values, status, source


def _best(objective: NDArray[np.float64], sense: str) -> NDArray[np.float64]:
    """Return each instance's best objective value over all runs, float64 [I]; NaN if there is none."""
    worst = np.inf if sense == "min" else -np.inf
    filled = np.where(np.isnan(objective), worst, objective)
    best = filled.min(axis=(0, 1, 3), initial=np.inf) if sense == "min" else filled.max(axis=(0, 1, 3), initial=-np.inf)
    return np.where(np.isinf(best), np.nan, best)
