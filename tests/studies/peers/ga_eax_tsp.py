"""GA-EAX: `python ga_eax_tsp.py PROGRAM INSTANCE.tsp SOLUTION.json POPULATION`. It has no limit and no seed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tsplib

_CHILDREN = "30"  # per pair of parents: the authors' default


def main() -> None:
    """The command above."""
    program, file, solution, population = sys.argv[1:]
    instance = tsplib.read(file, ("EUC_2D", "CEIL_2D", "ATT"))
    tsplib.rewrite(instance, "given.tsp")
    subprocess.run([program, "1", "run", population, _CHILDREN, "given.tsp"], stdout=subprocess.DEVNULL, check=True)
    _, tour = Path("run_BestSol").read_text().split("\n")[:2]  # the number of cities and the length, then the tour
    tsplib.write(instance, [int(word) - 1 for word in tour.split()], solution)


if __name__ == "__main__":
    main()
