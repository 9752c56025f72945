"""How far the policy's schedules are above the best known: `python tests/studies/jobshop_slim.py [GROUP ...]`.

A group is JOBSxMACHINES of Taillard's instances (15x15 ... 100x20, ten of each); none of them was trained or tuned on. Beside
the policy stand the rule FDD/MWKR, once, and as often randomised as the policy samples. The lines
(instances/jobshop/results/slim.csv) have the mean gap in per cent with its 95 % interval over instances, and seconds of
processor time an instance.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.problem import JobShop
from corl.run import Run
from corl.solver import Solver
from corl.solvers.jobshop.dispatch.solver import Dispatch
from corl.solvers.jobshop.slim.solver import Slim
from corl.statistics import resampled_mean

__all__ = ["FIELDS", "GROUPS", "NOISE", "line", "main", "taillard_group", "values"]

GROUPS = ("15x15", "20x15", "20x20", "30x15", "30x20", "50x15", "50x20", "100x20")
"""Of ta01-ta10, ta11-ta20, ..., ta71-ta80."""
NOISE = 0.5
"""Of the randomised rule: the best of 0.05 to 1 on generated instances (`--tune`)."""
FIELDS = ("group", "method", "schedules", "instances", "mean_gap", "low", "high", "seconds")


def values(solver: Solver, instance: JobShopInstance, iterations: int, seed: int) -> tuple[float, float]:
    """The makespans of the first schedule and of the best."""
    run = Run(JobShop(), instance, iterations=iterations, seed=seed)
    solver.solve(instance, run)
    first = next(objective for _, objective, _ in run.trace if objective is not None)
    assert run.objective is not None and first is not None
    return first, run.objective


def taillard_group(group: str) -> tuple[list[JobShopInstance], NDArray[np.float64]]:
    """The ten instances of a group and their best known makespans."""
    folder = Path(str(resources.files("corl.instances"))) / "jobshop"
    with (folder / "reference.csv").open(newline="") as file:
        known = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
    names = [f"ta{10 * GROUPS.index(group) + i:02}" for i in range(1, 11)]
    return [JobShop().read(folder / f"{name}.json") for name in names], np.array([known[name] for name in names])


def line(group: str, method: str, schedules: int, gaps: NDArray[np.float64], seconds: float) -> list[object]:
    """A line of the table; seconds: of processor time, an instance."""
    mean = resampled_mean(gaps)
    numbers = ("" if number is None else f"{100.0 * number:.2f}" for number in (mean.value, mean.low, mean.high))
    return [group, method, schedules, len(gaps), *numbers, f"{seconds:.2f}"]


def _tune() -> None:
    """Print the mean best makespan of 128 schedules of the rule for some amounts of noise, on 40 generated instances."""
    from corl.problems.jobshop.generators import taillard

    shapes = [(15, 15), (20, 15), (30, 20), (50, 20)]
    instances = [taillard(jobs=j, machines=m, seed=1_000_000 + i) for j, m in shapes for i in range(10)]
    for noise in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0):
        solver = Dispatch(rule="fdd/mwkr", noise=noise)
        print(noise, np.mean([np.log(values(solver, instance, 128, 0)[1]) for instance in instances]), flush=True)


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--policy", default="", help="a checkpoint; the shipped network by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tune", action="store_true", help="look for the rule's best noise on generated instances instead")
    given = parser.parse_args()
    if given.tune:
        _tune()
        return
    methods: dict[str, Solver] = {
        "slim": Slim(policy=given.policy or "jobshop-slim", width=given.samples - 1, temperature=given.temperature),
        "fdd/mwkr": Dispatch(rule="fdd/mwkr", noise=NOISE),
    }
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    every: dict[tuple[str, int], list[float]] = {}
    for group in given.groups:
        instances, best = taillard_group(group)
        for method, solver in methods.items():
            solver.prepare(instances[0])
            began = time.process_time()
            units = {"slim": instances[0].operations}.get(method, 1)  # of a schedule
            found = np.array([values(solver, instance, given.samples * units, given.seed) for instance in instances])
            seconds = (time.process_time() - began) / len(instances)
            for column, schedules in enumerate((1, given.samples)):
                gaps = found[:, column] / best - 1.0
                every.setdefault((method, schedules), []).extend(gaps)
                writer.writerow(line(group, method, schedules, gaps, seconds if column else seconds / given.samples))
            sys.stdout.flush()
    for (method, schedules), of_all in every.items():
        writer.writerow(line("all", method, schedules, np.array(of_all), 0.0)[:-1])


if __name__ == "__main__":
    main()
