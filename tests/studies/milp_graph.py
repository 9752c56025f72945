"""Do graphs help? `python tests/studies/milp_graph.py --output FOLDER`: three networks, the same lessons, fresh programs.

The perceptron of `milp.branching`, `milp.root-gnn` and `milp.gcnn` learn from the same labelled nodes of generated auctions; then
each branches on the same fresh ones, by processor time, its evaluation inside the clock. FOLDER gets gnn.csv (a line a solve),
gnn-accuracy.csv (agreement with strong branching on held-out programs) and the three checkpoints; lines that are there are kept.
The tables are in instances/milp/results.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corl.benchmark.reporting.statistics import sample_mean

__all__ = ["interval", "main", "ratio", "share"]

_NAMES = ("perceptron", "root-gnn", "gcnn")
_FIELDS = (
    "network", "instance", "seed", "status", "objective", "seconds", "after_root", "nodes", "lp_iterations", "strong_iterations",
)  # fmt: skip


def share(agrees: list[bool]) -> tuple[float, float, float]:
    """(share of True, lower, upper): Wilson's interval at 95 %, as if nodes were independent."""
    from scipy.stats import binomtest

    found = binomtest(sum(agrees), len(agrees))
    interval = found.proportion_ci(0.95, "wilson")
    return float(found.statistic), float(interval.low), float(interval.high)


def interval(logs: list[float]) -> tuple[float, float, float]:
    """(geometric mean, lower, upper) of ratios given as logarithms: Student's interval at 95 %, from two on."""
    found = sample_mean(logs)
    assert found.value is not None and found.low is not None and found.high is not None
    return math.exp(found.value), math.exp(found.low), math.exp(found.high)


def ratio(rows: list[dict[str, str]], network: str, field: str, shift: float) -> tuple[float, float, float]:
    """`interval` of (field + shift) of a network / the perceptron's, over the programs that both solved."""
    known = {(row["network"], row["instance"], row["seed"]): float(row[field]) for row in rows if row["status"] == "optimal"}
    pairs = [(value, known.get(("perceptron", *key[1:]))) for key, value in known.items() if key[0] == network]
    return interval([math.log((mine + shift) / (theirs + shift)) for mine, theirs in pairs if theirs is not None])


def _learn(folder: Path, given: argparse.Namespace) -> None:
    """Collect once, train all three, write checkpoints and agreements."""
    import torch

    from corl.learning.session import Training
    from corl.networks.checkpoints import save
    from corl.problems.milp.generators import auctions
    from corl.problems.milp.problem import Milp
    from corl.solvers.milp.branching.network import BranchingNetwork
    from corl.solvers.milp.graph.networks import GcnnNetwork, RootGnnNetwork
    from corl.solvers.milp.graph.pupil import GraphPupil, Network, agreement
    from corl.solvers.milp.graph.recipe import GcnnRecipe
    from corl.solvers.milp.imitation.recipe import SEEDS, collect

    training = Training(Milp(), device="cpu", workers=0, steps=1)
    teaching = GraphPupil(GcnnNetwork(), lambda number: auctions(seed=SEEDS + number), 4)
    lessons = teaching.lessons
    while lessons.programs < given.programs:
        instance = teaching.program(lessons.programs)
        lessons.add(instance, collect(GcnnRecipe(), training, teaching, instance))
        print(f"{lessons.programs} programs, {lessons.nodes} nodes", flush=True)
    with (folder / "gnn-accuracy.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["network", "training_nodes", "held_out_nodes", "agrees", "low", "high"])
        kinds: tuple[Callable[..., Network], ...] = (BranchingNetwork, RootGnnNetwork, GcnnNetwork)
        for name, kind in zip(_NAMES, kinds):
            torch.manual_seed(0)
            network, random = kind(family="auctions"), np.random.default_rng(0)
            network.config |= lessons.range()
            pupil = GraphPupil(network, teaching.program, 4)
            pupil.begin(lessons.ready())
            optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.05)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, given.updates)
            for _ in range(given.updates):
                loss = pupil.loss([lessons.train[int(k)] for k in random.integers(len(lessons.train), size=8)])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                schedule.step()
            found = [round(x, 3) for x in share(agreement(network, lessons.held))]
            writer.writerow([name, len(lessons.train), len(lessons.held), *found])
            print(name, len(lessons.held), *found, flush=True)
            save(folder / f"{name}.safetensors", network.eval(), {})


def _solve(folder: Path, given: argparse.Namespace) -> None:
    """Fresh auctions by all three, in turns."""
    from milp_comparison import FAMILIES, solve_timed

    from corl.solvers.milp.branching.solver import LearnedBranching

    path = folder / "gnn.csv"
    done = {(row["network"], row["instance"]) for row in _rows(path)}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, _FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for seed in range(given.instances):
            instance = FAMILIES["auctions"](seed)
            for name in _NAMES:
                if (name, instance.name) in done:
                    continue
                solver = LearnedBranching(root_cuts=True, policy=str(folder / f"{name}.safetensors"))
                line: dict[str, Any] = {"network": name, "instance": instance.name, "seed": 0}
                writer.writerow(line | solve_timed(solver, instance, 0, given.time_limit))
                file.flush()


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--programs", type=int, default=12, help="to learn from; a quarter of them is held out")
    parser.add_argument("--updates", type=int, default=300, help="optimiser steps of each network")
    parser.add_argument("--instances", type=int, default=6, help="fresh auctions to solve")
    parser.add_argument("--time-limit", type=float, default=None, help="wall seconds of one solve; what ends so is left out")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    if not all((given.output / f"{name}.safetensors").exists() for name in _NAMES):
        _learn(given.output, given)
    _solve(given.output, given)
    rows = _rows(given.output / "gnn.csv")
    for name in _NAMES[1:]:
        for field, shift in (("seconds", 1.0), ("after_root", 1.0), ("nodes", 10.0)):
            print(f"{name} / perceptron, {field}: {' '.join(f'{x:.2f}' for x in ratio(rows, name, field, shift))}")


if __name__ == "__main__":
    main()
