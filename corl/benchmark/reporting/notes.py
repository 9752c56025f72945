"""Notes for the reader of a report: warnings, failures, and the provenance of the figures.

They are computed from Records (one per run) or from the Grid, which holds all runs of a suite as arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corl.benchmark.reporting.grid import Grid, Limit
from corl.formatting import value
from corl.record import Record
from corl.statistics import FEWEST, Resampling
from corl.tolerance import beats

__all__ = ["Failure", "Provenance", "beaten", "disturbed", "failures", "provenance", "warnings"]

_SLOWDOWN = 0.10  # a report warns if parallel jobs slow each other by more than this share
_LEAST_SHARE = 0.75  # a run counts as disturbed if it had less than this share of its expected processor time,
_LEAST_SHORTFALL = 0.5  # and if at least this many processor seconds were missing


@dataclass(frozen=True)
class Failure:
    """Runs of a solver that ended in the same way without a solution."""

    solver: str
    outcome: str
    reason: str
    runs: int
    example: str
    """One such run: instance, seed and limit."""


@dataclass(frozen=True)
class Provenance:
    """The origin of the figures; lists hold the distinct values among the runs."""

    commands: list[str]
    commits: list[str]
    started: tuple[str, str]
    """The start of the first and of the last run, ISO 8601 in UTC."""
    versions: dict[str, list[str]]
    """Package -> its versions."""
    machines: list[dict[str, Any]]
    seeds: str
    """The seeds as text, such as "0 to 2, 5"."""
    cores: str
    """The numbers of processors per run as text, such as "1 or 2"."""
    solvers: dict[str, dict[str, Any]]
    """Label -> {"ran": the registered solvers with this label, "options": their options}."""
    references: dict[str, int]
    """Source and status of the reference values as text -> the number of instances."""


def failures(records: Sequence[Record]) -> list[Failure]:
    """Return the groups of runs without a solution that have the same solver, outcome and reason, the largest group first."""
    counts = Counter((r.solver, r.outcome, r.reason) for r in records if r.outcome != "ok")
    example = {(r.solver, r.outcome, r.reason): r for r in reversed(records) if r.outcome != "ok"}
    return [Failure(*kind, runs, _run(example[kind])) for kind, runs in counts.most_common()]


def warnings(grid: Grid, resampling: Resampling) -> list[str]:
    """Return the warnings of a report, one sentence each, the most serious first."""
    found = [*disturbed(grid.records), *_circumstances(grid.records), *_contradictions(grid), *_overruns(grid)]
    missing = int((grid.slots & (grid.outcome == 0) & grid.attempted[..., None, None]).sum())
    if missing:
        found.append(f"{_count(missing, 'run')} of the suite missing: counted as failures (corl bench --resume runs them)")
    if unknown := int((~grid.referenced).sum()):
        subject = "No instance has" if unknown == len(grid.instances) else f"{unknown} of {len(grid.instances)} instances have no"
        found.append(
            f"{subject} {'a ' if subject.startswith('No') else ''}reference value: their gaps are to the best value in this store"
        )
    if zero := int((grid.reference == 0).sum()):
        found.append(f"{_count(zero, 'instance')} with a reference value of 0: any other objective value has a gap of 100 %")
    return found + _refusals(grid) + _limits_of_intervals(grid, resampling)


def disturbed(records: Sequence[Record]) -> list[str]:
    """Return at most one sentence: how many runs had clearly less processor time than expected, and the smallest share."""
    shares = [(share, record) for record in records if (share := _processor_share(record)) < 1.0]
    if not shares:
        return []
    share, worst = min(shares, key=lambda each: each[0])
    return [f"{len(shares):,} of {_count(len(records), 'run')} had clearly less processor time than their cores give, the worst "
            f"{100 * share:.0f} % ({worst.solver} on {_run(worst)}): the machine was busy, or the solver idle; a quiet machine "
            "may give better or faster results"]  # fmt: skip


def _processor_share(record: Record) -> float:
    """Return the share that a run had of its expected processor time; 1 if the share is unknown or not clearly too small.

    A run is expected to use all its cores while the solver's clock runs, and one core before and after.
    """
    wall, cpu, runtime = record.wall_seconds, record.cpu_seconds, record.runtime
    if record.outcome not in ("ok", "nothing") or wall is None or cpu is None or runtime is None:
        return 1.0
    expected = wall + (max(1, len(record.cores)) - 1) * runtime
    return cpu / expected if cpu < min(_LEAST_SHARE * expected, expected - _LEAST_SHORTFALL) else 1.0


def beaten(grid: Grid) -> list[str]:
    """Return a line for every instance whose reference value is worse than the best run's objective value."""
    gaps, objective = grid.gaps(), grid.numbers["objective"]
    better = beats(objective, grid.reference[:, None], grid.sense)
    lines = []
    for i, name in enumerate(grid.instances):
        if not grid.referenced[i] or not better[:, :, i].any():
            continue
        at = np.unravel_index(np.nanargmin(gaps[:, :, i]), gaps[:, :, i].shape)
        record = grid.records[grid.record[(*at[:2], i, at[2])]]
        status = grid.reference_status[i] or "reference"
        source = f" ({grid.reference_source[i]})" if grid.reference_source[i] else ""
        line = f"{name}: {record.solver} found {value(float(objective[(*at[:2], i, at[2])]))}, better than the {status} value"
        line += f" {value(float(grid.reference[i]))}{source}; seed {record.seed}, {grid.limits[at[0]]}"
        lines.append(line + ("; a proven value cannot be beaten: one of the two is wrong" if "proven" in status else ""))
    return lines


