"""The study of public flexible instances: files are read, and what rows there are is not run again."""

from __future__ import annotations

import csv
import sys

import jobshop_flexible

TEXT = "2 3\n2 2 0 4 1 5 1 2 3\n1 3 0 1 1 2 2 3\n"


def test_files_are_read():
    """Machines count from 0; an operation has as many pairs as its first number says."""
    instance = jobshop_flexible.instance_of(TEXT, "tiny")
    assert list(instance.rows()) == [[[(0, 4), (1, 5)], [(2, 3)]], [[(0, 1), (1, 2), (2, 3)]]] and instance.machines == 3


def test_it_goes_on_where_it_was(tmp_path, monkeypatch):
    """A second call adds the methods that are missing and nothing else."""
    (tmp_path / "tiny.txt").write_text(TEXT)
    monkeypatch.setattr(jobshop_flexible, "SAMPLE", {"tiny": 7})
    rows = tmp_path / "rows.csv"
    for methods in (["tabu"], ["tabu", "cp-sat"]):
        monkeypatch.setattr(sys, "argv", ["study", str(tmp_path), str(rows), *methods, "--seconds", "5"])
        jobshop_flexible.main()
    with rows.open(newline="") as file:
        found = [(row["instance"], row["method"], row["makespan"], row["gap"]) for row in csv.DictReader(file)]
    assert found == [("tiny", "tabu", "7.0", "0.00"), ("tiny", "cp-sat", "7.0", "0.00")]
