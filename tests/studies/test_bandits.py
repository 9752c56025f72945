"""The study of bandits: rows that are there are kept, and the table says what they say."""

from __future__ import annotations

import csv

import pytest
from bandits import main, table

from corl.benchmark.running.suite import read_suite


@pytest.mark.long
def test_rows_and_table(tmp_path, capsys):
    """A second call adds what is missing alone; whittle is left out where arms have many levels."""
    file = tmp_path / "rows.csv"
    given = ["--kinds", "budget,interventions", "--arms", "8", "--instances", "2", "--output", str(file)]
    assert main([*given, "--solvers", "myopic,whittle"]) == 0
    first = file.read_text()
    assert main([*given, "--solvers", "myopic,whittle,fluid:resolve=0"]) == 0
    assert file.read_text().startswith(first)
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == 2 * (3 + 2) and {row["pulls"] for row in rows} == {"2"}
    told = list(table(file))
    assert told[0] == "| solver | budget, 8 arms | interventions, 8 arms |"
    means = [float(row["objective"]) for row in rows if row["kind"] == "budget" and row["solver"] == "myopic"]
    assert f"{sum(means) / 2:.2f}" in told[2] and "n = 2" in told[2]
    assert "\n".join(told) in capsys.readouterr().out


def test_suites_are_read():
    """The shipped suites name solvers and generators that there are."""
    for name, sources in (("smoke", 5), ("policies", 50), ("sequoia", 40), ("large", 18)):
        assert len(read_suite(f"bandits/{name}").sources) == sources
