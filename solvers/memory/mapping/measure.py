"""Solvers of memory mapping on programs at several sizes of fast memory: run time, share of the gap closed, processor seconds.

python -m corl.solvers.memory.mapping.measure > table.csv

Times are of the processor, so that the table can be made on a busy machine. The programs are generated and, where the
environment variable CORL_DATA names the folder of benchmark data, traced models in its folder memory/models.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corl.problems.memory.mapping.generators import GENERATORS
from corl.problems.memory.mapping.problem import Mapping
from corl.run import Run

__all__ = ["main", "programs"]

_COLUMNS = ("program", "fast_mib", "method", "microseconds", "bound", "closed", "seconds")


def main(arguments: list[str] | None = None) -> None:
    """Write the table to standard output, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast-mib", type=float, nargs="+", default=[1.0, 2.0, 4.0, 8.0])
    parser.add_argument("--moves", type=int, default=30_000, help="of annealing")
    parser.add_argument("--programs", nargs="+", default=["layered", "dag", "models"], help="generators, or models")
    given = parser.parse_args(arguments)
    table = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
    table.writeheader()
    for program, parameters in programs(given.programs):
        for size in given.fast_mib:
            generator = "model" if "file" in parameters else program
            for row in _rows(GENERATORS[generator](fast_mib=size, **parameters), given.moves):
                table.writerow({"program": program, "fast_mib": f"{size:g}"} | row)
            sys.stdout.flush()


def programs(names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, parameters) of the programs; "models" stands for all traced ones that there are."""
    for name in names:
        if name in GENERATORS:
            yield name, {"seed": 1, **({"layers": 16} if name == "layered" else {"ops": 60})}
        elif name != "models":
            yield Path(name).stem, {"file": name}
        elif "CORL_DATA" in os.environ:
            folder = Path(os.environ["CORL_DATA"])
            for path in sorted((folder / "memory" / "models").glob("*.json")):
                yield path.stem, {"file": str(path.relative_to(folder))}


def _rows(instance: Any, moves: int) -> Iterator[dict[str, str]]:
    """A row a method; `closed` is the share of the gap between tuned xla-like and the bound that it closes."""
    from corl.solvers.memory.mapping.annealing import Annealing
    from corl.solvers.memory.mapping.baselines import AllSlow
    from corl.solvers.memory.mapping.bounds import best_bound
    from corl.solvers.memory.mapping.constructions import GreedyKeep, XlaLike

    methods = {"all-slow": AllSlow(), "greedy-keep": GreedyKeep(), "xla-like": XlaLike(), "xla-like tuned": XlaLike(tuned=True)}
    methods[f"annealing, {moves} moves"] = Annealing()
    found = {}
    bound = best_bound(instance)
    for name, solver in methods.items():
        solver.prepare(instance)
        run, begun = Run(Mapping(), instance, iterations=moves), time.process_time()
        solver.solve(instance, run)
        assert run.objective is not None
        found[name] = (run.objective, time.process_time() - begun)
    base = found["xla-like tuned"][0]
    for name, (value, seconds) in found.items():
        closed = f"{(base - value) / (base - bound):.3f}" if base > bound * (1 + 1e-6) and value <= base else ""
        row = {"method": name, "microseconds": f"{value:.3f}", "bound": f"{bound:.3f}", "closed": closed}
        yield row | {"seconds": f"{seconds:.2f}"}


if __name__ == "__main__":
    main()
