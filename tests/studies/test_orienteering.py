"""The study of orienteering reads OPLib's and EA4OP's texts, and continues its table."""

from __future__ import annotations

import csv

import orienteering_oplib as study
import pytest

from corl.problems.orienteering.generators import generation_2
from corl.problems.orienteering.problem import Orienteering

SOLUTION = "NAME : tiny\nTYPE : OP\nDIMENSION : 30\nCOST_LIMIT : 90\nROUTE_NODES : 5\nROUTE_SCORE : 205\nROUTE_COST : 89\n"


def test_scores_in_texts():
    """The published score, and the last one that the program prints."""
    assert study.published_score(SOLUTION) == 205
    assert study.reported_score("cp | EA : 50 it : best 7\n - Objetive value: 7.000000\n - Objetive value: 117.000000\n") == 117


def test_the_files():
    """Forty different ones, ten of each generation."""
    counts = [sum(f"-gen{generation}-" in name for name in study.FILES) for generation in (1, 2, 3, 4)]
    assert len(set(study.FILES)) == 40 and counts == [10, 10, 10, 10]


def test_a_table_is_continued(tmp_path, monkeypatch):
    """A row of EA4OP gives our run its limit; a run that has a row is not repeated; without a program and a row, it says so."""
    for folder, text in (("instances", None), ("solutions/ea4op", SOLUTION)):
        (tmp_path / folder / "gen2").mkdir(parents=True)
        if text:
            (tmp_path / folder / "gen2" / "tiny-gen2-50.sol").write_text(text)
    Orienteering().write(generation_2(size=30, seed=1), tmp_path / "instances" / "gen2" / "tiny-gen2-50.oplib")
    table = tmp_path / "rows.csv"
    asked = ["study", str(tmp_path), "--output", str(table), "--files", "tiny-gen2-50"]
    monkeypatch.setattr("sys.argv", asked)
    with pytest.raises(SystemExit, match="no row of EA4OP; accepted: --program"):
        study.main()
    table.write_text(",".join(study.COLUMNS) + "\ntiny-gen2-50,30,EA4OP,1,205,200,0.05,\n")
    for _ in range(2):
        study.main()
    rows = list(csv.DictReader(table.open()))
    assert [row["program"] for row in rows] == ["EA4OP", "ruin-recreate"]
    assert float(rows[1]["limit"]) == 0.05 and float(rows[1]["score"]) > 0 and rows[1]["published"] == "205"
