"""Milp as the rest of corl sees it: the judge, the generators, JSON, pictures."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

import corl
from corl.cli.main import main
from corl.cli.solve import _text
from corl.errors import Infeasible, InputError, UsageError
from corl.problems.milp.evaluation import check
from corl.problems.milp.generators import GENERATORS, auctions, facility_location, independent_set, multiple_knapsack, set_cover
from corl.problems.milp.instance import from_triplets
from corl.problems.milp.problem import Milp

MILP = Milp()
SMALL = from_triplets(
    "small",
    "max",
    [5, 4, 1],
    [0, 0, 1, 1],
    [0, 1, 1, 2],
    [6, 4, 1, -1],
    [-np.inf, -2],
    [24, 6],
    upper=[10, 10, 3.5],
    integer=[True, True, False],
    offset=1.0,
    names=["a", "b", "c"],
)


@pytest.mark.parametrize(
    ("x", "word"),
    [
        ([0, 0], "each of 3"),
        ([0, 0, np.nan], "c has no finite"),
        ([0, -1, 0], "variable b"),
        ([0, 0, 3.6], "variable c"),
        ([0.5, 0, 0], "variable a is 0.5, not an integer"),
        ([4, 1, 0], "constraint c1"),
        ([0, 0, 2.5], "constraint c2"),
        ("x", "numbers"),
    ],
)
def test_infeasible_solutions(x, word):
    """The first broken bound, integer or row is named."""
    with pytest.raises(Infeasible, match=word):
        MILP.evaluate(SMALL, x)


def test_tolerances():
    """A millionth is forgiven, ten are not: at bounds, integers and rows, in proportion to what is large in them."""
    big = from_triplets(
        "big", "min", [1.0, 0.0], [0, 0], [0, 1], [1.0, -1e6], [-np.inf], [0.0], upper=[np.inf, 1.0], integer=[False, True]
    )
    assert MILP.evaluate(SMALL, [4 + 9e-7, -9e-7, 0]) == pytest.approx(21, abs=1e-5)
    assert MILP.evaluate(big, [1e6 + 0.9, 1]) == 1e6 + 0.9
    for program, x in ((SMALL, [3 + 1e-5, 0, 0]), (SMALL, [0, 0, -1e-5]), (SMALL, [4, 1e-5, 0]), (big, [1e6 + 10, 1])):
        with pytest.raises(Infeasible):
            check(program, x)


def test_evaluation_is_that_of_the_definition(random_program):
    """On a grid of points: feasible where all limits hold in plain Python, and worth the plain sum."""
    seen = 0
    for seed in range(30):
        program = random_program(seed)
        dense = program.matrix.toarray().tolist()
        for x in itertools.islice(itertools.product([-3.0, 0.0, 0.5, 1.0, 2.0], repeat=program.n), 200):
            sums = [sum(a * b for a, b in zip(row, x)) for row in dense]
            inside = all(low <= v <= high for low, v, high in zip(program.lower, x, program.upper))
            whole = all(v == int(v) for v, flag in zip(x, program.integer) if flag)
            gaps = [min(s - low, high - s) for low, s, high in zip(program.row_lower, sums, program.row_upper)]
            if any(abs(gap) < 1e-4 for gap in gaps):
                continue
            expected = inside and whole and all(gap > 0 for gap in gaps)
            try:
                value = MILP.evaluate(program, x)
            except Infeasible:
                assert not expected
            else:
                seen += 1
                plain = sum(a * b for a, b in zip(program.c.tolist(), x)) + program.offset
                assert expected and value == pytest.approx(plain, abs=1e-12)
    assert seen > 20


def test_the_sense_is_the_instance_s():
    """`of` gives a problem that compares as the instance wants; both are the one that is registered."""
    from corl import registry

    up, down = MILP.with_sense_of(SMALL), MILP.with_sense_of(set_cover(rows=5, columns=10, density=0.4))
    assert (up.sense, down.sense) == ("max", "min") and up.better(2, 1) and not down.better(2, 1)
    assert up.name == down.name == "milp" and registry.problem_of(SMALL).name == "milp"


def test_json():
    """Names and values, zeros left out, and back; what is no solution is refused."""
    value = json.loads(json.dumps(MILP.to_json(SMALL, np.array([2.0, 0.0, 0.25]))))
    assert value == {"a": 2.0, "c": 0.25} and MILP.from_json(SMALL, value).tolist() == [2, 0, 0.25]
    for bad in ([1, 2, 3], {"a": "x"}, {"q": 1}, {"a": True}, None):
        with pytest.raises(InputError):
            MILP.from_json(SMALL, bad)


@pytest.mark.parametrize("kind", GENERATORS)
def test_generators_are_functions_of_their_seed(kind):
    """The same seed gives the same program, another another; what `corl info` says of it are JSON values."""
    sizes = {
        "set-cover": {"rows": 20, "columns": 40, "density": 0.1},
        "auctions": {"items": 10, "bids": 30},
        "facility-location": {"customers": 4, "facilities": 3},
        "independent-set": {"nodes": 20},
        "multiple-knapsack": {"items": 8, "knapsacks": 2},
        "generalised-assignment": {"jobs": 8, "agents": 2},
        "lot-sizing": {"items": 2, "periods": 4},
        "network-design": {"nodes": 5, "arcs": 9, "commodities": 3},
    }[kind]
    one, two, other = (GENERATORS[kind](**sizes, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(getattr(one, f), getattr(two, f)) for f in ("c", "first", "column", "value", "row_upper"))
    assert not np.array_equal(one.c, other.c) or not np.array_equal(one.column, other.column)
    facts = MILP.describe(one)
    assert json.loads(json.dumps(facts)) == facts and facts["variables"] == one.n
    with pytest.raises(UsageError, match="accepted: "):
        GENERATORS[kind](**{**sizes, next(iter(sizes)): -1})


def test_set_covers_are_as_balas_and_ho_say():
    """The density to the entry, two columns a row, a row a column, costs 1..100; all columns cover everything."""
    program = set_cover(rows=50, columns=100, density=0.05)
    dense = program.matrix.toarray()
    assert dense.sum() == 250 and dense.sum(1).min() >= 2 and dense.sum(0).min() >= 1 and set(np.unique(program.value)) == {1.0}
    assert program.c.min() >= 1 and program.c.max() <= 100 and MILP.evaluate(program, np.ones(100)) == program.c.sum()


def test_auctions_sell_each_item_once():
    """A row an item that is bid on and a row a bidder with several bids; prices above 0; one bid alone can win."""
    program = auctions(items=20, bids=60)
    assert (program.n, program.sense, program.binary.all()) == (60, "max", True) and program.c.min() > 0
    assert MILP.evaluate(program, np.eye(60)[7]) == program.c[7] and set(program.row_upper) == {1.0}


def test_facilities_that_are_all_open_can_serve():
    """With everything open, customers served in proportion to the capacities: feasible, since there is `ratio` times enough."""
    program = facility_location(customers=6, facilities=4)
    share = np.full(24, 0.25)
    capacity = -program.value[program.row_lower.size * 0 :][(program.value < -1) & (program.column >= 24)]
    demand = program.value[program.first[6] : program.first[7] - 1]
    share = np.tile(capacity / capacity.sum(), 6)
    assert capacity.sum() >= 5 * demand.sum() and MILP.evaluate(program, np.append(share, np.ones(4))) > 0
    assert program.integer.sum() == 4


def test_independent_sets_are_those_of_the_graph():
    """The cliques hold the right number of edges, and brute force over the rows agrees with brute force over the edges."""
    program = independent_set(nodes=12, affinity=3)
    pairs = {
        pair
        for i in range(program.m)
        for pair in itertools.combinations(program.column[program.first[i] : program.first[i + 1]].tolist(), 2)
    }
    assert len(pairs) == 3 + 8 * 3
    for bits in itertools.product([0, 1], repeat=12):
        independent = not any(bits[a] and bits[b] for a, b in pairs)
        try:
            assert MILP.evaluate(program, bits) == sum(bits) and independent
        except Infeasible:
            assert not independent


@pytest.mark.parametrize("correlation", ["uncorrelated", "weak", "strong", "subset-sum"])
def test_knapsacks(correlation):
    """Capacities are half of the weights together; profits go with weights as asked."""
    program = multiple_knapsack(items=30, knapsacks=3, correlation=correlation, seed=4)
    weight, profit = program.value[:30], program.c.reshape(30, 3)[:, 0]
    assert program.row_upper[:3].sum() == weight.sum() // 2 and weight.min() >= 10 and weight.max() <= 1000 and profit.min() >= 1
    spread = {"uncorrelated": 990, "weak": 99, "strong": 10, "subset-sum": 0}[correlation]
    assert np.abs(profit - weight).max() <= spread


def test_instances_are_checked():
    """Wrong shapes, entries given twice, numbers that are none: InputErrors that name the field."""
    good = {
        "name": "p",
        "sense": "min",
        "c": [1.0, 2.0],
        "rows": [0],
        "columns": [1],
        "values": [1.0],
        "row_lower": [0.0],
        "row_upper": [1.0],
    }
    from_triplets(**good)
    for change in (
        {"sense": "up"},
        {"c": [1.0, np.nan]},
        {"rows": [1]},
        {"columns": [2]},
        {"rows": [0, 0], "columns": [1, 1], "values": [1.0, 1.0]},
        {"row_lower": [np.nan]},
        {"row_lower": [np.inf]},
        {"lower": [np.inf, 0]},
        {"names": ["x", "x"]},
        {"names": ["x"]},
        {"values": [np.inf]},
    ):
        with pytest.raises(InputError):
            from_triplets(**(good | change))


def test_pictures():
    """A mark an entry, with and without a solution."""
    from matplotlib.figure import Figure

    for solution in (None, np.array([2.0, 1.0, 0.0])):
        axes = Figure().add_subplot()
        MILP.draw(SMALL, solution, axes)
        assert len(axes.collections[0].get_offsets()) == SMALL.nonzeros and ("objective 15" in axes.get_title()) == (
            solution is not None
        )


def test_importing_the_problem_is_light():
    """Finding the problem, for `corl list` or to recognise a file, loads NumPy and nothing heavier."""
    heavy = ("numba", "scipy", "matplotlib", "networkx", "torch", "ortools", "pyscipopt")
    code = "import sys, corl.problems.milp.problem as p; p.Milp().recognises('NAME\\nROWS\\n');"
    code += f"print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([2.0, 1.0], ""), ([2.0, 1.0 + 1e-12], ""), ([2.0, 1.0 + 4e-7], "constraint c1 is broken by 4e-07"),
        ([2.0 - 3e-7, 1.0], "integer variable x1 is broken by 3e-07"), ([0.0, -5e-7], "variable x2 is broken by 5e-07"),
        ([2.0 + 2e-7, 1.0 + 6e-7], "constraint c1 is broken by 6e-07"),
    ],
)  # fmt: skip
def test_what_is_feasible_within_the_tolerance_alone_is_said(x, words, tmp_path, capsys):
    """The largest violation of x1 + x2 <= 3, x >= 0, x1 integer: in the Result, its JSON, by `corl solve` and `corl check`."""
    instance = from_triplets("t", "max", [1.0, 1.0], [0, 0], [0, 1], [1.0, 1.0], [-np.inf], [3.0], integer=[True, False])
    path = tmp_path / "t.mps"
    Milp().write(instance, path)
    (tmp_path / "x.json").write_text(json.dumps({"x1": x[0], "x2": x[1]}))
    result = corl.solve(instance, solver="scip", warm_start=np.array(x), target=-1.0)
    assert Milp().tolerance_note(instance, np.array(x)).startswith(words) and result.limit == "target"
    assert result.tolerated == json.loads(result.to_json())["tolerated"] == Milp().tolerance_note(instance, np.array(x))
    assert bool(result.tolerated) is bool(words) and result.status == "feasible"
    assert main(["check", str(path), str(tmp_path / "x.json")]) == 0
    assert capsys.readouterr().out.count("within the tolerance 1e-06") == bool(words)
    assert main(["check", str(path), str(tmp_path / "x.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tolerated"] == result.tolerated
    assert _text(result, "scip").count("\n  tolerated  ") == bool(words)


def test_a_solved_model_gives_values_by_name():
    """A row for each variable of a pyscipopt Model, by the name that it has there."""
    pyscipopt = pytest.importorskip("pyscipopt", reason="the Model is pyscipopt's")
    model = pyscipopt.Model()
    take = [model.addVar(name, vtype="I", ub=3) for name in ("bread", "cake")]
    model.addCons(2 * take[0] + 3 * take[1] <= 7)
    model.setObjective(3 * take[0] + 5 * take[1], "maximize")
    result = corl.solve(model, time_limit=5)
    assert result.objective == 11
    assert result.table() == [
        {"variable": "bread", "value": 2.0, "objective": 3.0}, {"variable": "cake", "value": 1.0, "objective": 5.0},
    ]  # fmt: skip
    assert dict(zip(result.data.names, result.solution)) == {"bread": 2, "cake": 1}
