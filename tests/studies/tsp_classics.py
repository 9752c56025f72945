"""linkern and LKH beside ours at equal time, on the DIMACS challenge's uniform instances.

python tests/studies/tsp_classics.py --linkern PATH --lkh PATH --size 10000 31623 --seconds 60 --output classics.csv

Their programs are built from their authors' public sources (linkern is part of Concorde, LKH 3 is free for academic use) and are
no dependency of corl. Each run has the processor to itself and is over when `--seconds` are spent, reading and candidates
included; of linkern the tour it has then, of LKH the last cost that it printed by then. Compiling our kernels is outside, as in
benchmarks.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corl

__all__ = ["main"]

_BEST = {10_000: 71_865_826, 31_623: 127_281_803, 100_000: 225_783_795, 316_228: 401_294_850, 1_000_000: 713_176_566}
_LKH = {
    "LKH, default": "",
    # As its guide advises for large instances: less ascent, quadrant or POPMUSIC candidates.
    "LKH, POPMUSIC": "CANDIDATE_SET_TYPE = POPMUSIC\nINITIAL_PERIOD = 100\n",
    "LKH, quadrants": "CANDIDATE_SET_TYPE = QUADRANT\nMAX_CANDIDATES = 8\nSUBGRADIENT = NO\n",
}


def _linkern(program: str, file: Path, seconds: float) -> float:
    """The length of its tour: chained Lin-Kernighan until the time is spent, kicks without end."""
    command = [program, "-s", "1", "-Q", "-R", "1000000000", "-t", f"{seconds:.1f}", str(file)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=2 * seconds + 60, check=True).stdout
    return float(re.findall(r"(?:Final Cycle|Best cycle length|Overall Best Cycle): ([\d.]+)", said)[-1])


def _lkh(program: str, settings: str, file: Path, seconds: float) -> float | None:
    """The least cost it printed in time; None where it printed none."""
    parameters = f"PROBLEM_FILE = {file}\nRUNS = 1\nSEED = 1\nTRACE_LEVEL = 1\nMAX_TRIALS = 1000000\n{settings}"
    with tempfile.NamedTemporaryFile("w", suffix=".par") as own:
        own.write(parameters)
        own.flush()
        try:
            subprocess.run([program, own.name], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
            raise SystemExit("LKH ended before its time")
        except subprocess.TimeoutExpired as over:
            said = over.stdout or b""
    costs = re.findall(r"Cost = (\d+)", said.decode() if isinstance(said, bytes) else said)
    return min(map(float, costs), default=None)


def main() -> None:
    """Run all, write the rows."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--linkern")
    asked.add_argument("--lkh")
    asked.add_argument("--size", type=int, nargs="+", default=[10_000, 31_623], choices=sorted(_BEST))
    asked.add_argument("--seconds", type=float, default=60.0)
    asked.add_argument("--settings", nargs="+", default=list(_LKH), choices=list(_LKH))
    asked.add_argument("--output", type=Path)
    given = asked.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in given.size:
            instance, file = corl.generate("tsp", "portgen", size=size, seed=size), Path(folder) / f"E{size}.tsp"
            corl.problem("tsp").write(instance, file)
            calls = {"corl": lambda i=instance: corl.solve(i, time_limit=given.seconds).objective}
            if given.linkern:
                calls["linkern"] = lambda f=file: _linkern(given.linkern, f, given.seconds)
            if given.lkh:
                for name in given.settings:
                    calls[name] = lambda f=file, n=name: _lkh(given.lkh, _LKH[n], f, given.seconds)
            for name, call in calls.items():
                began = time.perf_counter()
                length = call()
                gap = "" if length is None else f"{100 * (length / _BEST[size] - 1):.3f}"
                rows.append((size, name, given.seconds, length, gap))
                print(*rows[-1], f"({time.perf_counter() - began:.0f} s)", flush=True)
    if given.output:
        with given.output.open("w", newline="") as out:
            csv.writer(out).writerows([("cities", "program", "seconds", "length", "gap"), *rows])


if __name__ == "__main__":
    sys.exit(main())
