"""SCIP, HiGHS and CP-SAT under corl: optima against brute force, limits, starts, files."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pytest

import corl
from corl.errors import Infeasible
from corl.problems.milp.generators import multiple_knapsack, set_cover
from corl.problems.milp.instance import from_triplets
from corl.problems.milp.problem import Milp

RULES = ["scip", "scip-relpscost", "scip-pscost", "scip-fullstrong"]
SOLVERS = [*RULES, "highs"]
MILP = Milp()


def program(seed):
    """A program of 5 bounded integers and 3 rows, some of them infeasible; min or max with a constant."""
    random = np.random.default_rng(seed)
    dense = random.integers(-4, 5, (3, 5)).astype(float)
    rows, columns = np.nonzero(dense)
    low = random.integers(-8, 6, 3).astype(float)
    return from_triplets(
        f"p{seed}", ["min", "max"][seed % 2], random.integers(-9, 10, 5), rows, columns, dense[rows, columns], low,
        low + random.integers(0, 7, 3), lower=-1, upper=2, integer=True, offset=3.5,
    )  # fmt: skip


def brute_force(instance):
    """The best objective over all points, or None."""
    values = []
    for point in itertools.product(range(-1, 3), repeat=5):
        try:
            values.append(MILP.evaluate(instance, point))
        except Infeasible:
            continue
    return (max if instance.sense == "max" else min)(values, default=None)


@pytest.mark.parametrize("solver", [*SOLVERS, "cp-sat"])
def test_optima(solver):
    """On small programs: the proven optimum of brute force, or a proof that there is none."""
    kinds = set()
    for seed in range(8 if solver == "scip" else 4):
        instance = program(seed)
        best = brute_force(instance)
        result = corl.solve(instance, solver=solver, time_limit=300)
        assert result.objective == best and result.status == ("infeasible" if best is None else "optimal")
        assert result.sense == instance.sense and (best is None or (result.bound == best and result.verified))
        kinds.add(best is None)
    assert kinds == {True, False} or solver != "scip"


def _one_row(values, side, **change):
    """max 5 x + 4 y + 3 z + 0.25 under one row."""
    keywords = {"upper": 4.0, "integer": True, "offset": 0.25} | change
    return from_triplets("f", "max", [5.0, 4.0, 3.0], [0, 0, 0], [0, 1, 2], values, [-np.inf], [side], **keywords)


def test_cp_sat_scales_fractions():
    """Decimals, thirds and a side between two multiples: the optimum that SCIP proves, with an equal bound."""
    for values, side in (([0.1, 0.25, 0.3], 1.0), ([1 / 3, 0.5, 2 / 7], 2.1), ([2.0, 3.0, 1.0], 5.999), ([0.1, 0.1, 0.1], 0.3)):
        instance = _one_row(values, side)
        exact, other = (corl.solve(instance, solver=solver, time_limit=300) for solver in ("cp-sat", "scip"))
        assert exact.status == "optimal" and exact.objective == exact.bound == pytest.approx(other.objective, rel=1e-9), values


@pytest.mark.parametrize(
    ("values", "change", "reason"),
    [
        ([1.0, 2.0, 3.0], {"integer": [True, False, True]}, "variable x2 is continuous"),
        ([1.0, 2.0, 3.0], {"upper": [1.0, 1.0, np.inf]}, "variable x3 has no limits"),
        ([1.0, 2.0**0.5, 3.0], {}, r"1.4142135623730951 in constraint c1"),
        ([1 / 997, 1 / 991, 1 / 983], {}, "no common denominator in constraint c1"),
        ([1.0, 2.0, 2e17], {"upper": 1e9}, "constraint c1 may reach"),
    ],
)
def test_cp_sat_refuses_by_name(values, change, reason):
    """What it cannot hold exactly is an error that names the variable or the row, not a rounded answer."""
    with pytest.raises(corl.UsageError, match=reason):
        corl.solve(_one_row(values, 9.0, **change), solver="cp-sat", time_limit=300)


def test_cp_sat_begins_from_a_warm_start():
    """The start is reported at once and hinted to the engine."""
    instance = multiple_knapsack(items=12, knapsacks=2, seed=4)
    best = corl.solve(instance, solver="cp-sat", time_limit=300)
    again = corl.solve(instance, solver="cp-sat", warm_start=best.solution, time_limit=300)
    assert best.status == again.status == "optimal" and again.objective == best.objective == again.trace[0][1]


def test_programs_without_rows_or_integers():
    """Bounds alone, and a linear program."""
    for solver in ("scip", "highs"):
        free = from_triplets("b", "min", [1.0, -2.0], [], [], [], [], [], lower=-1.5, upper=2.5, integer=[False, True])
        assert corl.solve(free, solver=solver, time_limit=300).objective == -5.5
        linear = from_triplets("l", "max", [1.0, 1.0], [0, 0], [0, 1], [2.0, 1.0], [-np.inf], [3.0], upper=2.0)
        assert corl.solve(linear, solver=solver, time_limit=300).objective == pytest.approx(2.5, abs=1e-9)


def test_iterations_give_the_same_bits():
    """Nodes are counted, and a seed gives the same solution, objective and bound."""
    instance = set_cover(rows=60, columns=120, density=0.08, seed=5)
    one, two = (corl.solve(instance, solver="scip-pscost", iterations=3, seed=7) for _ in range(2))
    assert np.array_equal(one.solution, two.solution)
    assert one.limit in ("iterations", "optimal") and one.objective == two.objective and one.bound == two.bound


def test_a_warm_start_is_used():
    """The optimum as a start is the answer of a run that may look at one node only."""
    instance = set_cover(rows=30, columns=60, density=0.1, seed=1)
    best = corl.solve(instance, iterations=200)
    again = corl.solve(instance, warm_start=best.solution, iterations=1)
    assert again.objective <= best.objective and again.trace[0][1] == best.objective


@pytest.mark.chance
def test_time_limits_end_both_engines():
    """A limit that is far too short: a result that says so, with whatever there is."""
    instance = multiple_knapsack(items=100, knapsacks=12, correlation="strong", seed=3)
    for solver in ("scip", "highs"):
        result = corl.solve(instance, solver=solver, time_limit=0.05)
        assert result.limit in ("time_limit", "optimal")


def test_auto_and_files(tmp_path):
    """`auto` is SCIP; a packed file and its .sol file go through the whole path."""
    instance = multiple_knapsack(items=10, knapsacks=2, seed=2)
    MILP.write(instance, tmp_path / "k.mps.gz")
    result = corl.solve(tmp_path / "k.mps.gz", time_limit=300)
    assert (result.solver, result.status) == ("scip", "optimal")
    result.write(tmp_path / "k.sol")
    assert MILP.evaluate(instance, MILP.read_solution(instance, tmp_path / "k.sol")) == result.objective


def test_shipped_suites():
    """Minimised and maximised halves can be read; the standard ones have every engine but full strong branching."""
    from corl.benchmark.running.suite import read_suite

    for name in ("smoke", "smoke-max", "standard", "standard-max"):
        read = read_suite(f"milp/{name}")
        labels = {lineup.label for lineup in read.lineups}
        assert len(read.sources) >= 2 and labels >= {"scip-pscost", "highs"}, name
        assert "standard" not in name or labels == {*RULES[:3], "learned-branching", "highs", "cp-sat"}


@pytest.mark.long
def test_shared_optima(data):
    """Files of MIPLIB 3 that take seconds: the published optimum."""
    names = ("flugpl", "p0033", "egout", "gen", "rgn", "stein27")
    with open(data / "milp" / "OPTIMA.csv", encoding="utf-8", newline="") as file:
        optima = {row["instance"]: float(row["optimum"]) for row in csv.DictReader(file)}
    for name in names:
        result = corl.solve(data / "milp" / "miplib3" / f"{name}.mps.gz", time_limit=600)
        assert result.status == "optimal" and result.objective == pytest.approx(
            optima[f"miplib3/{name}.mps.gz"], rel=1e-5
        )  # as many digits as all are published with


@pytest.mark.parametrize("solver", ["scip", "highs"])
def test_nothing_is_proved_of_rows_spread_too_widely(solver):
    """x <= 10^10 (y - 1) but for rounding: (4, 2) is worth -2, and HiGHS calls the -1 of (2, 1) optimal. 10^7 is believed."""
    for size, believed in ((5e9, False), (5e6, True)):
        instance = from_triplets("t", "min", [-4.0, 7.0], [0, 0], [0, 1], [0.5, -size], [-np.inf], [-size], upper=4, integer=True)
        result = corl.solve(instance, solver=solver, time_limit=300)
        assert (result.status, result.bound is not None) == (("optimal", True) if believed else ("feasible", False))


def test_numbers_as_good_as_infinite_are_refused():
    """1e308 in the matrix, the objective or its constant was "error in input data" in SCIP, a status code in HiGHS."""
    for change in ({"c": 1e308}, {"value": 1e20}, {"offset": -1e300}):
        values = {"c": 1.0, "value": 1.0, "offset": 0.0} | change
        with pytest.raises(corl.InputError, match=r"accepted: numbers below 1e\+20"):
            from_triplets("t", "min", [values["c"]], [0], [0], [values["value"]], [0.0], [1.0], offset=values["offset"])
