"""P(k): half the probability that a city's k-th nearest is its neighbour in an optimal tour, counted on tours of our own eax.

python tests/studies/tsp_heatmap_prior.py --size 500 --instances 200

It prints NEAREST of corl/solvers/tsp/heatmap/heatmap.py.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

__all__ = ["counted", "main"]


def counted(size: int, instances: int, entries: int = 20) -> NDArray[np.float64]:
    """P(1) .. P(entries) from the tours of so many uniform instances, float64; what is further away is left out."""
    from corl.problems.tsp.generators import uniform
    from corl.problems.tsp.metric import metric_of
    from corl.problems.tsp.problem import Tsp
    from corl.registry import solver
    from corl.run import Run
    from corl.solvers.tsp.neighbours.candidates import neighbours

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
