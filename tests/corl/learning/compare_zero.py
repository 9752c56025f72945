"""MuZero beside AlphaZero on two small problems with known optima, after equal CPU time; no test, a script.

    python tests/corl/learning/compare_zero.py --seconds 60 --seeds 0 1 2 --output zero.csv

Each network is trained for so many CPU seconds of one thread, kernels compiled before, and then solves 128 fresh instances:
by its likeliest actions (decoder "greedy"), and by Gumbel search without noise at as many simulations as it was trained
with, in the environment ("simulator") or in its learned model ("model"). A row holds the mean gap to the optimum, and the
half width of its 95 % interval over the instances. At the end a table is printed: means over the seeds, lowest and highest.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from corl import registry
from corl.learning.episodes import Choice, record
from corl.learning.recipe import recipe_class
from corl.learning.session import Training
from corl.learning.source import Source
from corl.learning.validation import greedy
from corl.search.gumbel import Gumbel
from corl.search.models import SimulatorModel, rows_needed
from corl.statistics import sample_mean

SIZES = {"tsp": 10, "toy-knapsack": 12}
OPTIONS = {"alphazero": {"batch": 256}, "muzero": {"batch": 64}}  # 64 stretches of up to 6 moves each
INSTANCES = 128
COLUMNS = ["problem", "size", "recipe", "decoder", "simulations", "seed", "cpu_seconds", "steps", "gap_percent", "half_width"]


class CpuTraining(Training):
    """Seconds are those of this process's CPU, so that a busy machine does not matter; the network is kept, not written."""

    began = network = None

    @property
    def seconds(self):
        if self.began is None:
            self.began = time.process_time()
        return time.process_time() - self.began

    def save(self, network):
        self.network = network.eval()


def plug_in_knapsack():
    """Make the tests' toy problem one like any other; returns its module."""
    spec = importlib.util.spec_from_file_location("toy_knapsack", Path(__file__).with_name("toy_knapsack.py"))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.insert(0, str(module.install(Path(tempfile.mkdtemp()))))
    return module


def optima(problem, instances, knapsack):
    """The optimal objectives [E]."""
    if problem.name == knapsack.NAME:
        return np.array([knapsack.best(instance) for instance in instances])
    from corl.problems.tsp.metric import metric_of
    from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

    return np.array([problem.evaluate(given, shortest_tour(metric_of(given), given.n)) for given in instances])


def searched(problem, instances, network, simulations, learned):
    """The objectives [E] by search without noise, in the learned model or in the environment."""
    from corl.learning.algorithms.muzero import search_latent

    rows, search = np.arange(len(instances)), Gumbel(simulations, considered=8, noise=0.0)
    environment = problem.environment(instances, rows_needed(len(rows), simulations))
    model = SimulatorModel(environment, network.on(environment), first=len(rows))

    def choose(turn, seen):
        keys = np.zeros(len(turn.rows), np.uint64)
        if learned:
            return search_latent(network, search, seen, turn.actions, keys)
        found = search.search(model, turn.rows, keys)
        return Choice((turn.actions == found.action[:, None]).argmax(axis=1), found.policy, found.value)

    found = record(network, environment, rows, environment.reset(rows, rows), choose).objective
    return found if problem.sense == "max" else -found


def compared(problem, recipe_name, seed, seconds, knapsack):
    """Train one network and yield (decoder, simulations, objectives, training)."""
    recipe = recipe_class(problem.name, recipe_name)(size=SIZES[problem.name], watch=0, simulations=16, **OPTIONS[recipe_name])
    torch.manual_seed(seed)
    recipe.train(CpuTraining(problem, seed=seed, device="cpu", steps=1))  # compiles
    torch.manual_seed(seed)
    training = CpuTraining(problem, seed=seed, device="cpu", time_limit=seconds)
    recipe.train(training)
    network, simulations = training.network, recipe.simulations
    instances = Source(problem, "", [recipe.size], 10_000).instances(0, INSTANCES)
    best = optima(problem, instances, knapsack)
    results = [("greedy", 0, greedy(problem, instances, network))]
    results.append(("simulator", simulations, searched(problem, instances, network, simulations, learned=False)))
    if recipe_name == "muzero":
        results.append(("model", simulations, searched(problem, instances, network, simulations, learned=True)))
    for decoder, count, objectives in results:
        gaps = 100.0 * np.abs(objectives - best) / best
        row = [problem.name, recipe.size, recipe_name, decoder, count, seed, seconds, training.step, f"{gaps.mean():.3f}"]
        yield [*row, f"{sample_mean(gaps).half:.3f}"]


def table(rows):
    """Markdown: a line for each recipe and decoder, a column for each problem."""
    found = {}
    for row in rows:
        fields = dict(zip(COLUMNS, row))
        cells = found.setdefault((fields["recipe"], fields["decoder"]), {})
        cells.setdefault(fields["problem"], []).append(float(fields["gap_percent"]))
    names = sorted({name for cells in found.values() for name in cells}, reverse=True)
    lines = ["| gap to the optimum | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for (recipe, decoder), cells in found.items():
        texts = [f"{np.mean(v):.2f} % ({min(v):.2f} to {max(v):.2f})" for v in (cells.get(name, [np.nan]) for name in names)]
        lines.append(f"| {recipe}, {decoder} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds of each training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--problems", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--output", type=Path, default=Path("zero.csv"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    knapsack = plug_in_knapsack()
    rows = []
    with open(args.output, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for seed in args.seeds:
            for problem in map(registry.problem, args.problems):
                for recipe in ("alphazero", "muzero"):
                    for row in compared(problem, recipe, seed, args.seconds, knapsack):
                        writer.writerow(row)
                        file.flush()
                        print(*row, flush=True)
                        rows.append(row)
    print(table(rows))


if __name__ == "__main__":
    main()
