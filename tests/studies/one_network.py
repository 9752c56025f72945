"""How well one network plays every task it learned: `python tests/studies/one_network.py [TASK ...]`.

128 instances a task of the learning literature's sizes and generators, with seeds from FIRST up, which were chosen before
any result of the network and looked at once. The network is decoded greedily, and beside it on the same instances what else there
is: the shipped policy of the one problem, and the best rule. Each row is a line of CSV: task, method, mean gap to our best solver
with its bootstrap interval, and the same of what the network is above the method, instance by instance.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from best_known import best_known
from numpy.typing import NDArray
from routing_policies import RULES, Linear, gaps, objectives, solved
from tsp_atsp_table import Rule

import corl
from corl import registry
from corl.benchmark.reporting.statistics import resampled_mean
from corl.networks.checkpoints import load_policy

__all__ = ["TASKS", "fresh"]

FIRST = 4_470_000_000
"""The first seed of the instances; training draws its seeds below 2**32 at random, above which these lie."""
COUNT = 128
TASKS: dict[str, tuple[str, str, dict[str, Any], str, int, tuple[str, ...]]] = {
    "tsp100": ("tsp", "uniform", {"size": 100, "edge_weight_type": "EXACT_2D"}, "eax", 3000, ("tsp-bq",)),
    "atsp100": ("tsp", "asymmetric", {"size": 100}, "ils", 6000, ("atsp-bq", "least estimate")),
    "cvrp100": ("vrp", "uniform", {"size": 100}, "ruin-recreate", 60_000, ("rule",)),
    "op100": ("orienteering", "distance", {"size": 100}, "ruin-recreate", 100_000, ("rule",)),
    "kp100": ("knapsack", "unit", {"size": 100, "capacity": 25.0}, "dp", 100_000, ("knapsack-bq", "rule")),
    "jsp10x10": ("jobshop", "taillard", {"jobs": 10, "machines": 10}, "tabu", 20_000, ("cp-agent", "slim", "FDD/MWKR")),
    "jsp15x15": ("jobshop", "taillard", {"jobs": 15, "machines": 15}, "tabu", 20_000, ("cp-agent", "slim", "FDD/MWKR")),
}
"""Problem, generator, its options, the best solver, its iterations, and what the network is held against."""
SOLVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "cp-agent": ("cp-agent", {"schedules": 1}),
    "slim": ("slim", {"samples": 1}),
    "FDD/MWKR": ("dispatch", {"rule": "fdd/mwkr"}),
}
"""Methods that are solvers: one schedule, without search."""
FIELDS = ("task", "method", "instances", "mean_gap", "low", "high", "network_above", "above_low", "above_high")


class _TspRule(Rule):
    problem = "tsp"


def fresh(task: str, count: int = COUNT) -> list[Any]:
    """The first `count` instances of a task."""
    problem, generator, options, *_ = TASKS[task]
    make = registry.problem(problem).generators[generator]
    return [make(**options, seed=FIRST + k) for k in range(count)]


def best(task: str, instances: list[Any], known: Path | None) -> NDArray[np.float64]:
    """The best solver's objectives, float64 [I]; kept in and taken from the CSV file `known`, where given."""
    problem, _, _, solver, iterations, _ = TASKS[task]
    names, source = [f"{task}-{k}" for k in range(len(instances))], f"corl {solver} iterations={iterations} seed=1"
    return best_known(names, lambda k: float(solved(problem, solver, iterations, [instances[k]])[0]), source, known)


def _method(name: str, problem: str) -> Callable[[list[Any]], NDArray[np.float64]]:
    """Instances -> their objectives, float64 [I]."""
    if name in SOLVERS:
        solver, options = SOLVERS[name]
        return lambda instances: np.array(
            [corl.solve(one, solver=solver, iterations=1, seed=1, **options).objective for one in instances], np.float64
        )
    if name == "rule":
        policy: Any = Linear(problem, np.array(json.loads(RULES.read_text())[problem]))
    else:
        policy = _TspRule(name) if name == "least estimate" else load_policy(name)
    return partial(objectives, policy, decoder="greedy")


def main() -> None:
    """Measure the tasks asked for, or all."""
    import torch

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", default=list(TASKS))
    parser.add_argument("--policy", default="one", help="a shipped policy's name or a checkpoint file; none: references alone")
    parser.add_argument("--reference", type=Path, help="CSV file that keeps the best solver's objectives")
    args = parser.parse_intermixed_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    for task in args.tasks:
        instances, problem = fresh(task), TASKS[task][0]
        known = best(task, instances, args.reference)
        if args.policy == "none":
            continue
        network = load_policy(args.policy, problem, instances[0])
        mine = gaps(problem, objectives(network, instances, "greedy"), known)
        for method in (Path(args.policy).stem, *TASKS[task][-1]):
            over = mine if method == Path(args.policy).stem else gaps(problem, _method(method, problem)(instances), known)
            mean, above = resampled_mean(over), resampled_mean(mine - over)
            numbers = (mean.value, mean.low, mean.high, above.value, above.low, above.high)
            writer.writerow([task, method, len(over), *("" if value is None else f"{value:.6f}" for value in numbers)])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
