"""Plug-ins at fault: one line that names the distribution or the problem; everything else goes on."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import corl
from corl import registry
from corl.cli.main import main
from corl.errors import CorlError, InputError, SolverError, UsageError
from corl.learning.recipe import recipe_class

GOOD = """
from dataclasses import dataclass
import numpy as np
from corl.adapter import Problem
from corl.solver import Solver

@dataclass(frozen=True)
class Sum:
    numbers: np.ndarray
    name: str = ""

class Bad(Problem):
    name, title, instance_type = "bad", "a plug-in at fault", Sum
    def recognises(self, head):
        return head.startswith("BAD")
    def read(self, path):
        return Sum(np.arange(3.0), "read")
    def evaluate(self, instance, solution):
        return float((instance.numbers * solution).sum())

class Zero(Solver):
    title, iteration = "zeros", "one"
    def solve(self, instance, run):
        while run.budget(1):
            run.report(np.ones(3))
"""
POINTS = "[corl.problems]\nbad = {module}:Bad\n[corl.solvers]\nbad.zero = {module}:Zero\n"
_numbers = itertools.count()


@pytest.fixture
def plug_in(searched, tmp_path):
    """A function (changes of the module's text, its entry points): installs it and returns a file of its kind."""

    def install(changes: dict[str, str], points: str = POINTS, before: str = "") -> Path:
        module, text = f"bad_plugin_{next(_numbers)}", GOOD
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        folder = tmp_path / module
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{module}.py").write_text(before + text)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points.format(module=module))
        file = folder / "bad.txt"
        file.write_text("BAD\n")
        searched(folder)
        return file

    return install


def test_the_good_one_is_good(plug_in):
    """Without a fault the plug-in of these tests solves its file."""
    assert corl.solve(plug_in({}), iterations=3).verified


AT_IMPORT = ["import sys; sys.exit(3)", "raise SystemExit", "1 / 0", "import no_such_module", "def f(:", "raise KeyError"]
MALFORMED = ["[corl.problems]\nbad\n", "no section = x:y\n", "[corl.problems]\nbad = \n", "[corl.problems\n"]
IN_RECOGNISES = ["import sys; sys.exit(1)", "raise SystemExit", "1 / 0", "return head.nothing", "raise MemoryError"]
IN_READ = ["import sys; sys.exit(1)", "return {}[path]", "1 / 0", "return path.nothing", "raise RecursionError"]


@pytest.mark.parametrize("before", AT_IMPORT)
def test_at_import(plug_in, capfd, before):
    """The command goes on and lists the others; a line names the entry point and its distribution."""
    plug_in({}, before=before + "\n")
    assert main(["list", "problems"]) == 0
    out, err = capfd.readouterr()
    assert "tsp" in out and "knapsack" in out
    assert "bad_plugin_" in err and "of the distribution bad_plugin_" in err and "Traceback" not in err
    with pytest.raises(CorlError, match="cannot be loaded") as error:
        registry.problem("bad")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("points", MALFORMED)
def test_malformed_entry_points(plug_in, capfd, points):
    """A distribution's list of entry points that is damaged hides nobody else's."""
    plug_in({}, points)
    assert main(["list", "problems"]) == 0
    out, err = capfd.readouterr()
    assert "tsp" in out and "knapsack" in out and "Traceback" not in err


@pytest.mark.parametrize("fault", IN_RECOGNISES)
def test_in_recognises(plug_in, tmp_path, fault):
    """Other problems' files are still recognised; its own are not."""
    own = plug_in({'return head.startswith("BAD")': fault})
    problem = registry.problem("tsp")
    problem.write(problem.generators["uniform"](size=5), tmp_path / "t.tsp")
    assert registry.recognise(tmp_path / "t.tsp").name == "tsp"
    with pytest.raises(InputError, match="not recognised"):
        registry.recognise(own)


@pytest.mark.parametrize("fault", IN_READ)
def test_in_read(plug_in, fault, capfd):
    """A line, exit 3, that names the file and the problem."""
    own = plug_in({'return Sum(np.arange(3.0), "read")': fault})
    assert main(["solve", str(own)]) == 3
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and str(own) in err and "problem bad fails to read it" in err


@pytest.mark.parametrize(
    "fault",
    ["solution[:] = 0.0; return 1.0", "solution -= 1.0; return float(solution.sum())", "solution.sort(); return -1.0"],
)
def test_a_judge_that_changes_what_it_judges(plug_in, fault):
    """It is found out at the first solution."""
    reported = {"run.report(np.ones(3))": "run.report(np.array([2.0, 1.0, 3.0]))"}
    own = plug_in({"return float((instance.numbers * solution).sum())": fault} | reported)
    with pytest.raises(SolverError, match="problem bad changes the solution that it evaluates"):
        corl.solve(own, iterations=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("return float('nan')", "objective value nan"),
        ("return 1 / 0", "ZeroDivisionError"),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("return 'much'", "ValueError"),
    ],
)
def test_in_evaluate(plug_in, change, message):
    """What a judge raises, or says without sense, is a SolverError of one line."""
    own = plug_in({"return float((instance.numbers * solution).sum())": change})
    with pytest.raises(SolverError, match=message) as error:
        corl.solve(own, iterations=3)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("change", ["import sys; sys.exit(0)", "run.nothing()", "run.report(None)", "run.report_bound('x')"])
