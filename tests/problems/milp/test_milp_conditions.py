"""Semi-continuous variables, special ordered sets and indicators: the judge, the linear rows for engines, files."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import corl
from corl.errors import Infeasible, InputError, UsageError
from corl.files.text import Text
from corl.problems.milp.conditions import Conditions, OrderedSet
from corl.problems.milp.formats.lp_reader import read_lp
from corl.problems.milp.formats.mps_reader import read_mps
from corl.problems.milp.instance import from_triplets
from corl.problems.milp.linearisation import linear
from corl.problems.milp.problem import Milp

MILP = Milp()
LOW, HIGH = np.array([2, -1, -2, 0, 0, 0]), np.array([3, 2, 1, 2, 2, 1])
POINTS = [
    np.array(point, float) for point in itertools.product(range(4), range(-1, 3), range(-2, 2), range(3), range(3), range(2))
]


def program(seed, integer=True, sides=2):
    """Six variables, the first semi-continuous and the last binary; two sets of kinds 1 and 2, and rows with indicators."""
    random = np.random.default_rng(seed)
    dense = random.integers(-3, 4, (3, 6)).astype(float)
    rows, columns = np.nonzero(dense)
    sides = random.integers(0, 7, (2, 3)).astype(float) if sides == 2 else np.array([[np.inf] * 3, random.integers(0, 7, 3)])
    whole = np.arange(6) == 5 if not integer else True
    plain = from_triplets(
        f"p{seed}", ["min", "max"][seed % 2], random.integers(-9, 10, 6), rows, columns, dense[rows, columns], -sides[0],
        sides[1], lower=LOW, upper=HIGH, integer=whole, offset=1.5,
    )  # fmt: skip
    sets = (
        OrderedSet("one", 1, np.array([1, 2, 5], np.int32), np.array([1.0, 2.0, 4.0])),
        OrderedSet("two", 2, random.permutation(np.array([0, 1, 3, 4], np.int32)), np.array([1.0, 2.0, 3.0, 5.0])),
    )
    indicator = np.array([5, -1, 5], np.int32)
    conditions = Conditions(np.arange(6) == 0, sets, indicator, np.array([seed // 2 % 2, 0, 1], np.int8))
    return replace(plain, conditions=conditions)


def permitted(instance, x):
    """Whether the definitions of all conditions hold, for whole numbers x."""
    conditions = instance.conditions
    if any(value not in range(low, high + 1) and not (free and value == 0)
           for value, low, high, free in zip(x, LOW.tolist(), HIGH.tolist(), conditions.semicontinuous)):  # fmt: skip
        return False
    activity = instance.matrix @ x
    for i, (j, active) in enumerate(zip(conditions.indicator, conditions.active)):
        if (j < 0 or x[j] == active) and not instance.row_lower[i] <= activity[i] <= instance.row_upper[i]:
            return False
    for ordered in conditions.sets:
        used = [k for k, j in enumerate(ordered.columns) if x[j] != 0]
        if len(used) > ordered.kind or (len(used) == 2 and used[1] != used[0] + 1):
            return False
    return True


def judged(instance, x):
    try:
        return MILP.evaluate(instance, x)
    except Infeasible:
        return None


@pytest.mark.parametrize("seed", range(6))
def test_the_judge_follows_the_definitions(seed):
    """On each point of a grid; and the linear rows, extended by the further variables, say the same."""
    instance = program(seed)
    rows = linear(instance)
    allowed = 0
    for x in POINTS[::7]:
        allowed += permitted(instance, x)
        assert (judged(instance, x) is not None) == permitted(instance, x), x
        extended = rows.extend(x)
        assert len(extended) == rows.program.n and (judged(rows.program, extended) is not None) == permitted(instance, x), x
    assert allowed


@pytest.mark.parametrize("solver", ["scip", "highs", "cp-sat"])
def test_optima(solver):
    """Solvers prove the optimum of enumeration, and return the instance's own variables."""
    for seed in range(3):
        instance = program(seed)
        values = [instance.c @ x + instance.offset for x in POINTS if permitted(instance, x)]
        result = corl.solve(instance, solver=solver, time_limit=300)
        assert result.objective == (max if instance.sense == "max" else min)(values)
        assert result.status == "optimal" and len(result.solution) == instance.n
        again = corl.solve(instance, solver=solver, time_limit=300, warm_start=result.solution)
        assert again.objective == result.objective


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_scip_reads_the_same_program(tmp_path, suffix):
    """A written file is read as an equal program, and SCIP's own readers and constraint handlers find the same optimum."""
    import pyscipopt

    for seed in range(3):
        instance = program(seed, integer=False, sides=1)
        path = tmp_path / f"p{seed}{suffix}"
        MILP.write(instance, path)
        again = MILP.read(path)
        for field in ("semicontinuous", "indicator", "active"):
            assert np.array_equal(getattr(instance.conditions, field), getattr(again.conditions, field)), field
        for ordered, other in zip(instance.conditions.sets, again.conditions.sets, strict=True):
            assert (ordered.name, ordered.kind) == (other.name, other.kind)
            assert np.array_equal(ordered.columns, other.columns) and np.array_equal(ordered.weights, other.weights)
        model = pyscipopt.Model()
        model.hideOutput()
        model.readProblem(str(path))
        model.optimize()
        ours = corl.solve(instance, solver="scip", time_limit=300)
        assert ours.status == model.getStatus() == "optimal"
        assert ours.objective == pytest.approx(model.getObjVal(), rel=1e-6)
        assert MILP.evaluate(again, ours.solution) == ours.objective


