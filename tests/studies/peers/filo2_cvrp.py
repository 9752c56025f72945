"""FILO2: `python filo2_cvrp.py PROGRAM INSTANCE.vrp SOLUTION.sol SECONDS SEED`.

Its annealing counts iterations: the program makes as many as short runs say that the limit, of the processor, has room for. They
grow until one takes a twentieth of the limit, as later iterations take longer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cvrplib

_PILOT = 5_000  # iterations of the shortest run
_SHARE = 0.05  # of the limit, which the longest of the short runs takes


def main() -> None:
    """The command above."""
    program, file, solution, seconds, seed = sys.argv[1:]
    limit, given = float(seconds), Path("given.vrp")
    _rewrite(file, given)
    file = str(given.resolve())
    short, _ = _run(program, file, _PILOT, seed)
    pilot, long = _PILOT, short
    while pilot == _PILOT or long - short < _SHARE * limit:
        pilot *= 2
        long, _ = _run(program, file, pilot, seed)
    per_iteration = (long - short) / (pilot - _PILOT)
    iterations = max(_PILOT, int((limit - short) / per_iteration) + _PILOT)
    Path(solution).write_text(_run(program, file, iterations, seed)[1])


def _rewrite(file: str, given: Path) -> None:
    """Write the instance as the program reads it: with these keys in this order, and nothing else."""
    instance = cvrplib.read(file)
    lines = ["NAME : x", "COMMENT : x", "TYPE : CVRP", f"DIMENSION : {len(instance.x)}", "EDGE_WEIGHT_TYPE : EUC_2D"]
    lines += [f"CAPACITY : {instance.capacity:.0f}", "NODE_COORD_SECTION"]
    lines += [f"{k} {x:.17g} {y:.17g}" for k, (x, y) in enumerate(zip(instance.x, instance.y), 1)]
    lines += ["DEMAND_SECTION", *(f"{k} {demand:.0f}" for k, demand in enumerate(instance.demand, 1))]
    given.write_text("\n".join([*lines, "DEPOT_SECTION", "1", "-1", "EOF"]) + "\n")


def _run(program: str, file: str, iterations: int, seed: str) -> tuple[float, str]:
    """Return the processor seconds of a run, and its solution file."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, file, "--outpath", f"{folder}/", "--seed", seed, "--coreopt-iterations", str(iterations)]
        begun = os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        ended = os.times()
        (found,) = Path(folder).glob("*.sol")
        return ended.children_user - begun.children_user, found.read_text()


if __name__ == "__main__":
    main()
