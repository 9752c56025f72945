"""Find numbers for a preset: random configurations, halved again and again, on instances made for it.

python tests/studies/tsp_heatmap_tuning.py --heatmap nearest

It prints numbers for TUNED of corl/solvers/tsp/heatmap/presets.py.

Every configuration of a round solves the same new instances (uniform, of both sizes in turn, from seeds that no test set
uses); the worse half goes, and the next round has twice as many instances: every round costs the same. The clock is the
process's own processor time, so that a busy machine tunes as an idle one does. What is compared is the mean over instances
of the length over the best length that any configuration found.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from processor_run import ProcessorRun

from corl.problems.tsp.generators import uniform
from corl.problems.tsp.problem import Tsp
from corl.solvers.tsp.heatmap.solver import HeatmapMcts

__all__ = ["halve", "main", "random_options"]

_FIRST_SEED = 70_000  # of the instances


def random_options(random: np.random.Generator, heatmap: str, preset: str) -> dict[str, Any]:
    """Options of HeatmapMcts drawn at random over what may make sense."""
    options: dict[str, Any] = {
        "preset": preset,
        "heatmap": heatmap,
        "alpha": float(random.choice([0.0, 0.0, 0.3, 1.0])),
        "beta": float(random.choice([0.0, 1.0, 10.0, 100.0])),
        "tries": int(np.exp(random.uniform(np.log(1), np.log(13)))),
        "candidates": int(random.integers(4, 9)),
        "depth": int(random.choice([3, 4, 6, 9, 14, 25] if preset == "tuned" else [10, 25, 50, 100, 200])),
    }
    if preset == "tuned":
        options["stretch"] = int(np.exp(random.uniform(np.log(5), np.log(61))))
    if heatmap == "softmax":  # from a stream of its own, so that all heatmaps are tuned over the same configurations
        options["temperature"] = round(float(np.exp(random.spawn(1)[0].uniform(np.log(0.15), np.log(1.5)))), 2)
    return options


def halve(
    configurations: list[dict[str, Any]], sizes: list[int], instances: int, seconds: float, seed: int
) -> list[tuple[float, dict[str, Any]]]:
    """Rounds of halving, down to three: (mean excess in per cent, options) of the last round, best first.

    instances: in the first round. seconds: of a run, for every 500 cities.
    """
    number = seed
    while True:
        lengths = np.empty((len(configurations), instances))
        for column in range(instances):
            size = sizes[number % len(sizes)]
            instance = uniform(size=size, edge_weight_type="EXACT_2D", seed=_FIRST_SEED + number)
            number += 1
            for row, options in enumerate(configurations):
                solver = HeatmapMcts(**options)
                if not column:
                    solver.prepare(instance)
                run = ProcessorRun(Tsp(), instance, time_limit=seconds * size / 500, seed=number)
                run.start()
                solver.solve(instance, run)
                assert run.objective is not None
                lengths[row, column] = run.objective
        excess = 100.0 * (lengths / lengths.min(0) - 1.0).mean(1)
        order = np.argsort(excess, kind="stable")
        for row in order[: max(3, len(order) // 4)]:
            print(f"{instances} instances: {excess[row]:.4f} %  {json.dumps(configurations[row])}", flush=True)
        ranked = [(float(excess[row]), configurations[row]) for row in order]
        if len(ranked) <= 3:
            return ranked
        configurations, instances = [options for _, options in ranked[: (len(ranked) + 1) // 2]], 2 * instances


def main() -> None:
    """The command above: print the rounds and the options that are left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=("tuned", "paper"), default="tuned")
    parser.add_argument("--heatmap", choices=("gnn", "nearest", "softmax", "none"), required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--configurations", type=int, default=12)
    parser.add_argument("--instances", type=int, default=2, help="in the first round")
    parser.add_argument("--seconds", type=float, default=1.5, help="of a run, for every 500 cities")
    parser.add_argument("--seed", type=int, default=0, help="of the configurations; instances go on from it too")
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    drawn = [random_options(random, given.heatmap, given.preset) for _ in range(given.configurations)]
    print(json.dumps(halve(drawn, given.sizes, given.instances, given.seconds, given.seed)[0]))


if __name__ == "__main__":
    main()
