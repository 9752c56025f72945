"""The studies of milp: the ways to read an LP, branching rules beside each other, the statistics of graphs."""

from __future__ import annotations

import math

import milp_comparison as comparison
import milp_graph as study
import pytest
from milp_rules import reading_times

import corl
from corl.problems.milp.generators import multiple_knapsack, set_cover
from corl.problems.milp.problem import Milp
from corl.solvers.milp.branching.solver import LearnedBranching
from corl.solvers.milp.scip.solver import Scip, ScipPscost, ScipRelpscost

COVER = set_cover(rows=100, columns=200, density=0.08, seed=2)


def test_reading():
    """Times of all four ways, no differences."""
    times, differences = reading_times(multiple_knapsack(items=30, knapsacks=4, seed=1), 12)
    assert times.shape[1] == 4 and len(times) > 1 and (times[:, 2:] > 0).any() and differences == 0


@pytest.mark.long
def test_rules_beside_each_other(tmp_path, monkeypatch):
    """Lines for every solver, optima that agree, ratios; a second call adds nothing."""
    monkeypatch.setitem(comparison.FAMILIES, "auctions", lambda seed: COVER)
    solvers = {
        "scip-relpscost": ScipRelpscost(root_cuts=True), "scip-pscost": ScipPscost(root_cuts=True),
        "learned-branching": LearnedBranching(root_cuts=True, policy="milp-set-cover"),
    }  # fmt: skip
    for _ in range(2):
        comparison.compare(tmp_path / "r.csv", "auctions", solvers, [1], [0], None)
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 4
    lines = {line["solver"]: line for line in comparison.table([tmp_path / "r.csv"])}
    assert lines["scip-relpscost"]["total"] == 1.0 and all(line["runs"] == 1 and line["nodes"] > 0 for line in lines.values())
    assert all(0.0 < line["after_root"] <= line["seconds"] for line in lines.values())
    for name in ("total", "after", "floor"):  # one instance
        assert all(0.0 < line[f"{name}_low"] == line[name] == line[f"{name}_high"] for line in lines.values())
    assert min(lines["scip-relpscost"]["after"], lines["scip-pscost"]["after"]) == 1.0
    assert lines["scip-relpscost"]["floor"] < 1.0
    text = (tmp_path / "r.csv").read_text().replace("optimal,", "optimal,1", 1)
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(corl.SolverError, match="optima differ"):
        comparison.table([tmp_path / "bad.csv"])


@pytest.mark.long
def test_instances_beside_each_other(tmp_path):
    """A line for every instance, limits count as they are, ratios to one solver."""
    solvers = {"scip": Scip(), "scip-relpscost": ScipRelpscost()}
    Milp().write(COVER, tmp_path / "c.mps.gz")
    comparison.compare(tmp_path / "r.csv", "own", solvers, [tmp_path / "c.mps.gz"], [0], 300.0, Milp().read)
    lines = comparison.by_instance([tmp_path / "r.csv"], "scip")
    assert [line["instance"] for line in lines] == [COVER.name, "all"]
    assert lines[0]["unsolved"] == 0 and lines[0]["runs"] == 2
    assert lines[1]["scip-relpscost / scip"] == lines[0]["scip-relpscost / scip"] > 0.0


def test_statistics_of_the_study():
    """Wilson's interval of 8 in 10, Student's of three ratios, pairs of the same program alone."""
    assert study.share([True] * 8 + [False] * 2) == pytest.approx((0.8, 0.490, 0.943), abs=1e-3)
    middle, low, high = study.interval([math.log(x) for x in (0.5, 1.0, 2.0)])
    assert middle == pytest.approx(1.0) and low * high == pytest.approx(1.0) and high == pytest.approx(5.59, abs=0.01)
    rows = [
        {"network": name, "instance": f"a{k}", "seed": "0", "status": status, "seconds": str(seconds)}
        for k, (status, pair) in enumerate([("optimal", (1, 3)), ("optimal", (3, 7)), ("timelimit", (9, 9))])
        for name, seconds in zip(("perceptron", "gcnn"), pair)
    ]
    assert study.ratio(rows, "gcnn", "seconds", 1.0)[0] == pytest.approx(2.0)
