"""Solvers of memory mapping on programs at several sizes of fast memory: run time, share of the gap closed, processor seconds.

python tests/studies/memory_mapping.py > instances/memory/results/mapping.csv

Times are of the processor, so that the table can be made on a busy machine. The programs are generated (layered, dag), those that
are shipped (traced), and, where the environment variable CORL_DATA names the folder of benchmark data, those in its folder
memory/models (models).
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from processor_run import ProcessorRun

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.solver import Solver

__all__ = ["main", "programs"]

_COLUMNS = ("program", "fast_mib", "method", "limit", "microseconds", "bound", "closed", "seconds")
_BASE = "xla-like tuned"


def main(arguments: list[str] | None = None) -> None:
    """Write the table to standard output, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast-mib", type=float, nargs="+", default=[1.0, 2.0, 4.0, 8.0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0], help="processor seconds of the searches")
    parser.add_argument("--programs", nargs="+", default=["layered", "dag", "traced", "models"])
    parser.add_argument("--solvers", nargs="+", default=list(_searches()), help="searches, after the constructions")
    parser.add_argument("--least", type=float, default=0.0, help="only programs where tuned xla-like is so far above the bound")
    given = parser.parse_args(arguments)
    table = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
    table.writeheader()
    for name, generator, parameters in programs(given.programs):
        for size in given.fast_mib:
            instance = generator(fast_mib=size, **parameters)
            for row in _rows(instance, given.seconds, given.solvers, given.least):
                table.writerow({"program": name, "fast_mib": f"{size:g}"} | row)
            sys.stdout.flush()


def programs(names: list[str]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name, generator, parameters) of the programs; "traced" stands for all that are shipped, "models" for CORL_DATA's."""
    from importlib import resources

    from corl.problems.memory.generators import GENERATORS

    for name in names:
        if name in ("layered", "dag"):
            yield name, GENERATORS[name], {"seed": 1, **({"layers": 16} if name == "layered" else {"ops": 60})}
        elif name == "traced":
            for file in sorted((resources.files("corl.instances") / "memory").iterdir(), key=lambda file: file.name):
                if file.name.endswith(".json.gz"):
                    yield from programs([file.name.removesuffix(".json.gz")])
        elif name == "models":
            folder = Path(os.environ.get("CORL_DATA", os.devnull))
            for path in sorted((folder / "memory" / "models").glob("*.json")):
                yield path.stem, GENERATORS["model"], {"file": str(path.relative_to(folder))}
        else:
            yield name, GENERATORS["traced"], {"program": name}


def _searches() -> dict[str, Solver]:
    from corl.solvers.generic.muzero import MuZero
    from corl.solvers.generic.tree_search import TreeSearch
    from corl.solvers.memory.annealing.solver import Annealing
    from corl.solvers.memory.priority.solver import LearnedPriority

    return {
        "learned-priority": LearnedPriority(),
        "annealing from xla-like": Annealing(start="xla-like"),
        "annealing": Annealing(),
        "tree-search": TreeSearch(policy="memory-alphazero"),
        "muzero": MuZero(policy="memory-muzero"),
    }


def _rows(instance: MappingInstance, limits: list[float], names: list[str], least: float) -> Iterator[dict[str, str]]:
    """A row a method and limit; `closed` is the share of the gap between tuned xla-like and the bound that it closes."""
    from corl.problems.memory.problem import Mapping
    from corl.solvers.memory.baselines import AllSlow
    from corl.solvers.memory.bounds import best_bound
    from corl.solvers.memory.constructions import GreedyKeep, XlaLike
    from corl.solvers.memory.priority.solver import LearnedPriority

    constructions: dict[str, Solver] = {_BASE: XlaLike(tuned=True), "xla-like": XlaLike(), "greedy-keep": GreedyKeep()}
    constructions |= {"all-slow": AllSlow(), "learned-priority, one plan": LearnedPriority(plans=1)}
    tasks = [(name, solver, 0.0) for name, solver in constructions.items()]
    tasks += [(name, _searches()[name], limit) for limit in limits for name in names]
    bound, base = best_bound(instance), 0.0
    for name, solver, limit in tasks:
        solver.prepare(instance)
        run = ProcessorRun(Mapping(), instance, time_limit=limit or 1e6)
        run.start()
        solver.solve(instance, run)
        spent = run.elapsed
        assert run.objective is not None
        base = run.objective if name == _BASE else base
        if base < bound * (1.0 + least):
            return
        closed = f"{(base - run.objective) / (base - bound):.3f}" if base > bound * (1.0 + 1e-6) else ""
        row = {"method": name, "limit": f"{limit:g}" if limit else "", "microseconds": f"{run.objective:.3f}"}
        yield row | {"bound": f"{bound:.3f}", "closed": closed, "seconds": f"{spent:.2f}"}


if __name__ == "__main__":
    main()
