"""Players of the mallocGame on programs that training has not seen, at equal simulations and at equal processor time.

python tests/studies/memory_players.py > instances/memory/results/mapping-players.csv
python tests/studies/memory_players.py --table instances/memory/results/mapping-players.csv

The programs are generated ones (mixed) and shipped ones, NAME-MIB (traced). "no network" is the same search with a network that
says nothing: all actions as likely, and leaves worth what playing the first action listed (keep) comes to; it is left out where a
program has more than 200 accesses, where that takes minutes. Columns beside the programs: the plan's microseconds, the bound,
processor seconds.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from processor_run import ProcessorRun

from corl.benchmark.reporting.statistics import sample_mean

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.solver import Solver

__all__ = ["main"]

_COLUMNS = ("program", "method", "limit", "microseconds", "bound", "seconds")
_ROLLOUTS = 200  # accesses up to which leaves are played out
_SEEDS = 4_000_000_000  # of the first program: training draws below 2^32, most unlikely these
_BASE = "xla-like tuned"


def main(arguments: list[str] | None = None) -> None:
    """Write the rows to standard output, or sum up a file of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="number of the first generated program")
    parser.add_argument("--size", type=int, default=20, help="operations of a program")
    parser.add_argument("--traced", nargs="*", default=[], metavar="NAME-MIB", help="shipped programs, such as unet-b4-8")
    parser.add_argument("--simulations", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--alphazero", default="memory-alphazero")
    parser.add_argument("--muzero", default="memory-muzero")
    parser.add_argument("--table", help="a file with rows: say the means instead")
    given = parser.parse_args(arguments)
    if given.table:
        with open(given.table, newline="") as file:
            print("\n".join(_summary(list(csv.DictReader(file)))))
        return
    from corl.problems.memory.generators import mixed, traced

    table = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
    table.writeheader()
    with tempfile.TemporaryDirectory() as folder:
        nothing = _nothing(Path(folder) / "nothing.safetensors")
        numbers = range(given.first, given.first + given.programs)
        programs = {f"mixed-{given.size}-{k}": mixed(size=given.size, seed=_SEEDS + k) for k in numbers}
        for name in given.traced:
            program, _, size = name.rpartition("-")
            programs[name] = traced(program=program, fast_mib=float(size))
        for name, instance in programs.items():
            for row in _rows(instance, given, nothing):
                table.writerow({"program": name, **row})
            sys.stdout.flush()


def _nothing(path: Path) -> str:
    """A checkpoint of a network without a value, to which all actions are alike."""
    import torch

    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import save
    from corl.problems.memory.features import FEATURES, SPANS, UPCOMING

    shape: dict[str, Any] = {"extra": UPCOMING + SPANS, "width": 4, "layers": 1, "heads": 1, "feedforward": 4, "value": False}
    network = AttentionPolicy("memory", "game", FEATURES, **shape)
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    save(path, network)
    return str(path)


def _rows(instance: MappingInstance, given: Any, nothing: str) -> Iterator[dict[str, str]]:
    from corl.problems.memory.problem import Mapping
    from corl.solvers.generic.muzero import MuZero
    from corl.solvers.generic.policy import Policy
    from corl.solvers.generic.tree_search import TreeSearch
    from corl.solvers.memory.annealing import Annealing
    from corl.solvers.memory.bounds import best_bound
    from corl.solvers.memory.constructions import XlaLike

    fixed = {"simulations": given.simulations, "rounds": 1}
    counted: dict[str, Solver] = {
        _BASE: XlaLike(tuned=True),
        "AlphaZero's policy alone": Policy(given.alphazero, "greedy"),
        "AlphaZero": TreeSearch(given.alphazero, **fixed),
        "MuZero": MuZero(given.muzero, **fixed),
        "no network": TreeSearch(nothing, **fixed),
    }
    timed: dict[str, Solver] = {
        "AlphaZero": TreeSearch(given.alphazero),
        "AlphaZero, beam": Policy(given.alphazero, "beam"),
        "MuZero": MuZero(given.muzero),
        "no network": TreeSearch(nothing),
        "annealing": Annealing(),
    }
    bound = f"{best_bound(instance):.4f}"
    for limit, solvers in (("", counted), (f"{given.seconds:g} s", timed)):
        for name, solver in solvers.items():
            if name == "no network" and len(instance.access_tensor) > _ROLLOUTS:
                continue
            solver.prepare(instance)
            run = ProcessorRun(Mapping(), instance, time_limit=given.seconds if limit else 1e6)
            run.start()
            solver.solve(instance, run)
            spent = run.elapsed
            assert run.objective is not None
            row = {"method": name, "limit": limit or f"{given.simulations} simulations", "bound": bound}
            yield row | {"microseconds": f"{run.objective:.4f}", "seconds": f"{spent:.2f}"}


def _summary(rows: list[dict[str, str]]) -> Iterator[str]:
    """Mean percentage by which plans are slower than the tuned compiler-like ones, with 95 % intervals, and the bound's."""
    base = {row["program"]: float(row["microseconds"]) for row in rows if row["method"] == _BASE}
    yield "| programs | method | limit | slower than tuned xla-like, % | number | processor seconds |\n|---|---|---|---|---|---|"
    for kind in ("generated", "traced"):
        some = [row for row in rows if row["program"].startswith("mixed-") == (kind == "generated")]
        for limit, method in dict.fromkeys((row["limit"], row["method"]) for row in some):
            mine = [row for row in some if (row["limit"], row["method"]) == (limit, method)]
            seconds = np.mean([float(row["seconds"]) for row in mine])
            yield f"| {kind} | {method} | {limit} | {_mean(mine, base, 'microseconds')} | {len(mine)} | {seconds:.2f} |"
        bounds = [row for row in some if row["method"] == _BASE]
        yield f"| {kind} | bound | | {_mean(bounds, base, 'bound')} | {len(bounds)} | |"


def _mean(rows: list[dict[str, str]], base: dict[str, float], column: str) -> str:
    found = sample_mean([100.0 * (float(row[column]) / base[row["program"]] - 1.0) for row in rows])
    if found.value is None:
        return ""
    return f"{found.value:+.2f}" + (f" +- {found.half:.2f}" if found.low is not None else "")


if __name__ == "__main__":
    main()
