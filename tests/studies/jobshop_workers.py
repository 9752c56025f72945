"""How much a second core is worth to `tabu`: the seconds that one worker needs for what two have found.

    python tests/studies/jobshop_workers.py run ROWS.csv --workers 1 --seed 0
    python tests/studies/jobshop_workers.py summary ROWS.csv

Seconds are wall clock, on idle cores. ROWS.csv has the makespan every five seconds, and is continued.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy as np
from run_table import RunTable, rows_of

import corl

__all__ = ["INSTANCES", "main", "speed_up", "value_at"]

INSTANCES = ("ta41", "ta46", "dmu43", "dmu58", "dmu63", "dmu78")
SECONDS = {1: 60, 2: 30}
"""Number of workers -> seconds of its runs."""
_STEP = 5
_FIELDS = ("instance", "workers", "seed", "seconds", "value")


def value_at(trace: Sequence[tuple[float, float | None, float | None]], seconds: float) -> float:
    """Return the best makespan of a trace after so many seconds; infinite if there was none."""
    return min((value for when, value, _ in trace if value is not None and when <= seconds), default=float("inf"))


def speed_up(rows: Sequence[dict[str, str]]) -> dict[int, float]:
    """Return, for each number of seconds of two workers, how many times as long one worker takes to the same mean ratio.

    Makespans are divided by the least of their instance. Between steps, the mean is interpolated. What one worker does not reach
    at all is left out.
    """
    least: dict[str, float] = {}
    for row in rows:
        least[row["instance"]] = min(least.get(row["instance"], float("inf")), float(row["value"]))

    def means(workers: str) -> dict[int, float]:
        steps = sorted({int(row["seconds"]) for row in rows if row["workers"] == workers})
        chosen = [
            (int(row["seconds"]), float(row["value"]) / least[row["instance"]]) for row in rows if row["workers"] == workers
        ]
        return {step: mean(ratio for seconds, ratio in chosen if seconds == step) for step in steps}

    one, two = means("1"), means("2")
    seconds, ratios = np.array(list(one)), np.array(list(one.values()))
    return {
        step: float(np.interp(-ratio, -ratios, seconds)) / step
        for step, ratio in two.items()
        if ratios.min() <= ratio <= ratios.max()
    }


def main() -> None:
    """The commands above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "summary"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--workers", type=int, choices=SECONDS, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.command == "summary":
        for step, factor in speed_up(rows_of(given.rows)).items():
            print(f"{step} s of two workers: {factor:.2f} times as long with one")
        return
    table = RunTable(given.rows, _FIELDS, _FIELDS[:4])
    seconds = SECONDS[given.workers]
    for name in INSTANCES:
        if table.has(name, given.workers, given.seed, seconds):
            continue
        result = corl.solve(f"jobshop/{name}", solver="tabu", time_limit=seconds, workers=given.workers, seed=given.seed)
        for step in range(_STEP, seconds + 1, _STEP):
            table.append((name, given.workers, given.seed, step, f"{value_at(result.trace, step):.0f}"))
        print(name, given.workers, given.seed, result.objective, flush=True)


if __name__ == "__main__":
    main()
