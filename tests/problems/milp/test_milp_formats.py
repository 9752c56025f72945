"""MPS, LP and .sol files: what they mean, exact round trips, and nothing but InputError for anything else."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pyscipopt
import pytest

from corl.errors import InputError, UsageError
from corl.files.text import Text
from corl.problems.milp.formats import read_instance, read_text, recognises, write_instance
from corl.problems.milp.formats.models import adapt
from corl.problems.milp.formats.solutions import read_solution, write_solution
from corl.problems.milp.instance import from_triplets

MPS = """* a comment
NAME          TEST
ROWS
 N  COST
 N  OTHER
 L  LIM1
 G  LIM2
 E  MYEQN
 E  NEGEQ
COLUMNS
    X         COST         1.0   LIM1         1.0
    X         LIM2         1.0   OTHER        7.0
    M1        'MARKER'                 'INTORG'
    Y         COST         2.0   LIM1         1.0
    Z         COST        -1.0   MYEQN        1.0
    B         MYEQN        2.0   NEGEQ        1.0
    M2        'MARKER'                 'INTEND'
    W         LIM2         1.0
    V         NEGEQ        1.0
    U         COST         0.0
    T         COST         1.0
    S         COST         1.0
RHS
    RHS       COST       -12.5   LIM1         4.0
    RHS       LIM2         1.0   MYEQN        7.0
    RHS       NEGEQ        5.0
    OTHER     LIM1       100.0
RANGES
    RNG       LIM1         2.5   LIM2         3.0
    RNG       MYEQN        4.0   NEGEQ       -4.0
BOUNDS
 UP BND       X            4.0
 LO BND       Y           -1.0
 UP BND       Y            1.0
 BV BND       W
 FR BND       V
 MI BND       U
 UI BND       T            9.0
 UP BND       S           -3.0
ENDATA
"""
LP = """\\ a comment
Maximize
 obj: 3 x1 + 2.5 x2 - x3 + 4
  - .5e1 [NOT] \\ the rest of a line
Subject To
 c1: x1 + x2
   <= 10
 -5 <= x1 - 2 x3 <= 5
 r: 2 >= x3
 x1 + x1 >= -1e30
 e: x2 = - 3
Bounds
 -inf <= x2 <= 8
 x1 <= 4
 -2 <= x3
 y free
 z = 7
Generals
 x3 z
Binary
 b
End
""".replace("[NOT]", "w[1,2]")


def read(content):
    return read_text(Text(content, "f.lp"), "f")


def fault(content):
    """The InputError that reading `content` raises; its message is one line that begins with the file."""
    with pytest.raises(InputError) as error:
        read(content)
    assert "\n" not in str(error.value) and str(error.value).startswith("f.lp")
    return error.value


def same(a, b, rows_exact=True):
    """Whether two instances agree to the bit (the upper sides of rows to rounding where not rows_exact)."""
    arrays = ("c", "first", "column", "value", "row_lower", "lower", "upper", "integer")
    exact = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
    sides = np.array_equal(a.row_upper, b.row_upper) if rows_exact else np.allclose(a.row_upper, b.row_upper, 1e-15, 1e-15)
    rest = ("name", "sense", "offset", "names", "row_names", "comment")
    return exact and sides and all(getattr(a, name) == getattr(b, name) for name in rest)


def test_mps_means_what_it_says():
    """Ranges by kind and sign, the objective's constant, defaults of integers, every kind of bound, further sets ignored."""
    program = read(MPS)
    assert (program.name, program.sense, program.offset, program.comment) == ("TEST", "min", 12.5, "a comment")
    assert program.names == ("X", "Y", "Z", "B", "W", "V", "U", "T", "S")
    assert dict(zip(program.row_names, zip(program.row_lower, program.row_upper))) == {
        "LIM1": (1.5, 4.0),
        "LIM2": (1.0, 4.0),
        "MYEQN": (7.0, 11.0),
        "NEGEQ": (1.0, 5.0),
    }
    inf = math.inf
    bounds = [(0, 4), (-1, 1), (0, 1), (0, 1), (0, 1), (-inf, inf), (-inf, inf), (0, 9), (-inf, -3)]
    assert list(zip(program.lower, program.upper)) == bounds
    assert program.integer.tolist() == [False, True, True, True, True, False, False, True, False]
    assert program.matrix.toarray().tolist()[0] == [1, 1, 0, 0, 0, 0, 0, 0, 0] and program.c[2] == -1


