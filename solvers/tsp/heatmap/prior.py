"""P(k): how likely a city's k-th nearest is its neighbour in an optimal tour, counted on tours of our own eax.

python -m corl.solvers.tsp.heatmap.prior --size 500 --instances 200
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

__all__ = ["NEAREST", "counted", "main"]

# The command above, seeds 0..199, eax with 10 iterations a city (within 0.03 % of the best tour known, on 6 instances).
NEAREST = (
    0.44275, 0.25413, 0.13443, 0.07213, 0.04002, 0.02313, 0.01342, 0.00772, 0.00463, 0.00291,
    0.00185, 0.00113, 0.00064, 0.00040, 0.00025, 0.00015, 0.00008, 0.00006, 0.00005, 0.00003,
)  # fmt: skip
"""P(1), P(2), ... as in Pan et al. (2024), for uniform cities; their .442 .256 .134 .071 .041 .024 .013 .008 .0045 agree."""


def counted(size: int, instances: int, entries: int = 20) -> NDArray[np.float64]:
    """P(1) .. P(entries) from the tours of so many uniform instances, float64; what is further away is left out."""
    from corl.problems.tsp.generators import uniform
    from corl.problems.tsp.metric import metric_of
    from corl.problems.tsp.problem import Tsp
    from corl.registry import solver
    from corl.run import Run
    from corl.solvers.tsp.candidates import neighbours

    teacher, count = solver("tsp", "eax")(), np.zeros(entries)
    for seed in range(instances):
        instance = uniform(size=size, edge_weight_type="EXACT_2D", seed=seed)
        run = Run(Tsp(), instance, iterations=10 * size, seed=seed)
        teacher.solve(instance, run)
        near, _ = neighbours(instance, metric_of(instance), entries)
        before, after = np.empty(size, np.int32), np.empty(size, np.int32)
        before[run.solution], after[run.solution] = np.roll(run.solution, 1), np.roll(run.solution, -1)
        count += ((near == before[:, None]) | (near == after[:, None])).sum(0)
    return count / (2.0 * size * instances)


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--instances", type=int, default=200)
    given = parser.parse_args()
    print(", ".join(f"{p:.5f}" for p in counted(given.size, given.instances)))


if __name__ == "__main__":
    main()
