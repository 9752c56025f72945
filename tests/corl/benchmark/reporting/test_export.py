"""The CSV of a suite."""

from __future__ import annotations

import csv

from contests import run

from corl.benchmark.reporting.export import export


def test_labels_are_no_formulas(store, tmp_path):
    """A label that a spreadsheet would compute has an apostrophe before it; numbers stay numbers, negative ones as well."""
    labels = ("=1+1", "+a", "-a", "@SUM(A1)", "\t=x", "\r+x", "plain", "1-2")
    records = [run(label, "i", objective=90.0, facts={"group": "=cmd|x"}) for label in labels]
    export(store(records), "s", tmp_path / "s.csv")
    with open(tmp_path / "s.csv", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert {row["solver"] for row in rows} == {*(f"'{label.strip()}" for label in labels[:6]), *labels[6:]}
    assert {row["group"] for row in rows} == {"'=cmd|x"}
    assert {float(row["mean_gap_percent"]) for row in rows} == {-10.0}
