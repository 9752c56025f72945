"""The study of SCIP's defaults: the split, the driver on two tiny programs, and the verdict of its table."""

from __future__ import annotations

import csv

import milp_defaults as study
import pytest
from milp_one_solve import solved

import corl
from corl.problems.milp.generators import GENERATORS
from corl.problems.milp.problem import Milp


def test_parts_are_disjoint_and_as_committed():
    """Training programs, those of the choice and the judged ones have different seeds; every option is one of the generator."""
    first, programs = study.SPLIT["first"], study.SPLIT["programs"]
    assert first["train"] + 10**9 < first["choose"] and first["choose"] + programs["choose"] < first["judge"]
    assert programs["judge"] == 20 and study.SPLIT["seeds"]["judge"] == 3
    assert set(GENERATORS) - set(study.SPLIT["families"]) == {"multiple-knapsack"}
    assert study.program("lot-sizing", "judge", 19).name == "lot-sizing-12x15-5400000019"
    assert study.program("auctions", "choose", 0).n == 500


@pytest.mark.long
def test_the_driver_on_two_tiny_programs(tmp_path, monkeypatch, capsys):
    """Lines for both solvers with processes of their own; a run that was cut off continues; ratios come out of the table."""
    monkeypatch.setitem(study.SPLIT["families"], "set-cover", {"rows": 60, "columns": 120, "density": 0.1})
    output = tmp_path / "r.csv"
    words = [
        "run",
        "set-cover",
        "--seeds",
        "1",
        "--output",
        str(output),
        "--solvers",
        "scip,learned-branching:policy=milp-set-cover",
    ]
    study.main([*words, "--programs", "1"])
    first = output.read_text()
    study.main([*words, "--programs", "2"])
    assert output.read_text().startswith(first)
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 and {row["status"] for row in rows} == {"optimal"} and len({row["instance"] for row in rows}) == 2
    assert all(0.1 < float(row["seconds"]) < 100.0 and int(row["nodes"]) >= 1 and float(row["objective"]) > 0 for row in rows)
    capsys.readouterr()
    study.main(["table", str(output)])
    lines = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [line["auto"] for line in lines] == ["no", "no"] and float(lines[0]["seconds"]) == 1.0 != float(lines[1]["seconds"])


def test_one_solve(tmp_path):
    """SCIP's counts and the optimum of a file; a limit of time is named."""
    program = GENERATORS["set-cover"](rows=60, columns=120, density=0.1, seed=1)
    Milp().write(program, tmp_path / "c.mps")
    line = solved(str(tmp_path / "c.mps"), "scip:root_cuts=true", 0, 600.0)
    assert line["status"] == "optimal" and float(line["objective"]) == corl.solve(program, solver="scip").objective
    assert line["nodes"] >= 1 and line["lp_iterations"] > 0 and line["seconds"] > 0.0
    assert solved(str(tmp_path / "c.mps"), "scip", 0, 1e-6)["status"] == "timelimit"


def _rows(ratio, spread=0.0, programs=20):
    """Rows of `scip`, 9 s each, and of `own`: with 1 s added to both, `ratio` times as long, or more and less by `spread`."""
    rows = []
    for number in range(programs):
        for solver, factor in (("scip", 1.0), ("own", ratio + (spread if number % 2 else -spread))):
            rows.append({
                "family": "f", "instance": f"p{number}", "seed": "0", "solver": solver, "status": "optimal", "objective": "1.0",
                "seconds": str(10.0 * factor - 1.0), "nodes": "90", "lp_iterations": "1000", "strong_iterations": "0",
            })  # fmt: skip
    return rows


def test_the_verdict():
    """`auto` takes what is below 0.85 with an interval below 1, and no more than that; optima must be equal."""
    for ratio, spread, programs, verdict in (
        (0.8, 0.0, 20, "yes"), (0.9, 0.0, 20, "no"), (0.8, 0.7, 6, "no"), (0.8, 0.0, 3, "no"),
    ):  # fmt: skip
        base, own = study.tables(_rows(ratio, spread, programs), 600.0)
        assert (base["solver"], base["auto"], own["auto"]) == ("scip", "no", verdict), (ratio, spread, programs)
    rows = _rows(0.8)
    rows[1]["objective"] = "2.0"
    with pytest.raises(corl.SolverError, match="optima differ"):
        study.tables(rows, 600.0)
