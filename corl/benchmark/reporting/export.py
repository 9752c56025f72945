"""The main results of a suite as CSV; comment lines name the command, machine and versions, so that figures can be traced."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.benchmark.reporting.grid import FAILURES, OUTCOMES, Grid, is_limit_free
from corl.benchmark.reporting.measures import gap, proven_gap
from corl.benchmark.reporting.report import held_warnings, peers_held, suite_limits
from corl.errors import UsageError
from corl.files.json_values import to_json
from corl.files.opening import replacing
from corl.record import Record
from corl.store import Store

__all__ = ["export", "runs_csv"]

_HEAD = (
    "suite", "group", "solver", "time_limit", "iterations", "instances", "runs", "solved", "failed", "reached",
    "mean_gap_percent", "mean_bound_gap_percent", "mean_runtime", "mean_setup_seconds", "mean_cpu_seconds", "peak_megabytes",
)  # fmt: skip
_NOTES = (
    "each row: all runs of a solver on a group of instances at a limit; the group 'all' holds every instance",
    "failed: crash, timeout, wrong or lost; reached: runs at least as good as the reference value (to 1e-6 relative)",
    "mean_gap_percent: to the reference value, over the runs with a solution on instances with a reference value; "
    "mean_bound_gap_percent: to the run's own proven bound",
    "peak_megabytes: of the run that used most; mean_runtime: seconds on the solver's clock; "
    "mean_cpu_seconds: of the whole process",
)
_RUN_FIELDS = (
    "problem", "suite", "instance", "solver", "seed", "time_limit", "iterations", "outcome", "reason", "objective", "bound",
    "reference", "reference_status", "reference_source", "runtime", "setup_seconds", "wall_seconds", "cpu_seconds", "peak_bytes",
    "started", "commit",
)  # fmt: skip
_RUN_FACTS = ("group", "size", "program_cpu_seconds", "load_begin", "load_end")
_FAILED = [OUTCOMES.index(name) for name in FAILURES]


def export(store: Store, suite: str, path: Path) -> None:
    """Write a suite's main results to `path`, atomically. Raises UsageError if the store has no runs of the suite."""
    records = store.records(suite)
    if not records:
        raise UsageError(f"{store.path} holds no runs of {suite}")
    grid = Grid.of(records, suite_limits(store.suites().get(suite)), is_limit_free)
    text = io.StringIO()
    not_held = held_warnings(peers_held(store.suites().get(suite), grid.solvers))
    for line in (*_comments(records, store.commands(suite)), *not_held):
        text.write(f"# {' '.join(line.split())}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    writer.writerows(_rows(grid, records))
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        partial.write_text(text.getvalue(), encoding="utf-8")


def runs_csv(records: Iterable[Record], held: Mapping[str, str]) -> str:
    """Return every run as a row of CSV: what was asked, what was found, processor seconds, and the machine's load around it.

    Args:
        records: The runs.
        held: Label of a peer -> "" or why it is not held (`peers_held`), for the column "held".
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*_RUN_FIELDS, "gap_percent", *_RUN_FACTS, "held"))
    for record in records:
        known = record.objective is not None and record.reference is not None
        percents = f"{100 * float(gap(record.objective, record.reference, record.sense)):.6g}" if known else ""  # type: ignore[arg-type]
        facts = [record.facts.get(name) for name in _RUN_FACTS]
        cells = [*(getattr(record, name) for name in _RUN_FIELDS), percents, *facts, ""]
        if record.solver in held:
            cells[-1] = held[record.solver] or "held"
        writer.writerow([_inert(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()


def _comments(records: list[Record], commands: list[str]) -> Iterator[str]:
    """Yield the comment lines: commands, machines, versions, commits, dates and notes, each once however many runs share it."""
    yield from (f"command: {command}" for command in commands)
    yield from _distinct("machine", (to_json(record.machine) for record in records))
    yield from _distinct("versions", (to_json(record.versions) for record in records if record.versions))
    yield from _distinct("commit", (record.commit for record in records if record.commit))
    yield f"runs started: {min(record.started for record in records)} to {max(record.started for record in records)}"
    yield from _NOTES


def _distinct(name: str, texts: Iterable[str]) -> list[str]:
    return [f"{name}: {text}" for text in dict.fromkeys(texts)]


def _rows(grid: Grid, records: list[Record]) -> Iterator[list[Any]]:
    groups: dict[str, set[str]] = {}
    for record in records:
        groups.setdefault(str(record.facts.get("group", "")), set()).add(record.instance)
    groups = groups if len(groups) == 1 else groups | {"all": set(grid.instances)}
    for group, names in groups.items():
        inside = np.array([name in names for name in grid.instances])
        for at, limit in enumerate(grid.limits):
            for s, solver in enumerate(grid.solvers):
                cell = (at, s, inside)
                if (grid.record[cell] >= 0).any():
                    labels = map(_inert, (grid.suite, group, solver))
                    yield [*labels, limit.seconds, limit.iterations, *_figures(grid, cell)]


def _inert(label: str) -> str:
    """Return a label on one line; an apostrophe precedes what spreadsheets would read as a formula (OWASP, CSV injection)."""
    label = " ".join(label.split())
    return f"'{label}" if label.startswith(("=", "+", "-", "@")) else label


def _figures(grid: Grid, cell: tuple[int, int, NDArray[np.bool_]]) -> list[Any]:
    """Return the columns of one row from the column `instances` on; `cell` indexes limit, solver and instances of the grid."""
    ran, outcome = grid.record[cell] >= 0, grid.outcome[cell]
    numbers = {name: values[cell] for name, values in grid.numbers.items()}
    objective, bound = numbers["objective"], numbers["bound"]
    gaps = grid.gaps()[cell]
    gaps = np.where(grid.referenced[cell[2]][:, None], gaps, np.nan)
    peak = numbers["peak_bytes"]
    return [
        int(ran.any(axis=1).sum()),
        int(ran.sum()),
        int(np.isfinite(objective[ran]).sum()),
        int(np.isin(outcome[ran], _FAILED).sum()),
        int(grid.reached()[cell][ran].sum()) if np.isfinite(gaps).any() else "",
        _mean(gaps[ran], 100.0),
        _mean(proven_gap(objective, bound)[ran], 100.0),
        _mean(numbers["runtime"][ran]),
        _mean(numbers["setup_seconds"][ran]),
        _mean(numbers["cpu_seconds"][ran]),
        f"{np.nanmax(peak[ran]) / 1e6:.0f}" if np.isfinite(peak[ran]).any() else "",
    ]


def _mean(values: NDArray[np.float64], factor: float = 1.0) -> str:
    """Return the mean times `factor` as text with six digits; "" if no value is known, "inf" if the mean overflows."""
    known = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        return f"{factor * known.mean():.6g}" if len(known) else ""
