"""Tables of runs are continued where they were interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_table import RunTable, rows_of

FIELDS = ("instance", "seed", "value")


def test_rows_are_in_the_file_at_once_and_are_known_to_the_next_run(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    first = RunTable(file, FIELDS, FIELDS[:2])
    assert first.rows == [] and not file.exists()
    first.append(("a", 1, 2.5))
    assert rows_of(file) == [{"instance": "a", "seed": "1", "value": "2.5"}]
    again = RunTable(file, FIELDS, FIELDS[:2])
    assert again.has("a", 1) and first.has("a", 1) and not again.has("a", 2)
    again.append({"value": 3, "seed": 2, "instance": "a"})
    assert file.read_text() == "instance,seed,value\na,1,2.5\na,2,3\n"


def test_rows_of_other_columns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    RunTable(file, FIELDS, FIELDS[:2]).append(("a", 1, 2.5))
    with pytest.raises(SystemExit, match=r"its columns are instance, seed, value; accepted: instance, seed"):
        RunTable(file, FIELDS[:2], FIELDS[:2])
    with pytest.raises(ValueError, match="shorter"):
        RunTable(file, FIELDS, FIELDS[:2]).append(("a", 1))