def test_mps_in_fixed_columns_may_have_blanks_in_names():
    """Free format is tried first; where that fails the fields are cut at their columns."""
    text = (
        "NAME          A B\nROWS\n N  MY COST\n L  ROW 1\n"
        f"COLUMNS\n    {'COL 1':<10}{'MY COST':<10}{'2.':>12}   {'ROW 1':<10}{'-1.':>12}\n"
        f"RHS\n    RHS       {'ROW 1':<10}{'4.':>12}\nBOUNDS\n UP BND       {'COL 1':<10}{'9.':>12}\nENDATA\n"
    )
    program = read(text)
    assert (program.names, program.row_names) == (("COL 1",), ("ROW 1",))
    assert (program.c[0], program.value[0], program.row_upper[0], program.upper[0]) == (2, -1, 4, 9)


def test_mps_sense_and_names_of_sets_left_out():
    """OBJSENSE on its own line or behind; RHS and BOUNDS without the names of their sets; OBJNAME."""
    body = "ROWS\n N a\n N c\n L r\nCOLUMNS\n x c 1 r 2\nRHS\n r 3\nBOUNDS\n UP x 5\n FR x\nENDATA\n"
    for head in ("NAME\nOBJSENSE\n MAX\n", "OBJSENSE MAXIMIZE\n"):
        program = read(f"{head}OBJNAME\n c\n{body}")
        assert (program.sense, program.c.tolist(), program.row_upper.tolist()) == ("max", [1], [3])
        assert (program.lower[0], program.upper[0]) == (-math.inf, math.inf)


def test_ranges_may_stand_before_the_sides():
    """A range is taken from the row's right-hand side, wherever in the file that is."""
    program = read("NAME\nROWS\n N a\n L l\n G g\nCOLUMNS\n x l 1 g 2\nRANGES\n R l 2 g 3\nRHS\n R l 3 g 1\nENDATA\n")
    assert (program.row_lower.tolist(), program.row_upper.tolist()) == ([1, 1], [3, 4])


