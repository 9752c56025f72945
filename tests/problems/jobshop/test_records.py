"""instances/jobshop/records: certificates of schedules that are better than the best published; the instances are not shipped."""

from __future__ import annotations

import itertools
import os
from importlib.resources import files
from pathlib import Path

import pytest

from corl.files.certificates import check_certificate, read_certificate

RECORDS = Path(str(files("corl.instances.jobshop").joinpath("records")))
NAMES = sorted(path.stem for path in RECORDS.glob("*.json"))
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.mark.parametrize("name", NAMES)
def test_what_a_record_shows_without_its_instance(name):
    """Jobs whose operations start one after another, all before the makespan, which is below the published one."""
    record = read_certificate(RECORDS / f"{name}.json")
    assert record.instance == name and len(record.sha256) == 64 and record.command and record.commit and record.file
    assert set(map(len, record.solution["machine"])) == set(map(len, record.solution["start"]))
    for starts in record.solution["start"]:
        assert starts[0] >= 0 and starts[-1] < record.objective
        assert all(before < after for before, after in itertools.pairwise(starts))
    assert record.published is not None and record.objective < record.published


@pytest.mark.parametrize("name", NAMES)
def test_the_judge_gives_a_record_its_makespan(name):
    """If the instance is at hand: CORL_DATA or the shared data has jobshop/instances/NAME.txt."""
    folders = [Path(os.environ.get("CORL_DATA", SHARED)), SHARED]
    path = next((path for folder in folders if (path := folder / "jobshop" / "instances" / f"{name}.txt").is_file()), None)
    if path is None:
        pytest.skip(f"{name}.txt is public data that is not shipped; it is not in CORL_DATA")
    assert check_certificate(RECORDS / f"{name}.json", path).better
