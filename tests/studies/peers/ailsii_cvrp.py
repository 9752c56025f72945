"""AILS-II: `python ailsii_cvrp.py INSTANCE.vrp SOLUTION.sol SECONDS`, in an environment with ailsii, with Java.

It has no seed, rounds distances, and its limit is of the wall clock.
"""

from __future__ import annotations

import sys

import ailsii
import cvrplib

_JVM = ["-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", "-Xmx8g"]  # one processor, also for the collector


def main() -> None:
    """The command above."""
    file, solution, limit = sys.argv[1:]
    given = cvrplib.read(file)
    data = {
        "x_coordinates": given.x,
        "y_coordinates": given.y,
        "demands": given.demand,
        "vehicle_capacity": given.capacity,
        "depot": 0,
    }
    parameters = ailsii.AlgorithmParameters(timeLimit=float(limit))
    cvrplib.write(ailsii.Solver(parameters, jvm_args=_JVM).solve_cvrp(data).routes, solution)


if __name__ == "__main__":
    main()
