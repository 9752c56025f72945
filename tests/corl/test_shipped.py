"""Shipped instances and suites: all are listed, and solved by name."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

import corl
from corl import registry
from corl.benchmark.running.suite import read_suite
from corl.cli.main import main
from corl.loading import load

ROOT = Path(str(resources.files("corl.instances")))


def listed(what, capsys):
    """The rows of `corl list WHAT --json`."""
    assert main(["list", what, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_shipped_instance_is_listed(capsys):
    """Every data file is, with its problem, whether a reference value is known or not; the words for people have them too."""
    files = [path for path in ROOT.glob("*/*") if path.is_file() and path.parent.name != "__pycache__"]
    there = {str(path) for path in files if path.suffix not in (".toml", ".md") and not path.name.endswith("reference.csv")}
    rows = listed("instances", capsys)
    assert len(there) == len(rows) and {row["path"] for row in rows} == there
    problems = {row["problem"] for row in rows}
    assert {"memory-static", "tsp", "vrp"} < problems <= set(registry.problems()) and any(row["value"] is None for row in rows)
    assert main(["list", "instances"]) == 0
    assert capsys.readouterr().out.count("\n") == len(rows)


def test_every_shipped_suite_is_listed(capsys):
    """Under the name that `corl bench` takes; PROBLEM keeps those of one problem."""
    rows = listed("suites", capsys)
    assert {row["path"] for row in rows} == {str(path) for path in ROOT.glob("*/*.toml")}
    for row in rows:
        assert row["title"] and row["problem"] in registry.problems()
    assert str(read_suite("tsp/smoke").file) in {row["path"] for row in rows if row["name"] == "tsp/smoke"}
    assert main(["list", "suites", "memory-static"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "memory/static-challenging", "memory/static-large", "memory/static-smoke", "memory/static-standard",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("uniform-500", None, "tsp"), ("tsp/uniform-100", None, "tsp"), ("uniform-100", "vrp", "vrp"), ("ta01", None, "jobshop"),
        ("memory/tiled-40-1", None, "memory-static"), ("memory-static/tiled-40-1", None, "memory-static"),
        ("auctions-20x60-1", "milp-branching", "milp-branching"), ("memory/bert-b1", None, "memory"),
    ],
)  # fmt: skip
def test_instances_are_found_by_name(name, given, problem):
    """By folder and name, by problem and name, or by a name that only one has."""
    found, instance = load(name, given)
    assert found.name == problem and load(name, given)[1] is not instance


def test_shipped_instances_are_solved_by_name(tmp_path, monkeypatch):
    """From Python and from the command line; a file of that name goes first."""
    monkeypatch.chdir(tmp_path)
    assert corl.solve("tsp/uniform-100", solver="nearest-neighbour").instance == "uniform-100"
    assert main(["solve", "clustered-100", "--solver", "nearest-neighbour", "--output", "a.tour"]) == 0
    assert main(["check", "clustered-100", "a.tour"]) == 0
    Path("uniform-500").write_text("nonsense")
    with pytest.raises(corl.InputError, match="not recognised"):
        corl.solve("uniform-500")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("uniform-100", "several shipped instances; accepted: a file, tsp/uniform-100, vrp/uniform-100"),
        ("unifrm-500", "did you mean 'uniform-500'?"), ("tsp/unifrm-500", "did you mean 'tsp/uniform-500'?"),
        ("uniform-500.tsp", "did you mean 'uniform-500'?"), ("nothing at all", "neither a file nor a shipped instance"),
        ("", "not a regular file"), ("a\0b", "neither a file nor"),
    ],
)  # fmt: skip
def test_names_that_no_instance_has(name, words, capsys):
    """One line: the nearest name, or the full ones where several fit."""
    assert main(["info", name]) in (2, 3)
    shown = capsys.readouterr().err
    assert words in shown and shown.count("\n") == 1
