"""The tables of measurements: their rows, what they leave out, and their sums."""

from __future__ import annotations

import csv
import io

import pytest

from corl.solvers.memory.mapping import measure
from corl.solvers.memory.mapping.players import measure as players
from corl.solvers.memory.mapping.priority import measure as priority


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_of_solvers(capsys):
    """Constructions once, searches for every limit; the base closes nothing, nobody closes more than all; --least leaves out."""
    given = ["--programs", "layered", "--fast-mib", "1", "--seconds", "0.05", "0.1", "--solvers", "learned-priority"]
    measure.main(given)
    rows = rows_of(capsys.readouterr().out)
    assert [row["limit"] for row in rows].count("") == 5 and [row["limit"] for row in rows][-2:] == ["0.05", "0.1"]
    assert float(rows[0]["closed"]) == 0.0 and all(float(row["closed"]) <= 1.0 for row in rows)
    assert all(float(row["microseconds"]) >= float(row["bound"]) for row in rows)
    measure.main([*given, "--least", "9"])
    assert not rows_of(capsys.readouterr().out)


def test_rows_of_the_priority(capsys, tmp_path, monkeypatch):
    """A row for each method; the summary says by how much they differ from the tuned compiler-like plan."""
    monkeypatch.setattr(measure, "programs", lambda names: [])
    priority.main(["--generated", "2"])
    text = capsys.readouterr().out
    assert {row["method"] for row in rows_of(text)} >= {"learned", "shuffled", "xla-like tuned"}
    file = tmp_path / "table.csv"
    file.write_text(text)
    priority.main(["--table", str(file)])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| xla-like tuned | generated, 2 | +0.00 +- 0.00 |") for line in lines)


@pytest.mark.slow
def test_rows_of_the_players(capsys, tmp_path):
    """Every player at equal simulations and at equal time; the bound is below them all."""
    players.main(["--programs", "1", "--size", "5", "--seconds", "0.3", "--simulations", "2"])
    text = capsys.readouterr().out
    rows = rows_of(text)
    assert len(rows) == 10 and {row["limit"] for row in rows} == {"2 simulations", "0.3 s"}
    assert all(float(row["microseconds"]) >= float(row["bound"]) for row in rows)
    file = tmp_path / "table.csv"
    file.write_text(text)
    players.main(["--table", str(file)])
    assert "| bound | |" in capsys.readouterr().out
