"""The study of routing solvers beside their peers: which runs it makes, and what it says of them."""

from __future__ import annotations

import csv
import math

import pytest
from routing_strength import FIELDS, TABLES, gap_percent, missing, row, tasks

from corl import registry


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with one small instance, which is a table."""
    problem = registry.problem("vrp")
    problem.write(problem.generators["x"](size=12, seed=3), tmp_path / "tiny.vrp")
    monkeypatch.setenv("CORL_DATA", str(tmp_path))
    table = {"folder": "data", "files": ["tiny.vrp"], "limits": ["0.2"], "seeds": 2, "solvers": ["ruin-recreate", "pyvrp"]}
    monkeypatch.setitem(TABLES, "tiny", table)
    return tmp_path


def test_runs_of_a_file_are_not_made_again(data):
    """Each instance, solver, limit and seed is one run; those that the file has are skipped."""
    wanted, file = tasks("tiny"), data / "rows.csv"
    assert [(task.solver, task.seed) for task in wanted] == [
        ("ruin-recreate", 1),
        ("pyvrp", 1),
        ("ruin-recreate", 2),
        ("pyvrp", 2),
    ]
    assert list(missing(wanted, file)) == wanted
    with file.open("w", newline="") as table:
        writer = csv.DictWriter(table, FIELDS)
        writer.writeheader()
        writer.writerow(dict.fromkeys(FIELDS, "") | dict(zip(FIELDS, wanted[1].key, strict=False)))
    assert list(missing(wanted, file)) == [wanted[0], *wanted[2:]]
    assert [task.solver for task in tasks("tiny", ["pyvrp"], 1)] == ["pyvrp"]


def test_a_row_is_what_the_judge_says(data):
    """A row has the fields of the file; its gap is that to the cost in the .sol file."""
    (task,) = tasks("tiny", ["ruin-recreate"], 1)
    task.file.with_suffix(".sol").write_text("Route #1: 1\nCost 1000\n")
    made = row(task)
    assert tuple(made) == FIELDS and made["reference"] == 1000.0 and made["routes"] >= 1
    assert made["gap_percent"] == pytest.approx(gap_percent(made["objective"], 1000.0), abs=1e-4)


def test_gaps_do_not_depend_on_the_unit():
    """A reference may be in thousandths; without one the gap is not a number."""
    assert gap_percent(102.0, 100_000.0) == pytest.approx(2.0) == gap_percent(102.0, 100.0)
    assert math.isnan(gap_percent(1.0, None))
