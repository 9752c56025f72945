"""Chained Lin-Kernighan: `python linkern_tsp.py PROGRAM INSTANCE.tsp SOLUTION.json SECONDS SEED`. Its kicks end at the limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tsplib

_KICKS = "1000000000"  # without end


def main() -> None:
    """The command above."""
    program, file, solution, seconds, seed = sys.argv[1:]
    instance = tsplib.read(file, ("EUC_2D", "CEIL_2D", "ATT", "GEO"))
    tsplib.rewrite(instance, "given.tsp")
    command = [program, "-Q", "-s", seed, "-t", seconds, "-R", _KICKS, "-o", "edges", "given.tsp"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    edges = Path("edges").read_text().splitlines()[1:]  # lines FROM TO LENGTH in the order of the tour
    tsplib.write(instance, [int(edge.split()[0]) for edge in edges], solution)


if __name__ == "__main__":
    main()
