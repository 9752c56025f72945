"""How much a Gumbel search should believe its values: `python tests/studies/value_scale.py [TASK ...] [--count N]`.

For each of TASKS and value scale: how far the solutions that a search of 16 simulations a step finds with the shipped policy are
above those of the policy alone, in %, on the same instances of the split "choose", with the bootstrap interval of the mean.
"""

from __future__ import annotations

import argparse
import csv
import sys

from learning_splits import GENERATED, instances

from corl import registry
from corl.decoding import CountedEvaluator, Planning, decode
from corl.learning.validation import greedy
from corl.networks.checkpoints import load_policy
from corl.search.gumbel import Gumbel
from corl.statistics import resampled_mean

__all__ = ["TASKS", "main"]

TASKS = {"tsp": ("tsp-bq", 100), "atsp": ("atsp-bq", 60), "memory": ("memory-alphazero", 20)}
"""Policy, and the size of the instances."""
SCALES = (0.0, 0.003, 0.01, 0.03, 0.1)
FIELDS = ("task", "value_scale", "instances", "above_greedy", "low", "high")
_SIMULATIONS = 16


def main() -> None:
    """Measure the tasks asked for, or all."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS), choices=list(TASKS), metavar="TASK")
    parser.add_argument("--count", type=int, default=24)
    args = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    for task in args.tasks:
        (name, size), problem = TASKS[task], registry.problem(GENERATED[task][0])
        policy, some = load_policy(name), instances(task, "choose", args.count, size)
        alone = greedy(problem, some, policy)
        for scale in SCALES:
            search = Gumbel(_SIMULATIONS, noise=0.0, value_scale=scale)
            pool = problem.environment(some, (_SIMULATIONS + 2) * len(some), name=policy.environment)
            found, decoded = np.empty(len(some)), decode(Planning(search), CountedEvaluator(pool, policy), range(len(some)))
            found[decoded.entry] = decoded.total
            objective = found if problem.sense == "max" else -found
            worse = resampled_mean(100.0 * (objective / alone - 1.0) * (1.0 if problem.sense == "min" else -1.0))
            numbers = ["" if value is None else f"{value:.3f}" for value in (worse.value, worse.low, worse.high)]
            writer.writerow([task, scale, len(some), *numbers])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
