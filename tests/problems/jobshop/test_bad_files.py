"""`corl solve` on files that are wrong: exit code 3 and one line that says where and what, for every fault a user can make."""

from __future__ import annotations

from pathlib import Path

import pytest

from corl.benchmark.running.suite import read_suite
from corl.cli.main import main

FAULTS = {
    "negative duration": ("2 2\n0 3 1 2\n0 1 1 -4\n", ":3:"),
    "duration that is no number": ("2 2\n0 3 1 2\n0 1 1 x\n", ":3:"),
    "machine out of range": ("2 2\n0 3 1 2\n0 1 2 4\n", ":3:"),
    "negative machine": ("2 2\n0 3 1 2\n-1 1 1 4\n", ":3:"),
    "a machine without its duration": ("2 2\n0 3 1 2\n0 1 1\n", ":3:"),
    "a job too few": ("3 2\n0 3 1 2\n0 1 1 4\n", "jobs"),
    "a job too many": ("1 2\n0 3 1 2\n0 1 1 4\n", "jobs"),
    "ragged where it must not be": ("2 2 1 2 3 4\nTimes\n3 2\n1\nMachines\n1 2\n2 1\n", "times"),
    "a machine twice where it must be once": ("2 2 1 2 3 4\nTimes\n3 2\n1 4\nMachines\n1 2\n2 2\n", "machines"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_line_and_exit_code_3(tmp_path, capsys, fault):
    """The line begins with the file, and names the line or the field."""
    text, named = FAULTS[fault]
    path = tmp_path / "bad.txt"
    path.write_text(text)
    assert main(["solve", str(path), "--problem", "jobshop"]) == 3
    said = capsys.readouterr().err.strip()
    assert "\n" not in said and str(path) in said and named in said


@pytest.mark.parametrize("name", ["smoke", "standard", "large", "flexible"])
def test_suites_can_be_read(name):
    """The shipped suites name instances, generators and solvers that there are."""
    folder = Path(__file__).resolve().parents[3] / "instances" / "jobshop"
    assert read_suite(folder / f"{name}.toml").sources
