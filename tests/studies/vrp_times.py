"""Soft windows and travel by the hour on generated days: `PYTHONPATH=tests/studies python tests/studies/vrp_times.py ROWS.csv`.

Soft windows: `ruin-recreate` beside `ortools`, which takes them as well. Travel by the hour: `ruin-recreate` beside its own plans
at the lowest speed of the day, which are feasible at all hours, judged with the true speeds.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
from processor_run import ProcessorRun

from corl.problems.vrp.generators_rules import day
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.timetable import stops
from corl.registry import solver

COLUMNS = ("rule", "clients", "seed", "arm", "processor_seconds", "cost", "routes", "early", "late")


class EngineRun(ProcessorRun):
    """A run whose engine is ended by processor time alone: an engine's own limit is on the clock of the wall."""

    @property
    def remaining(self) -> float:
        """Far more seconds than remain."""
        return 1000.0 * super().remaining


def one(rule: str, clients: int, seed: int, arm: str, seconds: float) -> dict[str, object]:
    """Return the row of one run."""
    instance = day(size=clients, ask=rule, seed=seed)
    solved = at_lowest_speed(instance) if arm == "lowest speed" else instance
    name = "ortools" if arm == "ortools" else "ruin-recreate"
    method = solver("vrp", name)()
    method.prepare(solved)
    run = (EngineRun if name == "ortools" else ProcessorRun)(Vrp(), solved, time_limit=seconds, seed=1)
    run.start()
    method.solve(solved, run)
    run.finish()
    visits = [stop for route in run.solution for stop in stops(instance, route)]
    return {
        "rule": rule, "clients": clients, "seed": seed, "arm": arm, "processor_seconds": seconds,
        "cost": f"{Vrp().evaluate(instance, run.solution):.4f}", "routes": len(run.solution),
        "early": f"{sum(stop.early for stop in visits):.2f}", "late": f"{sum(stop.late for stop in visits):.2f}",
    }  # fmt: skip


def at_lowest_speed(instance: VrpInstance) -> VrpInstance:
    """Return the instance in which vehicles are always as slow as in their slowest period."""
    rules = instance.rules
    assert rules is not None and rules.speed_factors is not None
    slowest = np.broadcast_to(rules.speed_factors.min(axis=1, keepdims=True), rules.speed_factors.shape)
    return replace(instance, rules=replace(rules, speed_factors=slowest))


def main() -> None:
    """Write a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    with given.rows.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for rule, arms in (("soft", ("ruin-recreate", "ortools")), ("traffic,overtime", ("ruin-recreate", "lowest speed"))):
            for seed in range(11, 11 + given.seeds):
                for arm in arms:
                    writer.writerow(one(rule, given.clients, seed, arm, given.seconds))
                    file.flush()


if __name__ == "__main__":
    main()