def provenance(records: Sequence[Record], grid: Grid, commands: Sequence[str]) -> Provenance:
    """Return the circumstances of the runs, collected from their records."""
    versions: dict[str, set[str]] = {}
    machines: dict[str, dict[str, Any]] = {}
    solvers: dict[str, dict[str, Any]] = {}
    for shared in {id(r.versions): r.versions for r in records}.values():
        for name, version in shared.items():
            versions.setdefault(name, set()).add(version)
    for machine in {id(r.machine): r.machine for r in records}.values():
        machines.setdefault(repr(sorted(machine.items())), dict(machine))
    for r in records:
        entry = solvers.setdefault(r.solver, {"ran": [], "options": dict(r.options)})
        if (r.solver_name or r.solver) not in entry["ran"]:
            entry["ran"].append(r.solver_name or r.solver)
    started = sorted(r.started for r in records if r.started)
    seeds = sorted({r.seed for r in records})
    cores = sorted({len(r.cores) for r in records if r.cores})
    sources = Counter(f"{s or 'unnamed source'}, {k or 'status unknown'}" for s, k, g in
                      zip(grid.reference_source, grid.reference_status, grid.referenced) if g)  # fmt: skip
    return Provenance(
        list(commands), sorted({r.commit for r in records if r.commit}), (started[0], started[-1]) if started else ("", ""),
        {name: sorted(found) for name, found in sorted(versions.items())}, list(machines.values()), _ranges(seeds),
        " or ".join(map(str, cores)), solvers, dict(sources.most_common()),
    )  # fmt: skip


def _circumstances(records: Sequence[Record]) -> list[str]:
    """Return warnings about runs on different or slow machines, and from different or changed sources."""
    found = []
    machines = list({id(r.machine): r.machine for r in records}.values())
    slowdown = max(
        (m["parallel_slowdown"] for m in machines if isinstance(m.get("parallel_slowdown"), (int, float))), default=0.0
    )
    if slowdown > _SLOWDOWN:
        found.append(f"Two parallel jobs slow each other by {100 * slowdown:.0f} % on this machine: with equal time limits, "
                     "results are worse than those of runs alone (--jobs 1)")  # fmt: skip
    kinds = {repr(sorted((k, v) for k, v in m.items() if k != "parallel_slowdown")) for m in machines}
    if len(kinds) > 1:
        found.append(f"The runs come from {len(kinds)} different machines: their times cannot be compared")
    commits = {r.commit for r in records}
    if len(commits) > 1:
        found.append(f"The runs come from {len(commits)} different commits")
    if any(commit.endswith("+") for commit in commits):
        found.append(
            "Some runs used sources changed since their commit (marked +): they cannot be repeated from the commit alone"
        )
    return found


