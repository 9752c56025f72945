"""Static allocation in processor seconds, so that the table can be made on a busy machine.

python tests/studies/memory_static.py > instances/memory/results/static.csv

Two sets, where the environment variable CORL_DATA names the folder of benchmark data: minimalloc's challenging instances, each
until an allocation is within the capacity in its file's name, and the large instances in memory/static_large, whose height is
minimised, as is that of a third set, a million generated buffers (`--sets generated --seconds 60`). A row an instance and solver;
every allocation is judged before it counts. Compilation is not in the times. `--peer PROGRAM` adds a row for each challenging
instance: minimalloc itself, built from its authors' source, by its process's time.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from processor_run import ProcessorRun

from corl.problems.memory_static.generators import large
from corl.problems.memory_static.instance import StaticInstance
from corl.problems.memory_static.problem import StaticAllocation

__all__ = ["main"]

_COLUMNS = ("set", "instance", "buffers", "solver", "capacity", "status", "height", "bound", "gap_percent", "within_2", "seconds")


def main(arguments: list[str] | None = None) -> None:
    """Write the table to standard output, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="processor seconds for every instance")
    parser.add_argument("--sets", nargs="+", choices=["challenging", "large", "generated"], default=["challenging", "large"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], help="of the generated buffers")
    parser.add_argument("--solvers", nargs="+", default=["auto"])
    parser.add_argument("--peer", help="minimalloc's program")
    given = parser.parse_args(arguments)
    table = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
    table.writeheader()
    for name, stem, load, capacity in _instances(given.sets, given.seeds):
        for solver in given.solvers:
            table.writerow({"set": name, "instance": stem} | _row(load(), solver, capacity, given.seconds))
            sys.stdout.flush()
        if given.peer and capacity is not None:
            table.writerow({"set": name, "instance": stem} | _peer_row(load(), given.peer, capacity, given.seconds))
            sys.stdout.flush()


def _instances(sets: list[str], seeds: list[int]) -> Iterator[tuple[str, str, Callable[[], StaticInstance], int | None]]:
    """(set, name, what makes the instance, capacity) of what there is."""
    read = StaticAllocation().read
    folder = Path(os.environ.get("CORL_DATA", ".")) / "memory"
    for name in sets:
        if name == "challenging":
            for path in sorted((folder / "minimalloc").glob("[A-Z].*.csv")):
                yield name, path.stem, partial(read, path), int(path.name.split(".")[1])
        elif name == "large":
            for path in sorted((folder / "static_large").glob("*.csv")):
                yield name, path.stem, partial(read, path), None
        else:
            for seed in seeds:
                yield name, f"large-1000000-{seed}", partial(large, size=1_000_000, seed=seed), None


def _row(instance: StaticInstance, name: str, capacity: int | None, seconds: float) -> dict[str, Any]:
    """One run. `within_2`: after how many seconds the height was within 2 % of the bound; empty if never, or with a capacity."""
    from corl import registry

    problem = StaticAllocation()
    chosen = registry.choose(problem.name, name, instance, seconds, None)
    solver: Any = registry.solver(problem.name, chosen)
    solver = solver(capacity=capacity)
    solver.prepare(instance)
    run = ProcessorRun(problem, instance, time_limit=seconds)
    run.start()
    solver.solve(instance, run)
    run.finish()
    row: dict[str, Any] = {"buffers": instance.n, "solver": chosen, "capacity": capacity}
    met = run.objective is not None and capacity is not None
    row["status"] = "within" if met else "optimal" if run.optimal else "feasible" if run.objective is not None else "none"
    row |= {"height": run.objective, "bound": run.bound, "seconds": f"{run.runtime:.2f}"}
    if run.objective is not None and run.bound:
        row["gap_percent"] = f"{100 * (run.objective / run.bound - 1):.3f}"
    if capacity is None and run.bound:
        near = [at for at, value, _ in run.trace if value is not None and value <= 1.02 * run.bound]
        row["within_2"] = f"{near[0]:.2f}" if near else ""
    return row


def _peer_row(instance: StaticInstance, program: str, capacity: int, seconds: float) -> dict[str, Any]:
    """minimalloc's run on the same buffers, with its default options; `seconds` of its process, which reads the file as well."""
    row: dict[str, Any] = {"buffers": instance.n, "solver": "minimalloc", "capacity": capacity, "status": "none"}
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.csv"), Path(folder, "found.csv")
        StaticAllocation().write(instance, given)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        options = [f"--input={given}", f"--output={found}", f"--capacity={capacity}", f"--timeout={seconds}s"]
        subprocess.run([program, *options], capture_output=True)
        row["seconds"] = f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before:.2f}"
        if found.exists():
            height = StaticAllocation().evaluate(instance, StaticAllocation().read_solution(instance, found))
            row |= {"height": height, "status": "within" if height <= capacity else "feasible"}
    return row


if __name__ == "__main__":
    main()
