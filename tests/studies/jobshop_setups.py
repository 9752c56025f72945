"""Set-ups: `tabu` beside `annealing` and CP-SAT, in equal processor time.

    python tests/studies/jobshop_setups.py ROWS.csv [--seconds 10] [--seeds 3]

The instances are workshops of the generator; none of them was used to choose anything. Seconds are processor seconds, since the
core may be shared. ROWS.csv is continued: what it has is not run again, so that the study may be broken off.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

from jobshop_stays import solve_own
from run_table import RunTable

from corl.problems.jobshop.generators_rules import workshop

__all__ = ["INSTANCES", "METHODS", "main"]

INSTANCES: dict[str, dict[str, Any]] = {
    "by jobs": {"jobs": 10, "machines": 10, "ask": "setups"},
    "by jobs, choices of machines": {"jobs": 20, "machines": 10, "ask": "choices,setups"},
    "by families, tardiness": {"jobs": 20, "machines": 10, "ask": "families,tardiness"},
    "by families": {"jobs": 50, "machines": 10, "ask": "families"},
}
SEED = 201
"""The seed of all instances; choices were made with other seeds."""
METHODS = ("tabu", "annealing", "cp-sat")
_FIELDS = ("rule", "jobs", "method", "seed", "seconds", "value", "bound")


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    table = RunTable(given.rows, _FIELDS, ("rule", "jobs", "method", "seed"))
    for seed, (rule, parameters), method in itertools.product(range(given.seeds), INSTANCES.items(), METHODS):
        if table.has(rule, parameters["jobs"], method, seed):
            continue
        value, bound, seconds = solve_own(workshop(**parameters, seed=SEED), method, given.seconds, seed)
        row = (rule, parameters["jobs"], method, seed, f"{seconds:.1f}", f"{value:.0f}", f"{bound:.0f}")
        table.append(row)
        print(*row, flush=True)


if __name__ == "__main__":
    main()