def test_in_solve(plug_in, change):
    """What a solver raises is a SolverError of one line."""
    own = plug_in({"while run.budget(1):": change + "\n        while run.budget(1):"})
    with pytest.raises(SolverError) as error:
        corl.solve(own, iterations=3)
    assert "\n" not in str(error.value)


def test_a_solver_that_finds_nothing(plug_in):
    """No solution is no error."""
    result = corl.solve(plug_in({"run.report(np.ones(3))": "pass"}), iterations=3)
    assert result.status == "no_solution" and not result.verified


DEFAULTS = """
from dataclasses import dataclass
from corl.learning.algorithms.evolution import Evolution
from corl.options import with_default, option

@dataclass(frozen=True)
class Small(Evolution):
    width: int = with_default(Evolution, "width", 8)

@dataclass(frozen=True)
class Wider(Evolution):
    extra: int = option(1, "One option more.")

class Other(Evolution):
    def train(self, training):
        pass
"""


def test_other_defaults_of_a_recipe(plug_in):
    """A class that the group corl.defaults declares is the generic recipe for that problem alone."""
    plug_in({}, "[corl.defaults]\nknapsack.evolution = {module}:Small\n", before=DEFAULTS)
    assert (recipe_class("knapsack", "evolution")().width, recipe_class("tsp", "evolution")().width) == (8, 64)


@pytest.mark.parametrize("kind", ["Wider", "Other", "Zero"])
def test_more_than_defaults(plug_in, kind):
    """It has the options of the recipe and does what that does; a line says so."""
    plug_in({}, "[corl.defaults]\nknapsack.evolution = {module}:" + kind + "\n", before=DEFAULTS)
    with pytest.raises(
        UsageError, match=r"^corl\.defaults entry point knapsack\.evolution = .*: accepted: a subclass of Evolution"
    ):
        recipe_class("knapsack", "evolution")


def test_a_name_that_hides_a_generic_one(plug_in, capfd):
    """A line names both distributions; the recipe of that name for other problems, and the others of this one, are as ever."""
    plug_in({}, "[corl.recipes]\nknapsack.evolution = {module}:Small\n", before=DEFAULTS)
    own, generic = r"knapsack\.evolution = bad_plugin_\d+:Small of the distribution bad_plugin_\d+", r"any\.evolution = corl\."
    said = rf"^corl\.recipes entry point {own} hides {generic}.* of the distribution corl-solvers; accepted: another name$"
    with pytest.raises(UsageError, match=said):
        recipe_class("knapsack", "evolution")
    assert recipe_class("tsp", "evolution")().width == 64 and recipe_class("knapsack", "muzero").title
    assert main(["list", "recipes", "knapsack"]) == 0
    out, err = capfd.readouterr()
    assert "muzero" in out and "hides" in err


def test_a_solver_that_hides_a_generic_one(plug_in):
    """As for recipes; the solver of that name is the generic one for other problems."""
    plug_in({}, "[corl.solvers]\nknapsack.policy = {module}:Mine\n", before="class Mine: pass\n")
    said = r"^corl\.solvers entry point knapsack\.policy = bad_plugin_\d+:Mine of .* hides any\.policy = corl\..*: another name$"
    with pytest.raises(UsageError, match=said):
        registry.solver("knapsack", "policy")
    assert registry.solver("tsp", "policy").title
