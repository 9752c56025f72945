"""The strength of routing solvers beside their peers: `python tests/studies/routing_strength.py TABLE --out FILE.csv`

The tables stand in routing_strength.toml. Every run is by processor time, on one core, and appends one row to the file; runs that
the file has already are skipped, so that a table can be interrupted and continued. Solutions of all solvers are evaluated by the
problem. Peers outside the environment are named by variables:

- HYGESE_PYTHON, AILSII_PYTHON, HGS_VRPTW and FILO2: see peers/README.md.
- CORL_DATA, ORTEC_DATA, XL_DATA and PDPTW_DATA: the folders of the instances.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from processor_run import ProcessorRun
from run_table import RunTable

from corl import registry
from corl.benchmark.peers.definition import read_peers
from corl.run import Run

__all__ = ["FIELDS", "TABLES", "Task", "gap_percent", "missing", "tasks"]

FIELDS = (
    "table",
    "instance",
    "solver",
    "limit",
    "seed",
    "objective",
    "reference",
    "gap_percent",
    "routes",
    "last_improvement",
    "seconds",
)
TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("routing_strength.toml").read_text())
_PEERS = read_peers(Path(__file__).with_name("peers"))
_FOLDERS = {"data": "CORL_DATA", "ortec": "ORTEC_DATA", "xl": "XL_DATA", "pdptw": "PDPTW_DATA"}
_SECONDS_PER_CLIENT = 2.4  # of "2.4n", the limit of Uchoa et al.'s and PyVRP's tables


class Task(NamedTuple):
    """One run of a table."""

    table: str
    file: Path
    solver: str
    limit: str
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the run in the CSV file."""
        return self.table, self.file.stem, self.solver, self.limit, str(self.seed)


class Outcome(NamedTuple):
    """The solution of a run, and when it was found (processor seconds; NaN if the peer does not say)."""

    solution: Any
    seconds: float


def files(table: str) -> list[Path]:
    """Return the instance files of a table; patterns are expanded, and of these `count` are taken, evenly spaced."""
    declared = TABLES[table]
    folder = Path(os.environ[_FOLDERS[declared["folder"]]])
    found = [
        path for pattern in declared["files"] for path in (sorted(folder.glob(pattern)) if "*" in pattern else [folder / pattern])
    ]
    count = declared.get("count", len(found))
    return [found[k * len(found) // count] for k in range(min(count, len(found)))]


def tasks(table: str, solvers: Sequence[str] = (), seeds: int = 0) -> list[Task]:
    """Return the runs of a table; the solvers of an instance and a seed are beside each other."""
    declared = TABLES[table]
    chosen = [name for name in declared["solvers"] if not solvers or name in solvers]
    return [
        Task(table, file, solver, limit, seed)
        for seed in range(1, (seeds or declared["seeds"]) + 1)
        for limit in declared["limits"]
        for file in files(table)
        for solver in chosen
    ]


def missing(wanted: Sequence[Task], file: Path) -> Iterator[Task]:
    """Yield the runs that a CSV file does not have."""
    table = RunTable(file, FIELDS, FIELDS[:5])
    return (task for task in wanted if not table.has(*task.key))


def reference(file: Path) -> float | None:
    """Return the cost in the .sol file beside an instance; None if there is none."""
    solution = file.with_suffix(".sol")
    found = re.search(r"Cost:?\s+([\d.]+)", solution.read_text()) if solution.exists() else None
    return float(found[1]) if found else None


def gap_percent(objective: float, cost: float | None) -> float:
    """Return the gap to a reference cost, whose power of ten is chosen so that it is nearest to the objective value; else NaN."""
    if not cost:
        return math.nan
    return 100.0 * (objective / (cost * 10.0 ** round(math.log10(objective / cost))) - 1.0)


def solve(task: Task) -> tuple[Any, Outcome]:
    """Return the instance and the outcome of a run."""
    problem = registry.problem("vrp")
    instance = problem.read(task.file)
    limit = _SECONDS_PER_CLIENT * instance.clients if task.limit == "2.4n" else float(task.limit)
    if task.solver in _PEERS:
        run = Run(problem, instance, time_limit=limit, seed=task.seed)
        run.start()
        _PEERS[task.solver].solver.solve(instance, run)
        return instance, Outcome(run.solution, math.nan)
    solver = registry.solver("vrp", task.solver)()
    solver.prepare(instance)
    run = ProcessorRun(problem, instance, time_limit=limit, seed=task.seed)
    run.start()
    solver.solve(instance, run)
    return instance, Outcome(run.solution, run.trace[-1][0] if run.trace else math.nan)


def _processor_seconds() -> float:
    """Return the processor seconds that this process and its ended children have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def row(task: Task) -> dict[str, Any]:
    """Make a run, and return its row."""
    begun = _processor_seconds()
    instance, outcome = solve(task)
    seconds = _processor_seconds() - begun
    objective = registry.problem("vrp").evaluate(instance, outcome.solution)
    cost = reference(task.file)
    values = (
        *task.key,
        objective,
        cost,
        round(gap_percent(objective, cost), 4),
        len(outcome.solution),
        round(outcome.seconds, 1),
        round(seconds, 1),
    )
    return dict(zip(FIELDS, values, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("table", choices=sorted(TABLES), help="a table of routing_strength.toml")
    parser.add_argument("--out", type=Path, required=True, help="the CSV file that rows are appended to")
    parser.add_argument("--solvers", nargs="*", default=(), help="only these; default: all of the table")
    parser.add_argument("--seeds", type=int, default=0, help="the number of seeds; default: the table's")
    parser.add_argument("--files", nargs="*", default=(), help="only instances of these names; default: all of the table")
    parser.add_argument("--limits", nargs="*", default=(), help="only these limits; default: all of the table")
    args = parser.parse_args()
    wanted = [
        task
        for task in tasks(args.table, args.solvers, args.seeds)
        if (not args.files or task.file.stem in args.files) and (not args.limits or task.limit in args.limits)
    ]
    table = RunTable(args.out, FIELDS, FIELDS[:5])
    for task in missing(wanted, args.out):
        made = row(task)
        table.append(made)
        print(*made.values(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
