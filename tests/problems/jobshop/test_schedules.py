"""instances/jobshop/results/schedules.json: the schedules of ours that meet a best known makespan."""

from __future__ import annotations

import csv
import json
from importlib.resources import as_file, files

import pytest

from corl.problems.jobshop.problem import JobShop

SHIPPED = files("corl.instances.jobshop")
SCHEDULES = json.loads((SHIPPED / "results" / "schedules.json").read_text())
BEST = {row["name"]: float(row["value"]) for row in csv.DictReader((SHIPPED / "reference.csv").read_text().splitlines())}


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_a_best_known_makespan_is_met(name):
    """The judge gives each schedule the makespan that it claims, which is the best known one."""
    problem = JobShop()
    with as_file(SHIPPED / f"{name}.json") as path:
        instance = problem.read(path)
    solution = problem.from_json(instance, SCHEDULES[name]["solution"])
    assert problem.evaluate(instance, solution) == SCHEDULES[name]["makespan"] == BEST[name]
