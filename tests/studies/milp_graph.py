"""Do graphs help? `python tests/studies/milp_graph.py --output FOLDER`: three networks, the same lessons, fresh programs.

The perceptron of `milp.branching` and `milp.gcnn` learn from the same labelled nodes of generated auctions; then
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
from run_table import RunTable, rows_of

from corl.statistics import sample_mean

__all__ = ["interval", "main", "ratio", "share"]

_NAMES = ("perceptron", "gcnn")
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


class _Eyes:
    """What several networks see of the same nodes, each under its own names."""

    def __init__(self, networks: list[Any]) -> None:
        self.networks = networks

    def context(self, node: Any) -> dict[str, Any]:
        return {name: array for network in self.networks for name, array in network.context(node).items()}

    def observe(self, node: Any, slots: Any) -> dict[str, Any]:
        return {name: array for network in self.networks for name, array in network.observe(node, slots).items()}


def _learn(folder: Path, given: argparse.Namespace) -> None:
    """Collect once, train all three, write checkpoints and agreements."""
    import torch

    from corl.learning.algorithms.imitation import loss
    from corl.learning.optimise import gradient_step
    from corl.networks.checkpoints import save
    from corl.problems.milp.generators import auctions
    from corl.problems.milp.problem import Milp
    from corl.run import Run
    from corl.solvers.milp.branching.network import BranchingNetwork
    from corl.solvers.milp.graph.networks import GcnnNetwork
    from corl.solvers.milp.graph.recipe import GcnnRecipe
    from corl.solvers.milp.imitation.lessons import Lessons, agrees, choices
    from corl.solvers.milp.imitation.recipe import SEEDS
    from corl.solvers.milp.scip import functions as scip

    assert scip.load()
    kinds: tuple[Callable[..., Any], ...] = (BranchingNetwork, GcnnNetwork)
    recipe, lessons = GcnnRecipe(), Lessons(12 * given.programs, 4)
    eyes = _Eyes([kind() for kind in kinds])
    while len(lessons.signatures) < given.programs:
        instance = auctions(seed=SEEDS + len(lessons.signatures))
        run = Run(Milp().with_sense_of(instance), instance, seed=len(lessons.signatures))
        run.start()
        lessons.add(instance, recipe.labelled(instance, run, eyes))
        print(f"{len(lessons.signatures)} programs, {lessons.nodes} nodes", flush=True)
    with (folder / "gnn-accuracy.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["network", "training_nodes", "held_out_nodes", "agrees", "low", "high"])
        for name, kind in zip(_NAMES, kinds):
            torch.manual_seed(0)
            network, random = kind(family="auctions"), np.random.default_rng(0)
            lessons.begin(network)
            lessons.describe(network)
            optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.05)
            for update in range(given.updates):
                found_loss, _ = loss(network, lessons.sample(network, random, 8))
                gradient_step(optimiser, found_loss, 3e-3, update / given.updates, clip=math.inf)
            found = [round(x, 3) for x in share(agrees(*choices(network, lessons.held(network))).tolist())]
            writer.writerow([name, lessons.train.size, lessons.others.size, *found])
            print(name, lessons.others.size, *found, flush=True)
            save(folder / f"{name}.safetensors", network.eval(), {})


def _solve(folder: Path, given: argparse.Namespace) -> None:
    """Fresh auctions by all three, in turns."""
    from milp_comparison import FAMILIES, solve_timed

    from corl.solvers.milp.branching.solver import LearnedBranching

    table = RunTable(folder / "gnn.csv", _FIELDS, ("network", "instance"))
    for seed in range(given.instances):
        instance = FAMILIES["auctions"](seed)
        for name in _NAMES:
            if table.has(name, instance.name):
                continue
            solver = LearnedBranching(root_cuts=True, policy=str(folder / f"{name}.safetensors"))
            line: dict[str, Any] = {"network": name, "instance": instance.name, "seed": 0}
            table.append(line | solve_timed(solver, instance, 0, given.time_limit))


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
    rows = rows_of(given.output / "gnn.csv")
    for name in _NAMES[1:]:
        for field, shift in (("seconds", 1.0), ("after_root", 1.0), ("nodes", 10.0)):
            print(f"{name} / perceptron, {field}: {' '.join(f'{x:.2f}' for x in ratio(rows, name, field, shift))}")


if __name__ == "__main__":
    main()
