"""Players of the mallocGame beside searches of plans, on programs that training has not seen, at equal processor time.

python tests/studies/memory_players.py --programs 12 --traced PAIRS > instances/memory/results/mapping-players.csv
python tests/studies/memory_players.py --table instances/memory/results/mapping-players.csv

The programs are generated ones (mixed) and shipped ones, NAME-MIB (PAIRS: twelve of kinds that nothing was tuned on). What has no
limit is built once: tuned xla-like and the greedy plans of the policies. Inference is inside the clock. "shuffled" is AlphaZero's
network with its weights in other places, "no network" the same search with a network that says nothing: all actions as likely,
and leaves worth what playing the first action listed (keep) comes to. Columns beside the programs: the plan's microseconds, the
bound, processor seconds.
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

from corl.statistics import sample_mean

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.solver import Solver

__all__ = ["main"]

_COLUMNS = ("program", "method", "limit", "microseconds", "bound", "seconds")
_PAIRS = tuple(f"{name}-{mib}" for name in ("t5-b1", "vit-b1", "gnn-b1") for mib in (1, 2, 4, 8))
_SEEDS = 4_000_000_000  # of the first program: training draws below 2^32, most unlikely these
_BASE = "xla-like tuned"


def main(arguments: list[str] | None = None) -> None:
    """Write the rows to standard output, or sum up a file of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="number of the first generated program")
    parser.add_argument("--size", type=int, default=24, help="operations of a program")
    parser.add_argument("--traced", nargs="*", default=[], metavar="NAME-MIB", help="such as unet-b4-8, or PAIRS")
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
        made = _nothing(Path(folder) / "nothing.safetensors"), _shuffled(given.alphazero, Path(folder) / "shuffled.safetensors")
        numbers = range(given.first, given.first + given.programs)
        programs = {f"mixed-{given.size}-{k}": mixed(size=given.size, seed=_SEEDS + k) for k in numbers}
        for name in _PAIRS if given.traced == ["PAIRS"] else given.traced:
            program, _, size = name.rpartition("-")
            programs[name] = traced(program=program, fast_mib=float(size))
        for name, instance in programs.items():
            for row in _rows(instance, given, *made):
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


def _shuffled(policy: str, path: Path) -> str:
    """A checkpoint with the numbers of each tensor of a policy's in other places."""
    import torch

    from corl.networks.checkpoints import load_policy, save

    network, random = load_policy(policy), np.random.default_rng(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.from_numpy(random.permutation(parameter.numpy().ravel())).reshape(parameter.shape))
    save(path, network)
    return str(path)


def _rows(instance: MappingInstance, given: Any, nothing: str, shuffled: str) -> Iterator[dict[str, str]]:
    from corl.problems.memory.problem import Mapping
    from corl.solvers.generic.muzero import MuZero
    from corl.solvers.generic.policy import Policy
    from corl.solvers.generic.tree_search import TreeSearch
    from corl.solvers.memory.annealing.solver import Annealing
    from corl.solvers.memory.bounds import best_bound
    from corl.solvers.memory.constructions import XlaLike
    from corl.solvers.memory.priority.solver import LearnedPriority

    once: dict[str, Solver] = {
        _BASE: XlaLike(tuned=True),
        "AlphaZero, policy alone": Policy(given.alphazero, "greedy"),
        "MuZero, policy alone": Policy(given.muzero, "greedy"),
    }
    timed: dict[str, Solver] = {
        "AlphaZero, Gumbel search": TreeSearch(given.alphazero),
        "AlphaZero, PUCT": TreeSearch(given.alphazero, "puct"),
        "AlphaZero, beam": Policy(given.alphazero, "beam"),
        "AlphaZero, samples": Policy(given.alphazero, "sample"),
        "MuZero": MuZero(given.muzero),
        "shuffled, Gumbel search": TreeSearch(shuffled),
        "no network, Gumbel search": TreeSearch(nothing),
        "learned-priority": LearnedPriority(),
        "annealing": Annealing(),
    }
    bound = f"{best_bound(instance):.4f}"
    for limit, solvers in (("", once), (f"{given.seconds:g} s", timed)):
        for name, solver in solvers.items():
            solver.prepare(instance)
            run = ProcessorRun(Mapping(), instance, time_limit=given.seconds if limit else 1e6)
            run.start()
            solver.solve(instance, run)
            spent = run.elapsed
            assert run.objective is not None
            row = {"method": name, "limit": limit, "bound": bound}
            yield row | {"microseconds": f"{run.objective:.4f}", "seconds": f"{spent:.2f}"}


def _summary(rows: list[dict[str, str]]) -> Iterator[str]:
    """Mean percentage by which plans are slower than the tuned compiler-like ones, and by which the better of both is, with 95 %
    intervals over programs; and the bound's."""
    base = {row["program"]: float(row["microseconds"]) for row in rows if row["method"] == _BASE}
    yield "| programs | method | limit | slower than tuned xla-like, % | ahead, behind | the better of both | processor seconds |"
    yield "|---|---|---|---|---|---|---|"
    for kind in ("generated", "traced"):
        some = [row for row in rows if row["program"].startswith("mixed-") == (kind == "generated")]
        for limit, method in dict.fromkeys((row["limit"], row["method"]) for row in some):
            mine = [row for row in some if (row["limit"], row["method"]) == (limit, method)]
            slower = [100.0 * (float(row["microseconds"]) / base[row["program"]] - 1.0) for row in mine]
            counts = f"{sum(x < -0.01 for x in slower)}, {sum(x > 0.01 for x in slower)} of {len(slower)}"
            seconds = np.mean([float(row["seconds"]) for row in mine])
            both = _mean([min(x, 0.0) for x in slower])
            yield f"| {kind} | {method} | {limit} | {_mean(slower)} | {counts} | {both} | {seconds:.2f} |"
        bounds = [100.0 * (float(row["bound"]) / base[row["program"]] - 1.0) for row in some if row["method"] == _BASE]
        if bounds:
            yield f"| {kind} | bound | | {_mean(bounds)} | | | |"


def _mean(percent: list[float]) -> str:
    found = sample_mean(percent)
    if found.value is None:
        return ""
    return f"{found.value:+.2f}" + (f" +- {found.half:.2f}" if found.low is not None else "")


if __name__ == "__main__":
    main()
