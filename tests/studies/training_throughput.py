"""What a state costs in training: `python tests/studies/training_throughput.py [--rows FILE] [NAME ...]`

A run is one of RUNS, trained in this process alone (workers=0, torch on one thread) on a fixed number of steps; its line of CSV
has the states learned from, processor seconds and states a second, after a warm-up whose kernels and caches are not counted, and
the last loss and greedy objective, so that two versions can be compared at equal loss: the same steps of the same seed.
With --two, a label worker and the trainer run beside each other, and the line has the processor seconds of both: what two cores
can gain at the most is their sum divided by the larger.
"""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import corl
from corl import registry
from corl.learning.session import Training
from corl.learning.source import Source
from corl.learning.validation import greedy

__all__ = ["RUNS", "Measured", "Run", "measure"]

_WATCHED = 64  # instances that the trained policy solves in the end


class Run(NamedTuple):
    """A recipe with options, and how long it is measured."""

    problem: str
    recipe: str
    options: dict[str, Any]
    states: int
    """Learned from in a step."""
    warm: int
    """Steps before the clock starts: a multiple of what a recipe does in turns."""
    steps: int
    size: int
    """Of the instances that are solved in the end."""


class Measured(NamedTuple):
    """A line of the CSV."""

    run: str
    states: int
    seconds: float
    a_second: float
    worker: float
    """Processor seconds of the label worker, 0 without one, its imports among them."""
    loss: float
    greedy: float


def _policy_gradient(size: int, batch: int, steps: int) -> Run:
    options = {"size": size, "batch": batch, "samples": 8, "features": "plane", "layers": 3, "watch": 0}
    return Run("tsp", "policy-gradient", options, batch * 8 * (size - 2), 1, steps, size)


RUNS = {
    "policy-gradient tsp 20": _policy_gradient(20, 32, 4),
    "policy-gradient tsp 100": _policy_gradient(100, 8, 3),
    "alphazero tsp 20": Run("tsp", "alphazero", {"size": 20, "features": "plane", "watch": 0}, 256, 16, 32, 20),
    "imitation tsp bq": Run("tsp", "bq", {"watch": 0}, 128, 112, 336, 100),
    "imitation vrp 100": Run(
        "vrp",
        "imitation",
        {"size": 100, "teacher": "ruin-recreate", "teacher_iterations": 6000, "completing": True, "batch": 2, "states": 64}
        | {"lesson": 16, "features": "savings", "environment": "savings", "watch": 0},
        128,
        32,
        96,
        100,
    ),
}


def measure(name: str, seed: int, workers: int) -> Measured:
    """Train a run and solve instances by what it learned."""
    run, begun = RUNS[name], [time.process_time()]

    def watch(training: Training) -> None:
        if training.step == run.warm - 1:
            begun.append(time.process_time())

    steps = run.warm + run.steps
    limits: dict[str, Any] = {"seed": seed, "workers": workers, "device": "cpu", "steps": steps}
    trained = corl.train(run.problem, run.recipe, **limits, on_progress=watch, **run.options)
    seconds = time.process_time() - begun[-1]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    problem = registry.problem(run.problem)
    source = Source(problem, run.options.get("generator", ""), (run.size,), seed=12)
    score = float(np.mean(greedy(problem, source.instances(0, _WATCHED), trained.network)))  # type: ignore[arg-type]
    states = run.states * run.steps
    worker = children.ru_utime + children.ru_stime if workers else 0.0
    return Measured(name, states, round(seconds, 2), round(states / seconds), round(worker, 2), trained.metrics["loss"], score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--rows", type=Path, help="append the lines to this CSV")
    parser.add_argument("--version", default="", help="the first column of the lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--two", action="store_true", help="with a label worker beside the trainer")
    parser.add_argument("names", metavar="NAME", nargs="*", help="runs; default: all")
    args = parser.parse_args()
    fresh = args.rows is None or not args.rows.exists()
    with args.rows.open("a", newline="") if args.rows else sys.stdout as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if fresh:
            writer.writerow(["version", "seed", *Measured._fields])
        for name in args.names or RUNS:
            row = measure(name, args.seed, int(args.two))
            writer.writerow([args.version, args.seed, *row[:-2], f"{row.loss:.4f}", f"{row.greedy:.4f}"])
            stream.flush()


if __name__ == "__main__":
    main()
