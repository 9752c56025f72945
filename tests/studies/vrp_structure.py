"""Clusters and balance: `ruin-recreate` beside OR-Tools at equal processor time: `python tests/studies/vrp_structure.py OUT.csv`.

One row for each instance and solver, appended as soon as it is known; rows that are there are not made again.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from processor_run import ProcessorRun
from run_table import RunTable

from corl import registry
from corl.problems.vrp.generators_rules import day
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.rules import SideConstraints
from corl.problems.vrp.rules_structure import Balance

COLUMNS = ("rule", "clients", "seed", "solver", "processor_seconds", "objective", "routes", "longest")
RULES = ("clusters in a row", "clusters on one route", "longest distance, weight 5")
SOLVERS = ("ruin-recreate", "ortools")
_WALL = 100.0  # the engine's own limit, in seconds on the clock, as a multiple of the processor time: it never ends the run


class _Run(ProcessorRun):
    """A run by processor time, in which no engine stops by its own clock."""

    @property
    def remaining(self) -> float:
        """A time that engines do not come to."""
        return _WALL * super().remaining


def instance_of(rule: str, clients: int, seed: int) -> VrpInstance:
    """Return a generated day with one of RULES."""
    if rule == RULES[2]:
        return replace(
            day(size=clients, windows=0.0, seed=seed), rules=SideConstraints(balance=Balance("longest", "distance", 5.0))
        )
    return day(size=clients, windows=0.0, seed=seed, ask="clusters" if rule == RULES[0] else "soft_clusters")


def solved(rule: str, clients: int, seed: int, solver: str, seconds: float) -> dict[str, object]:
    """Return the row of a run."""
    instance, problem = instance_of(rule, clients, seed), Vrp()
    method = registry.solver("vrp", solver)()
    method.prepare(instance)
    run = _Run(problem, instance, time_limit=seconds, seed=1)
    run.start()
    method.solve(instance, run)
    run.finish()
    solution = run.solution or []
    lengths = [problem.evaluate(_alone(instance, route.visits.tolist()), [route]) for route in solution]
    found = "" if run.objective is None else f"{run.objective:.10g}"
    values = (rule, clients, seed, solver, seconds, found, len(solution), f"{max(lengths, default=0):.10g}")
    return dict(zip(COLUMNS, values))


def _alone(instance: VrpInstance, visits: list[int]) -> VrpInstance:
    """Return the instance without rules, in which only these clients must be visited: the cost of their route is its length."""
    required = instance.required & False
    required[visits] = True
    return replace(instance, rules=None, required=required)


def main(arguments: list[str]) -> None:
    """Make the missing rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[50, 150])
    given = parser.parse_args(arguments)
    table = RunTable(given.out, COLUMNS, COLUMNS[:4])
    for rule in RULES:
        for clients in given.clients:
            for solver in SOLVERS:
                if table.has(rule, clients, 1, solver):
                    continue
                row = solved(rule, clients, 1, solver, given.seconds)
                table.append(row)
                print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
