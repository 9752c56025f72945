"""instances/jobshop/records: schedules of ours that are better than the best published, of instances that are not shipped."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from corl.problems.jobshop.instance import Schedule
from corl.problems.jobshop.problem import JobShop

RECORDS = files("corl.instances.jobshop").joinpath("records")
NAMES = sorted(entry.name.removesuffix(".json") for entry in RECORDS.iterdir() if entry.name.endswith(".json"))
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.mark.parametrize("name", NAMES)
def test_what_a_record_shows_without_its_instance(name):
    """Jobs whose operations start one after another, all before the makespan, which is below the published one."""
    record = json.loads((RECORDS / f"{name}.json").read_text())
    assert record["instance"] == name
    assert all(np.all(np.diff(starts) > 0) and starts[0] >= 0 and starts[-1] < record["makespan"] for starts in record["start"])
    assert record["makespan"] < record["published"]


@pytest.mark.parametrize("name", NAMES)
def test_the_judge_gives_a_record_its_makespan(name):
    """Where the instance is at hand: CORL_DATA or the shared data has jobshop/instances/NAME.txt."""
    folders = [Path(os.environ.get("CORL_DATA", SHARED)), SHARED]
    path = next((path for folder in folders if (path := folder / "jobshop" / "instances" / f"{name}.txt").is_file()), None)
    if path is None:
        pytest.skip(f"{name}.txt is public data that is not shipped; it is not in CORL_DATA")
    problem, record = JobShop(), json.loads((RECORDS / f"{name}.json").read_text())
    instance = problem.read(path)
    if instance.flexible:
        schedule = problem.from_json(instance, {"start": record["start"], "machine": record["machine"]})
    else:
        schedule = Schedule(np.concatenate(record["start"]), instance.choice_machine)
    assert problem.evaluate(instance, schedule) == record["makespan"] < record["published"]
