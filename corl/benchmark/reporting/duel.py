"""Duel: the paired verdict on two solvers, as `corl compare` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from corl.benchmark.reporting.analysis import Comparison, compare
from corl.benchmark.reporting.grid import Grid, Limit, is_limit_free
from corl.benchmark.reporting.notes import warnings
from corl.benchmark.reporting.published import PublishedResult, none_shown, published_columns
from corl.benchmark.reporting.report import held_warnings, peers_held, suite_limits
from corl.errors import UsageError
from corl.formatting import percent
from corl.record import Record
from corl.statistics import Resampling
from corl.store import Store
from corl.tolerance import TIE

__all__ = ["Duel", "duel"]


@dataclass(frozen=True)
class Duel:
    """Two solvers on the instances and seeds that both were run on."""

    suite: str
    chosen: Comparison
    """The comparison at the chosen limit."""
    others: tuple[Comparison, ...]
    """The comparisons at the other limits."""
    means: tuple[float | None, float | None]
    """The mean gaps of the two solvers, over the pairs (instance, seed) that both solved."""
    runs_of_each: str
    """The number of runs of each solver as text, such as "10 instances x 3 seeds"."""
    warnings: tuple[str, ...]
    published: tuple[str, ...] = ()
    """Results that others published, a line each; they take no part in the comparison."""

    def lines(self) -> list[str]:
        """Return about ten lines for a terminal."""
        c = self.chosen
        d = c.difference
        width = max(len(c.a), len(c.b)) + 2
        lines = [
            f"{self.suite}, {c.limit}: {c.a} against {c.b}, {self.runs_of_each}",
            f"  {c.a:<{width}} mean gap {percent(self.means[0]):>10}   better {c.wins:>5}   failed {c.failures[0]:>4}",
            f"  {c.b:<{width}} mean gap {percent(self.means[1]):>10}   better {c.losses:>5}   failed {c.failures[1]:>4}",
            f"  tied {c.ties}; means are over the {c.solved} of {c.pairs} pairs that both solved"
            + (f", without {sum(c.refused)} refused" if any(c.refused) else ""),
            f"  difference of the mean gaps ({c.a} - {c.b}): {percent(d.value)}",
        ]
        if d.low is not None and d.high is not None:
            lines[-1] += f", 95 % interval {percent(d.low)} to {percent(d.high)}, over {d.over}"
        lines += [f"  {other.limit}: {other.verdict}" for other in self.others]
        lines += [f"  note: {text}" for text in self.warnings]
        lines += [f"  beside: {text}" for text in self.published]
        return [*lines, f"{c.limit}: {c.verdict}"]

    def values(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {
            "suite": self.suite, "chosen": asdict(self.chosen), "other_limits": [asdict(other) for other in self.others],
            "mean_gaps": list(self.means), "warnings": list(self.warnings),
            "published": list(self.published),
        }  # fmt: skip


def duel(
    store: Store,
    a: str,
    b: str,
    suite: str | None = None,
    time_limit: float | None = None,
    tolerance: float = TIE,
    published: Sequence[PublishedResult] = (),
) -> Duel:
    """Return the verdict on two solvers from the runs in a store.

    Args:
        store: The store.
        a, b: The solvers' labels in the suite.
        suite: The suite's name; None: the only suite with runs of both solvers.
        time_limit: Seconds; None: the longest time limit at which both solvers have runs.
        tolerance: The relative difference up to which two objective values are a tie.
        published: Results of others, which are only listed.

    Raises:
        UsageError: The store has no such suite, solvers or limit.
    """
    if a == b:
        raise UsageError("a solver is not compared with itself")
    if not tolerance >= 0:
        raise UsageError(f"tolerance: {tolerance!r} is not accepted; accepted: a share of the objective from 0 up")
    everything = store.records(suite)
    name = _suite(everything, a, b, store, suite)
    of_suite = [record for record in everything if record.suite == name]
    grid = _shared(Grid.of(of_suite, suite_limits(store.suites().get(name)), is_limit_free), a, b)
    pair = grid.solvers.index(a), grid.solvers.index(b)
    common = [at for at in range(len(grid.limits)) if grid.attempted[at, list(pair)].all()]
    if not common:
        raise UsageError(f"{a} and {b} have no limit in common in suite {name!r}")
    at = _chosen(grid.limits, common, time_limit)
    resampling = Resampling(grid.slots)
    verdicts = {k: compare(grid, resampling, k, [pair], tolerance)[0] for k in common}
    gaps = grid.gaps()[at][list(pair)]
    solved = grid.slots & ~np.isnan(gaps).any(axis=0)
    means = tuple(float(each[solved].mean()) if solved.any() else None for each in gaps)
    of_pair = [record for record in of_suite if record.solver in (a, b)]
    definition = store.suites().get(name)
    columns = published_columns(published, grid)
    notes = [*held_warnings(peers_held(definition, (a, b))), *none_shown(published, columns)]
    notes += warnings(Grid.of(of_pair, suite_limits(definition), is_limit_free), resampling)
    return Duel(
        name, verdicts[at], tuple(verdicts[k] for k in common if k != at), means,  # type: ignore[arg-type]
        f"{resampling.instances} instance{'s' * (resampling.instances != 1)} x {_seeds(grid)}", tuple(notes),
        tuple(map(str, columns)),
    )  # fmt: skip


def _shared(grid: Grid, a: str, b: str) -> Grid:
    """Return the grid, restricted to the instances and seeds on which both solvers ran at some limit."""
    ran = [(grid.record[:, grid.solvers.index(name)] >= 0).any(axis=0) for name in (a, b)]
    common = grid.slots & ran[0] & ran[1]
    if not common.any():
        raise UsageError(f"{a} and {b} have no instance and seed in common")
    return replace(grid, slots=common)


def _suite(records: Sequence[Record], a: str, b: str, store: Store, requested: str | None) -> str:
    """Return the name of the only suite with runs of both solvers; `requested` is only for the message."""
    solvers: dict[str, set[str]] = {}
    for record in records:
        solvers.setdefault(record.suite, set()).add(record.solver)
    if not solvers:
        names = ", ".join(store.suites()) or "none"
        raise UsageError(f"{store.path} holds no runs" + (f" of a suite {requested!r}; its suites: {names}" if requested else ""))
    suites = [name for name, found in solvers.items() if {a, b} <= found]
    if len(suites) == 1:
        return suites[0]
    if suites:
        raise UsageError(f"several suites have runs of {a} and {b}; name one with --suite: {', '.join(suites)}")
    known = sorted(set().union(*solvers.values()))
    missing = next((name for name in (a, b) if name not in known), None)
    if missing is None:
        raise UsageError(f"no suite has runs of both {a} and {b}")
    raise UsageError(f"no runs of a solver {missing!r}; the solvers are: {', '.join(known)}")


def _chosen(limits: Sequence[Limit], common: Sequence[int], time_limit: float | None) -> int:
    """Return the index in `limits` of the limit to compare at; `common`: the indices of limits at which both solvers ran."""
    if time_limit is None:
        timed = [at for at in common if limits[at].seconds is not None]
        return (timed or list(common))[-1]
    for at in common:
        if limits[at].seconds == time_limit:
            return at
    raise UsageError(
        f"no common runs with a time limit of {time_limit:g} s; accepted: {', '.join(str(limits[at]) for at in common)}"
    )


def _seeds(grid: Grid) -> str:
    counts = sorted({int(n) for n in grid.slots.sum(axis=1) if n})
    text = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{text} seed{'s' * (counts != [1])}"
