"""LP and MPS files that others write: HiGHS (through SciPy's copy of it), OR-Tools, SCIP, and people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyscipopt
import pytest
from ortools.linear_solver.python import model_builder

from corl.errors import InputError
from corl.files.text import Text
from corl.problems.milp.formats import read_instance, read_text, write_instance
from corl.problems.milp.instance import MilpInstance

MANY = pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 400), marks=pytest.mark.long)], ids=("few", "many"))


def read(content: str) -> MilpInstance:
    return read_text(Text(content, "f.lp"), "f")


def meaning(program: MilpInstance) -> tuple[Any, ...]:
    """What a program says, whatever order and names of rows a file gives it: all numbers to 6 digits, rows as their sides."""
    variables = {
        name: (f"{cost + 0.0:.6g}", f"{low:.6g}", f"{high:.6g}", bool(whole))
        for name, cost, low, high, whole in zip(program.names, program.c, program.lower, program.upper, program.integer)
        if name != "Constant"  # OR-Tools' name for a variable that is 1
    }
    constant = program.offset + sum(float(program.c[program.index[name]]) for name in ("Constant",) if name in program.index)
    sides = set()
    for i, (low, high) in enumerate(zip(program.row_lower, program.row_upper)):
        at = slice(program.first[i], program.first[i + 1])
        entries = zip(program.column[at], program.value[at])
        terms = frozenset((program.names[j], f"{value:.6g}") for j, value in entries if value)
        sides |= {(terms, ">=", f"{low:.6g}")} if np.isfinite(low) else set()
        sides |= {(terms, "<=", f"{high:.6g}")} if np.isfinite(high) else set()
    return program.sense, f"{constant:.6g}", variables, sides


def rounded(program: MilpInstance) -> MilpInstance:
    """A program whose numbers have four digits, which every writer keeps, and names that every writer takes; no column is empty,
    for some writers leave those out."""
    value, cost = (np.array([float(f"{number:.4g}") or 1.0 for number in numbers]) for numbers in (program.value, program.c))
    names = tuple(f"v{j}" for j in range(program.n))
    return replace(program, value=value, c=cost, names=names, row_names=tuple(f"row{i}" for i in range(program.m)), offset=2.5)


# -------------------------------------------------------------------- other programs as writers
def with_highs(program: MilpInstance, path: Path) -> None:
    """Write a program with HiGHS."""
    core = pytest.importorskip("scipy.optimize._highspy._core")
    model, highs = core.HighsLp(), core._Highs()
    highs.setOptionValue("output_flag", False)
    model.num_col_, model.num_row_ = program.n, program.m
    model.col_cost_, model.col_lower_, model.col_upper_ = program.c, program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    matrix = model.a_matrix_
    matrix.format_, matrix.num_col_, matrix.num_row_ = core.MatrixFormat.kRowwise, program.n, program.m
    matrix.start_, matrix.index_, matrix.value_ = program.first, program.column, program.value
    model.integrality_ = [core.HighsVarType.kInteger if whole else core.HighsVarType.kContinuous for whole in program.integer]
    model.offset_, model.sense_ = program.offset, core.ObjSense.kMaximize if program.sense == "max" else core.ObjSense.kMinimize
    model.col_names_, model.row_names_ = list(program.names), list(program.row_names)
    assert highs.passModel(model) != core.HighsStatus.kError
    assert highs.writeModel(str(path)) != core.HighsStatus.kError


def with_ortools(program: MilpInstance, path: Path) -> None:
    """Write a program with OR-Tools."""
    model = model_builder.Model()
    variables = [
        model.new_var(low, high, bool(whole), name)
        for low, high, whole, name in zip(program.lower, program.upper, program.integer, program.names)
    ]
    for i, name in enumerate(program.row_names):
        at = slice(program.first[i], program.first[i + 1])
        terms = sum((variables[j] * value for j, value in zip(program.column[at].tolist(), program.value[at].tolist())), 0.0)
        model.add_linear_constraint(terms, float(program.row_lower[i]), float(program.row_upper[i]), name)
    cost = sum((variable * value for variable, value in zip(variables, program.c.tolist())), program.offset)
    (model.maximize if program.sense == "max" else model.minimize)(cost)
    text = model.export_to_mps_string() if path.suffix == ".mps" else model.export_to_lp_string()
    path.write_text(text, encoding="utf-8")


def with_scip(program: MilpInstance, path: Path) -> None:
    """Write a program with SCIP, which gets it from an MPS file of ours."""
    ours = path.with_name("ours.mps")
    write_instance(program, ours)
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(ours))
    model.writeProblem(str(path), verbose=False)


WRITERS = {"highs": with_highs, "ortools": with_ortools, "scip": with_scip}


@MANY
@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_other_programs(writer: str, suffix: str, seeds: range, random_program: Any, tmp_path: Path):
    """What HiGHS, OR-Tools and SCIP write of a program is read as that program."""
    path = tmp_path / f"theirs{suffix}"
    for seed in seeds:
        program = rounded(random_program(seed))
        left_out = np.isinf(program.lower) & (program.upper >= 0) & (program.upper < 9)
        if (writer, suffix) == ("ortools", ".lp") and left_out.any():
            continue  # OR-Tools leaves out such lower bounds, and what is left means 0
        WRITERS[writer](program, path)
        assert meaning(read_instance(path)) == meaning(program), path.read_text(encoding="utf-8")


# -------------------------------------------------------------------- conventions of people and of other writers
STYLES = {
    "minimal": "min x\nst\nx>=2\n",
    "upper case": "MINIMIZE\n OBJ: X\nSUBJECT TO\n C1: X >= 2\nBOUNDS\n X <= 9\nGENERALS\n X\nEND\n".replace("X", "x"),
    "such that": "minimum\n x\nsuch that\n x >= 2\nend\n",
    "s.t.": "minimise\n\nobj:\n+1 x\n\ns.t.\n\nc_1:\n+1 x\n>= 2\n\nbounds\n-inf <= x <= +inf\n\nend\n",
    "colon after subject to": "min\n x\nsubject to:\n x >= 2\n",
    "every section empty": "min\n x\nst\n x >= 2\nbounds\nbin\ngen\ngenerals\nint\nintegers\nbinaries\nsemi\nsemi-continuous\n"
    "sos\nsos1\nsos2\nlazy constraints\nuser cuts\ngeneral constraints\npwlobj\nend\n",
    "comments and blanks": "\\ first\n\nmin \\ here\n x \\ there\n\\ between\nst \\ too\n\tx\t>=\t2 \\ last\nend\n\n",
    "comment with stars": "\\* name *\\\nMinimize\nOBJ: x\nSubject To\n_C1: x >= 2\nEnd\n",
    "lines go on": "min\n obj:\n x\nst\n c1:\n  x\n  >=\n  2\nend\n",
    "no blanks": "min\nobj:1x+0y\nst\nc1:1x+0y>=2\nend\n",
    "signs apart": "min\n + 1 x + - 0 y\nst\n + 1 x >= + 2\nbounds\n - infinity <= x\n x <= + Infinity\nend\n",
    "range": "min\n x\nst\n 2 <= x + 0 y <= 9\nend\n",
    "range, larger side first": "min\n x\nst\n r: 9 >= x >= 2\nend\n",
    "strict signs mean the others": "min\n x\nst\n x > 2\n x < 9\n x =< 9\n x => 2\nend\n",
    "Fortran": "min\n 1.0D+00 x\nst\n 1.0D+00 x + 0.00d+00 y - .0D+00 z >= 2.0D+00\nbounds\n x <= 1.0D+20\nend\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_styles_of_lp_files(style: str):
    """However it is spelled, it is the same small program: minimise x, x at least 2."""
    program = read(STYLES[style])
    assert program.sense == "min" and dict(zip(program.names, program.c))["x"] == 1 and sum(program.c) == 1
    assert program.row_lower.max() == 2 and (program.value[program.column == program.index["x"]] == 1).all()
    assert program.upper[program.index["x"]] in (9, np.inf)


DIALECTS = {
    "pyomo": "\\* Source Pyomo model *\\\n\nmin \nx1:\n+1 x(1)\n-2 y\n\ns.t.\n\nc_e_a_:\n+1 x(1)\n+1 y\n= 4\n\n"
    "bounds\n -inf <= y <= 3\nend\n",
    "gurobi": "\\ Model m\nMinimize\n  x(1) - 2 y + 0 Constant\nSubject To\n R0: x(1) + y = 4\n R1: y >= -1e+30\nBounds\n"
    " -infinity <= y <= 3\n Constant = 1\nEnd\n",
    "glpk": "\\* Problem: unknown *\\\n\n"
    "Minimize\n obj: + x(1) - 2 y\n\nSubject To\n r.1: + x(1) + y = 4\n\nBounds\n -Inf <= y <= 3\n\nEnd\n",
    "jump": "minimize\nobj: 1 x(1) - 2 y\nsubject to\nc1: 4 <= 1 x(1) + 1 y <= 4\nBounds\nx(1) >= 0\n-infinity <= y <= 3\nEnd\n",
    "clp": "\\Problem name: \n\nMinimize\nobj: x(1) -2 y\nSubject To\nc1: 4<= x(1) + y<= 4\nBounds\n -1e+30 <= y <= 3\nEnd\n",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_of_lp_files(dialect: str):
    """As further programs write it, it is the same program: x - 2 y, x + y = 4, x from 0, y up to 3."""
    program = read(DIALECTS[dialect])
    x, y = program.index["x(1)"], program.index["y"]
    assert (program.c[x], program.c[y]) == (1, -2) and (program.row_lower[0], program.row_upper[0]) == (4, 4)
    bounds = [(program.lower[j], program.upper[j]) for j in (x, y)]
    assert bounds == [(0, np.inf), (-np.inf, 3)] and program.value.tolist()[:2] == [1, 1]


@pytest.mark.parametrize("objective", ["", " obj:", " 0", " obj: 0 x", " obj: + 0", " \\ nothing"])
def test_empty_objectives(objective: str):
    """A program without a goal has costs of 0."""
    program = read(f"min\n{objective}\nst\n c: x + y >= 2\nend\n")
    assert program.c.tolist() == [0, 0] and program.offset == 0


@pytest.mark.parametrize(
    ("objective", "constant"),
    [("x + 5", 5), ("5 + x", 5), ("obj: x - 2.5 ", -2.5), ("+ 1 x  -2.5\n + 4", 1.5), ("x + 1.5D+01", 15)],
)
def test_constants_in_the_objective(objective: str, constant: float):
    """They stand anywhere in it, and add up."""
    assert read(f"max\n {objective}\nst\n x <= 2\nend\n").offset == constant


@pytest.mark.parametrize(
    "name", ["x(1,_2)", "y[3]", "~r_2", "a.b", "Ünder", "e1", "x#$%&!", "'q'", "x{1}", "_c", "semi_1", "inf_1", "x\u00b2"]
)
def test_odd_names(name: str):
    """Names with characters that some writer puts into them, as variables, rows, and members of sections."""
    text = f"min\n 2 {name} - {name}\nst\n {name}: 3 {name} + y - {name} >= 2\nbounds\n 0 <= {name} <= 4\ngen\n {name}\nend\n"
    program = read(text)
    assert program.names == (name, "y") and program.row_names == (name,) and program.c.tolist() == [1, 0]
    assert program.value.tolist() == [2, 1] and program.upper[0] == 4 and program.integer.tolist() == [True, False]


REFUSED = {
    "a quadratic objective": ("min\n obj: x + [ x ^2 ] / 2\nst\n c: x >= 1\nend\n", 2, "objective", "quadratic"),
    "a quadratic row": ("min\n x\nst\n c: x >= 1\n d: x + [ x * y ] <= 2\n e: y <= 2\nend\n", 5, "d", "quadratic"),
    "a product": ("min\n x\nst\n c: x >= 1\n d: s + g * t <= 2\n e: y <= 2\nend\n", 5, "d", "quadratic"),
    "a power": ("min\n x\nst\n c: x >= 1\n d: - s + g - t ^ 2 <= 2\n e: y <= 2\nend\n", 5, "d", "quadratic"),
    "a square on the right": ("min\n x\nst\n c: x >= 1 + y ^ 2\n d: x <= 2\nend\n", 4, "c", "'y'"),
    "a variable on the right": ("min\n x\nst\n c: x >= y\n d: x <= 2\nend\n", 4, "c", "'y' on the right-hand side"),
    "a term on the right": ("min\n x\nst\n c: x >= 3 y\n d: x <= 2\nend\n", 4, "c", "'y' on the right-hand side"),
    "terms on the right": ("min\n x\nst\n c: x >= 3 - 2 y + z\n d: x <= 2\nend\n", 4, "c", "'y' on the right-hand side"),
    "in the last row": ("min\n x\nst\n c: x >= 3 - y\nbounds\n x <= 2\nend\n", 4, "c", "'y' on the right-hand side"),
    "with a side on the left": ("min\n x\nst\n c: 1 <= x <= 3 + y\n d: x <= 2\nend\n", 4, "c", "'y' on the right-hand side"),
    "two numbers": ("min\n x\nst\n c: x >= 3 + 4\n d: x <= 2\nend\n", 4, "c", "one number"),
    "no side": ("min\n x\nst\n c: x\n   + y\n d: x <= 2\nend\n", 5, "c", "without a side"),
    "no side in the last row": ("min\n x\nst\n c: x + y\nbounds\n x <= 2\nend\n", 4, "c", "the end of the section"),
    "an indicator": ("min\n x\nst\n c: b = 1 -> x <= 2\n d: x >= 1\nend\n", 4, "c", "indicator"),
    "semi-continuous": ("min\n x\nst\n c: x >= 1\nsemi-continuous\n x\nend\n", 6, "x", "semi-continuous"),
    "HiGHS's semi-continuous": ("min\n x\nst\n c: x >= 1\nbin\ngen\nsemi\n x\nend\n", 8, "x", "semi-continuous"),
    "special ordered sets": ("min\n x\nst\n c: x >= 1\nsos1\n s: x:1 y:2\nend\n", 6, "x", "without a limit"),
    "general constraints": ("min\n x\nst\n c: x >= 1\nGeneral Constraints\n g: x = MAX ( y )\n", 5, "General Constraints", "'g'"),
    "lazy constraints": ("min\n x\nst\n c: x >= 1\nlazy constraints\n g: x <= 3\nend\n", 5, "lazy constraints", "'g'"),
    "a number or a term": ("min\n D\nst\n c: 1.5D+10 x >= 1\nend\n", 4, "D", "or a term of variable D"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_linear_program(case: str):
    """It is named, at its own line, with the row or the section that it is in."""
    content, line, field, named = REFUSED[case]
    with pytest.raises(InputError) as error:
        read(content)
    assert (error.value.line, error.value.field) == (line, field) and named in error.value.reason


def test_a_linear_file_of_highs_with_semi_continuous_variables(tmp_path: Path):
    """HiGHS's own writer lists them in the section that is otherwise empty."""
    core = pytest.importorskip("scipy.optimize._highspy._core")
    highs = core._Highs()
    highs.setOptionValue("output_flag", False)
    highs.addVar(1.0, 4.0)
    highs.changeColIntegrality(0, core.HighsVarType.kSemiContinuous)
    highs.writeModel(str(tmp_path / "semi.lp"))
    program = read_instance(tmp_path / "semi.lp")
    assert program.conditions is not None and program.conditions.semicontinuous.tolist() == [True]
    assert (program.lower.tolist(), program.upper.tolist()) == ([1.0], [4.0])


def test_empty_sections_of_mps_files():
    """A section for what is not supported is skipped where it holds nothing, as in LP files."""
    head = "NAME\nROWS\n N c\n G r\nCOLUMNS\n x c 1.0D+00 r 2.5d0\nRHS\n RHS r 5.D0\n"
    program = read(f"{head}SOS1\nQUADOBJ\nENDATA\n")
    assert (program.c.tolist(), program.value.tolist(), program.row_lower.tolist()) == ([1], [2.5], [5])
    with pytest.raises(InputError) as error:
        read(f"{head}QUADOBJ\n x x 2\nENDATA\n")
    assert (error.value.line, error.value.field) == (9, "QUADOBJ")