def _contradictions(grid: Grid) -> list[str]:
    """Return a warning for each solver that claimed a bound although a verified solution is better: its proof is wrong."""
    objective, bound = grid.numbers["objective"], grid.numbers["bound"]
    sign = 1.0 if grid.sense == "min" else -1.0
    values = np.where(np.isnan(objective), np.inf, sign * objective)
    best = values.min(axis=(0, 1, 3), initial=np.inf)[:, None]
    with np.errstate(invalid="ignore"):
        wrong = beats(best, sign * bound, "min") & np.isfinite(best)
    return [f"{grid.solvers[s]} claims a bound that a verified solution violates, in {_count(int(wrong[:, s].sum()), 'run')}"
            for s in np.flatnonzero(wrong.any(axis=(0, 2, 3))).tolist()]  # fmt: skip


def _overruns(grid: Grid) -> list[str]:
    """Return a warning for each solver with runs that clearly exceeded their time limit."""
    found = []
    runtime = np.where(grid.derived, np.nan, grid.numbers["runtime"])
    allowed = np.array([limit.allowed for limit in grid.limits])
    with np.errstate(invalid="ignore"):
        late = runtime > allowed[:, None, None, None]
    for s in np.flatnonzero(late.any(axis=(0, 2, 3))).tolist():
        at = np.unravel_index(np.argmax(np.where(late[:, s], runtime[:, s], 0.0)), late[:, s].shape)
        worst = f"{runtime[:, s][at]:.3g} s of {grid.limits[at[0]]}"
        found.append(f"{grid.solvers[s]} exceeded its time limit in {_count(int(late[:, s].sum()), 'run')}, at worst {worst}")
    return found


def _refusals(grid: Grid) -> list[str]:
    """Return a warning for each solver that refuses instances."""
    refused = np.asarray(grid.refused.any(axis=(0, 3)))
    return [f"{grid.solvers[s]} refuses {int(refused[s].sum())} of {len(grid.instances)} instances: its figures and "
            "comparisons exclude them" for s in np.flatnonzero(refused.any(axis=1)).tolist()]  # fmt: skip


def _limits_of_intervals(grid: Grid, resampling: Resampling) -> list[str]:
    """Return warnings about what intervals over these instances and seeds cannot show."""
    found, instances = [], resampling.instances
    if instances < FEWEST:
        subject = "One instance" if instances == 1 else f"{instances} instances"
        covers = "intervals cover the randomness of the seeds alone" if resampling.varies else "there are no intervals"
        found.append(f"{subject}: no statement about other instances is possible; {covers}")
    if not resampling.varies:
        found.append("One seed: the randomness of a single run is not separated from the solver's quality on an instance")
    return found


def _run(record: Record) -> str:
    return f"{record.instance}, seed {record.seed}, {Limit(record.time_limit, record.iterations)}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text: "0 to 2, 5" for [0, 1, 2, 5]."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][1] + 1:
            groups[-1][1] = number
        else:
            groups.append([number, number])
    texts = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a} to {b}" for a, b in groups]
    return ", ".join(texts)


def described(facts: Mapping[str, Any]) -> str:
    """Return the facts of a machine, or the options of a solver, on one line; empty values are omitted."""
    return ", ".join(f"{key.replace('_', ' ')} {item}" for key, item in facts.items() if item not in (None, "", {}, []))