def test_lp_means_what_it_says():
    """Constants, ranges, sides on the left, unnamed rows, brackets in names, bounds of every form, integers and binaries."""
    program = read(LP)
    inf = math.inf
    assert (program.sense, program.offset, program.names) == ("max", 4.0, ("x1", "x2", "x3", "w[1,2]", "y", "z", "b"))
    assert program.c.tolist() == [3, 2.5, -1, -5, 0, 0, 0] and program.row_names == ("c1", "c2", "r", "c4", "e")
    assert list(zip(program.row_lower, program.row_upper)) == [(-inf, 10), (-5, 5), (-inf, 2), (-inf, inf), (-3, -3)]
    assert list(zip(program.lower, program.upper)) == [(0, 4), (-inf, 8), (-2, inf), (0, inf), (-inf, inf), (7, 7), (0, 1)]
    assert program.integer.tolist() == [False, False, True, False, False, True, True]
    assert program.matrix.toarray()[3].tolist() == [2, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("name", ["a.mps", "a.lp", "a.mps.gz", "a.lp.gz"])
def test_written_files_read_back(tmp_path, random_program, name):
    """The same instance, packed or not; its file is recognised as one."""
    for seed in range(40):
        program = random_program(seed)
        write_instance(program, tmp_path / name)
        again = read_instance(tmp_path / name)
        if ".lp" in name:  # the format has no name
            assert again.name == "a"
            again = replace(again, name=program.name)
        assert same(program, again, rows_exact=".lp" in name), seed
        assert recognises(Text.read(tmp_path / name).content[:4096])


def test_scip_reads_what_is_written(tmp_path, random_program):
    """SCIP finds the same program in both formats, and through a Model it comes back."""
    for seed in range(8):
        program = random_program(seed)
        program = replace(program, names=tuple(f"v#{j}" for j in range(program.n)))  # SCIP's LP reader takes no brackets
        for name in ("a.mps", "a.lp"):
            if name == "a.lp":  # nor rows with two sides
                sides = np.where(program.row_lower == program.row_upper, program.row_upper, np.inf)
                program = replace(program, row_upper=np.where(np.isfinite(program.row_lower), sides, program.row_upper))
            write_instance(program, tmp_path / name)
            model = pyscipopt.Model()
            model.hideOutput()
            model.readProblem(str(tmp_path / name))
            found = adapt(model)
            place = [found.index[v] for v in program.names]
            for field in ("c", "lower", "upper", "integer"):
                assert np.allclose(getattr(program, field), getattr(found, field)[place], 1e-14, 0), (seed, name, field)
            assert found.sense == program.sense and math.isclose(found.offset, program.offset, abs_tol=1e-15)


def test_models_are_adapted():
    """Variables, rows, sense and constant of a pyscipopt Model; what is not linear is refused by name."""
    model = pyscipopt.Model("m")
    x, y, z = model.addVar("x", "B"), model.addVar("y", "I", -2, 5), model.addVar("x", "C", None, None)
    model.addCons(x + 2 * y - z <= 3, "row")
    model.addCons((y + z <= 4) >= 1, "row")
    model.setObjective(3 * x - z + 7, "maximize")
    program = adapt(model)
    assert (program.sense, program.offset, program.c.tolist()) == ("max", 7, [3, 0, -1])
    assert program.names == ("x", "y", "x_2") and program.row_names == ("row", "row_2")
    assert program.matrix.toarray().tolist() == [[1, 2, -1], [0, 1, 1]] and program.integer.tolist() == [True, True, False]
    assert program.row_lower.tolist() == [-math.inf, 1] and program.row_upper.tolist() == [3, 4]
    model.addCons(x * y <= 2, "square")
    with pytest.raises(InputError, match="square: a nonlinear constraint"):
        adapt(model)
    with pytest.raises(InputError, match="accepted: a path or a pyscipopt Model"):
        adapt(np.zeros(3))


@pytest.mark.parametrize(
    ("before", "after", "line", "field"),
    [
        (" L  LIM1", " K  LIM1", 6, "ROWS"),
        (" L  LIM1", " G  LIM2", 7, "row"),
        ("COST         1.0   LIM1 ", "COST  1.x LIM1", 11, "X"),
        ("LIM2         1.0   OTHER", "LIMX         1.0   OTHER", 12, "LIMX"),
        ("'INTORG'", "'INT'", 13, "MARKER"),
        ("RANGES", "SOS1", 29, "SOS"),
        ("RANGES", "THINGS", 28, "THINGS"),
        ("RANGES", "ROWS", 28, "ROWS"),
        (" UP BND       X            4.0", " UQ BND X 4", 32, "BOUNDS"),
        (" UP BND       X            4.0", " UP BND Q 4", 32, "Q"),
        (" UP BND       X            4.0", " UP BND X nan", 32, "X"),
        ("ENDATA\n", "", 39, "ENDATA"),
        ("    X         LIM2", "    X         LIM1", 12, "X"),
        ("    W         LIM2         1.0", "    W LIM2", 18, "COLUMNS"),
        ("ROWS\n", "", 3, "NAME"),
        (" UP BND       X            4.0", " LO BND X 1e30", 32, "X"),
        (" UP BND       X            4.0", " UP BND X -inf", 32, "X"),
        (" UP BND       X            4.0", " FX BND X inf", 32, "X"),
    ],
)
def test_mps_faults(before, after, line, field):
    """Every fault names its line and its field."""
    error = fault(MPS.replace(before, after, 1))
    assert (error.line, error.field) == (line, field)


@pytest.mark.parametrize(
    ("before", "after", "line", "field"),
    [
        ("3 x1 + 2.5", "3 x1 2.5", 3, "objective"),
        ("c1: x1 + x2", "c1: x1 + [ x2 ^ 2 ]", 6, "c1"),
        ("c1: x1 + x2", "c1: x1 * x2", 6, "c1"),
        ("   <= 10", "   <= x", 7, "c1"),
        ("   <= 10", "", 8, "c1"),
        ("r: 2", "c1: 2", 9, "row"),
        ("r: 2 >= x3", "r: y = 1 -> x3 >= 2", 9, "r"),
        ("Bounds", "Semi-continuous", 13, "semi-continuous"),
        ("Generals", "SOS", 19, "sos"),
        ("x1 <= 4", "x1 <= four", 14, "x1"),
        ("x1 <= 4", "4 4", 14, "bound"),
        (" x3 z", " x3 3", 19, "general"),
        ("End", "End x", 22, "end"),
        ("Bounds", "Subject to", 12, "section"),
        ("   <= 10", "   <= -inf", 7, "c1"),
        ("x1 <= 4", "x1 >= inf", 14, "x1"),
        ("x1 <= 4", "-inf <= x1 <= -1e20", 14, "x1"),
        ("x1 <= 4", "inf <= x1 <= inf", 14, "x1"),
        ("c1: x1 + x2", "c1: x1 + - + x2", 6, "c1"),
        ("e: x2 = - 3", "e: x2 = - - - 3", 11, "e"),
        ("x1 <= 4", "- - - 4 <= x1", 14, "bound"),
    ],
)
def test_lp_faults(before, after, line, field):
    """Every fault names its line and its field."""
    error = fault(LP.replace(before, after, 1))
    assert (error.line, error.field) == (line, field)


def test_names_that_a_format_cannot_hold(tmp_path):
    """A UsageError, before anything is written."""
    for name, bad in (("a.lp", "3x"), ("a.lp", "free"), ("a.lp", "a b"), ("a.mps", "a b"), ("a.txt", "x")):
        program = from_triplets("p", "min", [1.0], [], [], [], [], [], names=[bad])
        with pytest.raises(UsageError):
            write_instance(program, tmp_path / name)


def test_a_name_without_an_ending_is_mps(tmp_path):
    """What `corl generate` sends to standard output has no name to tell the format by."""
    program = from_triplets("p", "max", [1.0, 2.0], [0], [1], [3.0], [-np.inf], [4.0], integer=True)
    write_instance(program, tmp_path / "program")
    assert same(read_instance(tmp_path / "program"), program)


def test_solution_files(tmp_path, random_program):
    """Written and read to the bit; SCIP's own are read, and ours by SCIP; faults are named."""
    program = from_triplets(
        "p",
        "max",
        [1, 2, 0],
        [0, 0],
        [0, 1],
        [1, 1],
        [-np.inf],
        [2.5],
        upper=4,
        integer=[True, False, False],
        names=["x", "a b", "z"],
    )
    path = tmp_path / "a.sol"
    solution = np.array([2.0, 0.1 + 0.2, 0.0])
    write_solution(program, solution, path)
    assert read_solution(program, path).tobytes() == solution.tobytes()
    path.write_text("solution status: optimal solution found\nobjective value:    3\nx      1 \t(obj:1)\na b    1 \t(obj:2)\n")
    assert read_solution(program, path).tolist() == [1, 1, 0]
    highs = "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 3\n# Columns 3\nx 1\na b 1\nz 0\n# Rows 1\n"
    path.write_text(f"{highs}c1 2\n\n# Dual solution values\nNone\n\n# Basis\nHiGHS_basis_file v2\nNone\n")
    assert read_solution(program, path).tolist() == [1, 1, 0]
    path.write_text("# Objective value = 2\nx 2\n")
    assert read_solution(program, path).tolist() == [2, 0, 0]
    for content, line, field in (("x 1\nq 2\n", 2, "q"), ("x 1\nx 2\n", 2, "x"), ("x one\n", 1, "x"), ("x\n", 1, None)):
        path.write_text(content)
        with pytest.raises(InputError) as error:
            read_solution(program, path)
        assert (error.value.line, error.value.field) == (line, field)


def test_shared_files(data):
    """The smaller files of MIPLIB 3 and of learn2branch are read and are as large as their catalogue says."""
    folder = data / "milp"
    if not folder.is_dir():
        pytest.skip("no shared MILP files")
    with open(folder / "OPTIMA.csv", encoding="utf-8", newline="") as file:
        names = [row["instance"] for row in csv.DictReader(file)]
    paths = [folder / name for name in names if (folder / name).is_file() and (folder / name).stat().st_size < 20_000]
    assert paths
    for path in paths:
        program = read_instance(path)
        assert program.n and program.m and program.nonzeros >= program.m // 2 and program.integer.any()
