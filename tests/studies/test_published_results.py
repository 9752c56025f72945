"""Results of others in the forms in which they are published, as rows for `corl report --published`."""

from __future__ import annotations

import csv

from published_results import COLUMNS, pyjobshop, pyvrp, survey, trace

from corl.benchmark.reporting.published import read_published

PAGE = """Benchmarks
==========

.. list-table::
   :header-rows: 1

   * - Date
     - Version
     - CVRP
     - MDVRPTW
   * - 2 May 2024
     - `0.9 <https://address>`_
     - 0.23%
     -
   * - 1 May 2023
     - `0.5 <https://address>`_
     - 0.22% [#note1]_
     - 0.44%

Others
------
"""


def test_tables_of_pyvrp():
    """A row for each version and set that has a gap, with the date."""
    rows = [(row["solver"], row["set"], row["gap_percent"], row["date"]) for row in pyvrp(PAGE)]
    assert rows == [
        ("PyVRP 0.9", "X", "0.23", "2 May 2024"),
        ("PyVRP 0.5", "X", "0.22", "1 May 2023"),
        ("PyVRP 0.5", "MDVRPTW", "0.44", "1 May 2023"),
    ]


def test_other_forms_become_files_that_a_report_reads(tmp_path):
    """PyJobShop's CSV with names for its numbers, a log of the survey, and the end of a trace."""
    results = [
        {"problem": "JSP", "solver": "ortools", "time_limit": "120", "instance": "1.txt", "objective": "1231.0", "time": "5.7"},
        {"problem": "RCPSP", "solver": "ortools", "time_limit": "120", "instance": "1.txt", "objective": "9", "time": "1"},
    ]
    rows = [
        *pyjobshop(iter(results), {"1": "ta01"}),
        *survey("noise\nInstance X-n101-k25: Time 0.85s, Cost 28971.0, Gap 5.00%\n", "vrp", "ELG"),
        *trace("0.5;200\n9.5;100\n", "FILO", "XLTEST-n1048"),
    ]
    file = tmp_path / "p.csv"
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    found = [(each.solver, each.instance, each.objective, each.seconds) for each in read_published([file])]
    assert found == [
        ("ortools, limit 120 s", "ta01", 1231.0, 5.7),
        ("ELG", "X-n101-k25", 28971.0, 0.85),
        ("FILO", "XLTEST-n1048", 100.0, 9.5),
    ]
