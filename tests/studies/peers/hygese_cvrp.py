"""HGS-CVRP through hygese: `python hygese_cvrp.py INSTANCE.vrp SOLUTION.sol SECONDS SEED`, in an environment with hygese."""

from __future__ import annotations

import sys

import cvrplib
import hygese
import numpy as np


def main() -> None:
    """The command above; the limit is of the processor."""
    file, solution, limit, seed = sys.argv[1:]
    given = cvrplib.read(file)
    data = {
        "distance_matrix": np.array(given.distances(), float),
        "x_coordinates": given.x,
        "y_coordinates": given.y,
        "demands": given.demand,
        "service_times": [0.0] * len(given.x),
        "vehicle_capacity": given.capacity,
        "depot": 0,
    }
    parameters = hygese.AlgorithmParameters(timeLimit=float(limit), seed=int(seed), nbIter=10**9)
    cvrplib.write(hygese.Solver(parameters, verbose=False).solve_cvrp(data).routes, solution)


if __name__ == "__main__":
    main()
