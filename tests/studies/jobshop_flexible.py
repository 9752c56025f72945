"""`tabu` beside CP-SAT on public flexible job shops: `python tests/studies/jobshop_flexible.py FOLDER ROWS.csv [METHOD ...]`.

FOLDER holds brandimarte/mk06.txt, hurink/edata/la24.txt, dauzere/10a.txt, behnke/sm04_3.txt and so on, with a line a job: the
number of operations, and for each the number of machines and as many pairs of machine, from 0, and duration. A run takes one
core and 60 s. ROWS.csv is continued: what it has is not run again, so that the study may be broken off.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from run_table import RunTable

import corl
from corl.problems.jobshop.instance import JobShopInstance, from_jobs

__all__ = ["METHODS", "SAMPLE", "instance_of", "main"]

SAMPLE = {
    "behnke/sm02_2": 124,
    "behnke/sm03_3": 229,
    "behnke/sm04_3": 396,
    "behnke/med03_3": 224,
    "behnke/med04_2": 391,
    "behnke/lar04_3": 397,
    "hurink/edata/la24": 908,
    "hurink/edata/abz8": 636,
    "hurink/rdata/la30": 1071,
    "hurink/rdata/abz9": 536,
    "hurink/vdata/la24": 773,
    "hurink/vdata/abz8": 507,
    "brandimarte/mk06": 57,
    "brandimarte/mk13": 390,
    "dauzere/10a": 2241,
    "dauzere/17a": 2105,
}
"""The best makespans known (ScheduleOpt's benchmarks, August 2026); none of these was looked at while the search was tuned."""
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "tabu": ("tabu", {}),
    "cp-sat": ("cp-sat", {}),
    "cp-sat with 8 threads": ("cp-sat", {"search_workers": 8}),
}
_FIELDS = ("instance", "method", "seconds", "makespan", "best_known", "gap", "bound")


def instance_of(text: str, name: str) -> JobShopInstance:
    """The instance in a public file, whose machines count from 0 (those of `.fjs` files count from 1)."""
    header, *lines = text.splitlines()
    jobs, machines = (int(word) for word in header.split()[:2])
    return from_jobs([_job(line) for line in lines[:jobs]], machines, name=name)


def _job(line: str) -> list[list[tuple[int, int]]]:
    numbers = iter(map(int, line.split()))
    return [[(next(numbers), next(numbers)) for _ in range(next(numbers))] for _ in range(next(numbers))]


def _row(instance: JobShopInstance, method: str, seconds: float, best: int) -> dict[str, object]:
    solver, options = METHODS[method]
    result = corl.solve(instance, solver=solver, time_limit=seconds, seed=0, **options)
    makespan = result.objective
    gap = "" if makespan is None else f"{100.0 * (makespan / best - 1.0):.2f}"
    values = (instance.name, method, f"{seconds:g}", makespan, best, gap, result.bound)
    return dict(zip(_FIELDS, values))


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("methods", nargs="*", default=list(METHODS), metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    table = RunTable(given.rows, _FIELDS, ("instance", "method"))
    for name, best in SAMPLE.items():
        instance = instance_of((given.folder / f"{name}.txt").read_text(), name)
        for method in given.methods:
            if table.has(name, method):
                continue
            row = _row(instance, method, given.seconds, best)
            table.append(row)
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
