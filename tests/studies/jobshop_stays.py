"""Resumable operations and blocking: `annealing` beside CP-SAT and PyJobShop, in equal processor time.

    python tests/studies/jobshop_stays.py ROWS.csv --pyjobshop ENVIRONMENT/bin/python [--seconds 30]

The instances are workshops of the generator on ten machines. Each method runs on one core; its seconds are processor seconds,
since the core may be shared. PyJobShop (jobshop_pyjobshop.py) runs in an environment of its own; its schedules are judged here.
ROWS.csv is continued: what it has is not run again, so that the study may be broken off.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from processor_run import ProcessorRun

from corl import registry
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.problem import JobShop

__all__ = ["METHODS", "RULES", "SIZES", "main", "solve_own", "solve_pyjobshop"]

RULES = {"resumable": "calendars,resumable", "blocking with swaps": "swap", "blocking without swaps": "blocking"}
SIZES = (10, 20, 50)
"""Numbers of jobs."""
METHODS = ("annealing", "cp-sat", "pyjobshop")
_FIELDS = ("rule", "jobs", "method", "seconds", "makespan", "bound")


class _EngineRun(ProcessorRun):
    """A run without a limit of its own, so that CP-SAT's clock, which shows seconds on the wall, does not end it early."""

    seconds = 0.0

    @property
    def should_stop(self) -> bool:
        """Whether the processor seconds are used up."""
        return super().should_stop or self.elapsed >= self.seconds


def solve_own(instance: JobShopInstance, method: str, seconds: float, seed: int = 0) -> tuple[Any, Any, float]:
    """Return the makespan, the bound and the processor seconds of a solver of corl."""
    solver = registry.solver("jobshop", method)()
    solver.prepare(instance)
    run: ProcessorRun
    if method == "cp-sat":
        engine = _EngineRun(JobShop(), instance, seed=seed)
        engine.seconds, run = seconds, engine
    else:
        run = ProcessorRun(JobShop(), instance, time_limit=seconds, seed=seed)
    run.start()
    solver.solve(instance, run)
    return run.objective, run.bound, run.elapsed


def solve_pyjobshop(instance: JobShopInstance, python: str, seconds: float) -> tuple[Any, Any, float]:
    """Return the makespan, which the judge confirms, the bound and the processor seconds of PyJobShop."""
    script = str(Path(__file__).parent / "jobshop_pyjobshop.py")
    with tempfile.TemporaryDirectory() as folder:
        JobShop().write(instance, Path(folder) / "instance.json")
        command = [python, "-P", script, str(Path(folder) / "instance.json"), str(seconds)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    value = JobShop().evaluate(instance, JobShop().from_json(instance, found["solution"]))
    return value, found["bound"], found["seconds"]


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--pyjobshop", default="", metavar="PYTHON", help="the interpreter that has PyJobShop; without: not run")
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    done: set[tuple[str, ...]] = set()
    if given.rows.exists():
        with given.rows.open(newline="") as file:
            done = {(row["rule"], row["jobs"], row["method"]) for row in csv.DictReader(file)}
    for (rule, ask), jobs in ((rule, jobs) for rule in RULES.items() for jobs in SIZES):
        instance = workshop(jobs=jobs, machines=10, ask=ask, seed=1)
        for method in METHODS:
            external = method == "pyjobshop"
            if (rule, str(jobs), method) in done or (external and (not given.pyjobshop or ask == "blocking")):
                continue
            run = (
                solve_pyjobshop(instance, given.pyjobshop, given.seconds)
                if external
                else solve_own(instance, method, given.seconds)
            )
            makespan, bound, seconds = run
            row = dict(zip(_FIELDS, (rule, jobs, method, f"{seconds:.1f}", f"{makespan:.0f}", f"{bound:.0f}")))
            new = not given.rows.exists()
            with given.rows.open("a", newline="") as file:
                writer = csv.DictWriter(file, _FIELDS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow(row)
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