def test_what_counts_as_zero():
    """A value within the tolerance of 0 is 0; between 0 and its lower limit a semi-continuous variable has no value."""
    instance = from_triplets("", "min", [1.0], [], [], [], [], [], lower=2.0, upper=3.0)
    instance = replace(instance, conditions=Conditions(np.ones(1, bool), (), np.zeros(0, np.int32), np.zeros(0, np.int8)))
    assert MILP.evaluate(instance, [1e-7]) == 1e-7 and MILP.evaluate(instance, [2.5]) == 2.5
    for value, side in ((1.0, "below"), (-1e-3, "below"), (3.1, "above")):
        with pytest.raises(Infeasible, match=f"variable x1 is {side} its limit"):
            MILP.evaluate(instance, [value])
    assert corl.solve(instance, solver="scip", time_limit=60).objective == 0.0


LP = "min\n obj: x + b\nst\n c: b = 1 -> x >= 1\nbounds\n x <= 3\nbin\n b\nsos\n s: S1:: x:1 b:2\nend\n"
MPS = """ROWS
 N  obj
 G  c
COLUMNS
    x  obj  1  c  1
    b  obj  1
RHS
    RHS  c  1
BOUNDS
 SC BND  x  3
 BV BND  b
SOS
 S1 s
    x  1
    b  2
INDICATORS
 IF c  b  1
ENDATA
"""


@pytest.mark.parametrize(
    ("content", "before", "after", "line", "field", "words"),
    [
        (LP, "b = 1 ->", "b = 2 ->", 4, "c", "accepted: 0, 1"),
        (LP, "b = 1 ->", "b <-> 1", 4, "c", "one after a label"),
        (LP, "b = 1 ->", "x = 1 ->", 4, "c", "x is not binary"),
        (LP, "S1::", "S3::", 10, "s", "S1:: or S2::"),
        (LP, "x:1", "x:2", 10, "b", "a weight given twice"),
        (LP, "b:2", "x:2", 10, "x", "a member given twice"),
        (LP, "b:2", "y:2", 10, "y", "y is in the set s, without a limit"),
        (LP, " x <= 3\nbin\n b\nsos\n s: S1:: x:1 b:2\n", " x free\nbin\n b\n", 4, "c", "a term without limit"),
        (LP, "bin\n", "semi-continuous\n x\n b\nbin\n x\nbounds\n x <= 1\n b <= +inf\nend\n", 9, "b", "without a limit"),
        (MPS, " SC BND  x  3", " SC BND  x  1e30", 10, "x", "x is semi-continuous, without a limit"),
        (MPS, " S1 s\n", "", 13, "SOS", "S1 or S2"),
        (MPS, "    b  2", "    y  2", 15, "y", "no column"),
        (MPS, "    b  2", "    b  1", 15, "b", "a weight given twice"),
        (MPS, " IF c  b  1", " IF d  b  1", 17, "d", "no row"),
        (MPS, " IF c  b  1", " IF c  b", 17, "INDICATORS", "a binary column"),
        (MPS, " IF c  b  1", " IF c  b  1\n IF c  b  0", 18, "c", "an indicator already"),
    ],
)
def test_faults(content, before, after, line, field, words):
    """They are named with their line and field."""
    assert before in content
    with pytest.raises(InputError) as error:
        (read_mps if content is MPS else read_lp)(Text(content.replace(before, after, 1)))
    assert (error.value.line, error.value.field) == (line, field) and words in error.value.reason, str(error.value)


def test_other_writers_forms():
    """Weights after colons, a priority of the set, and the section's name before members are read."""
    forms = [
        MPS,
        MPS.replace(" S1 s\n    x  1\n    b  2", " S1 SOS s 5\n    SOS x:1\n    SOS b:2"),
        MPS.replace("SOS\n", "SOS1\n"),
    ]
    for form in forms:
        (ordered,) = read_mps(Text(form)).conditions.sets
        assert (ordered.name, ordered.kind, ordered.columns.tolist(), ordered.weights.tolist()) == ("s", 1, [0, 1], [1.0, 2.0])
    (ordered,) = read_lp(Text(LP.replace("sos\n", "sos2\n").replace("S1:: ", ""))).conditions.sets
    assert ordered.kind == 2 and read_lp(Text(LP)).conditions.sets[0].kind == 1


def test_lp_files_hold_one_side_of_a_row_with_an_indicator(tmp_path):
    """Other programs do not read two; an MPS file holds them."""
    with pytest.raises(UsageError, match=r"row c1, which has an indicator and two sides; accepted: .*\.mps"):
        MILP.write(program(0), tmp_path / "p.lp")
    MILP.write(program(0), tmp_path / "p.mps")
    assert np.array_equal(MILP.read(tmp_path / "p.mps").row_upper, program(0).row_upper)


def test_trees_of_such_programs_are_refused():
    """Branch and bound on the relaxation of linear rows does not know them."""
    with pytest.raises(InputError, match="accepted: linear rows and integer variables"):
        corl.problem("milp-branching").instance_type(program(1))
