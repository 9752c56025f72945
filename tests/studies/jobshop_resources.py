"""Resources beside machines and hybrid flow shops beside CP-SAT and PyJobShop, in equal processor time.

    python tests/studies/jobshop_resources.py ROWS.csv --pyjobshop ENVIRONMENT/bin/python [--seconds 30]

Each method runs on one core, as in jobshop_stays.py. ROWS.csv is continued: what it has is not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from jobshop_stays import solve_own, solve_pyjobshop
from run_table import RunTable

from corl.problems.jobshop.generators_hybrid import hybrid
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["INSTANCES", "main"]

INSTANCES: dict[str, tuple[Callable[[], JobShopInstance], str]] = {
    "workers and a tool, 50 jobs": (partial(workshop, jobs=50, machines=10, ask="resources", seed=1), "annealing"),
    "hybrid flow shop, 40 jobs": (partial(hybrid, jobs=40, stages=5, machines=3, seed=1), "tabu"),
    "unrelated machines, 40 jobs": (partial(hybrid, jobs=40, stages=5, machines=3, spread=0.5, seed=1), "tabu"),
    "workers, choices, 30 jobs": (partial(workshop, jobs=30, machines=10, ask="choices,resources", seed=1), "annealing"),
}
"""Instances, and the solver of ours that `auto` chooses for them."""
_FIELDS = ("instance", "method", "seconds", "makespan", "bound")


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--pyjobshop", default="", metavar="PYTHON", help="the interpreter that has PyJobShop; without: not run")
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    table = RunTable(given.rows, _FIELDS, ("instance", "method"))
    for name, (make, solver) in INSTANCES.items():
        for method in (solver, "cp-sat", *(["pyjobshop"] if given.pyjobshop else [])):
            if table.has(name, method):
                continue
            if method == "pyjobshop":
                run = solve_pyjobshop(make(), given.pyjobshop, given.seconds)
            else:
                run = solve_own(make(), method, given.seconds)
            row = dict(zip(_FIELDS, (name, method, f"{run[2]:.1f}", f"{run[0]:.0f}", f"{run[1]:.0f}")))
            table.append(row)
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
