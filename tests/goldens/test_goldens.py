"""What is computed today is what the golden files say (README.md); every solver, environment, checkpoint and name has a row."""

from __future__ import annotations

import json
import math
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import make
from golden_cases import CASES, INSTANCES, Case

from corl import registry

_BASE = ("processor", "python", "numba", "numpy", "scipy")
_HOW = "; if it should be so, `python tests/goldens/make.py {}` writes it anew, and the commit says why"


@cache
def golden(family: str) -> dict[str, Any]:
    """A golden file."""
    return json.loads((make.DATA / f"{family}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _said():
    """One warning where processor or versions differ from those of the files: bits are not compared then, but what is robust."""
    packages = "fast-tsp ortools pyscipopt pyvrp torch"
    if found := sorted({line for family in make.families() for line in differing(family, packages)}):
        warnings.warn(f"proven optima, shapes, names and logits are compared, bits are not: {'; '.join(found)}", stacklevel=1)


def differing(family: str, engines: str = "") -> list[str]:
    """What is not as where a file was made: processor and versions of what its numbers depend on."""
    then, now = golden(family)["made"], make.made()
    return [f"{name} {then[name]} there, {now[name]} here" for name in (*_BASE, *engines.split()) if then[name] != now[name]]


def changes(old: Any, new: Any, path: str = "", close: float = 0.0) -> list[str]:
    """A line for every value that differs, by its path; numbers may differ by `close`."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new})
        return [line for key in keys for line in changes(old.get(key), new.get(key), f"{path}.{key}".lstrip("."), close)]
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(each, str) for each in (*old, *new)):
        gone, come = ([each for each in a if each not in b] for a, b in ((old, new), (new, old)))
        return [f"{path}: no {each!r}" for each in gone] + [f"{path}: new {each!r}" for each in come]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and close:
        return [line for k, pair in enumerate(zip(old, new)) for line in changes(*pair, f"{path}[{k}]", close)]
    if close and isinstance(old, float | int) and isinstance(new, float | int):
        return [] if math.isclose(old, new, rel_tol=close, abs_tol=close) else [f"{path}: {old!r} -> {new!r}"]
    return [] if old == new else [f"{path}: {old!r} -> {new!r}"]


def robust(case: Case, row: dict[str, Any]) -> dict[str, Any]:
    """Of a row what is the same anywhere: of a proof status, objective and bound, otherwise whether there was a solution."""
    if case.kind == "proof" and not case.iterations:
        return row
    return {"solved": row["status"] in ("feasible", "optimal", "feasible or optimal")}


def check(family: str, key: str, old: Any, new: Any, close: float = 0.0) -> None:
    """Fail with a line for every difference."""
    if lines := changes(old, new, close=close):
        pytest.fail(f"{family}: {key} has changed{_HOW.format(family)}\n  " + "\n  ".join(lines), pytrace=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.problem}: {case.key}")
def test_solves(case):
    """A solve with a seed gives the status, objective, bound, trace and solution of the golden file."""
    family = f"solves-{case.problem}"
    for package in case.engines.split():
        if make.made()[package] == "none":
            pytest.skip(f"{package} is not installed")
    old, new = golden(family)["rows"][case.key], make.row(family, case.key)
    if differing(family, case.engines):
        old, new = robust(case, old), robust(case, new)
    check(family, case.key, old, new, 1e-6 if case.kind == "proof" else 0.0)


@pytest.mark.parametrize("key", make.keys("environments"))
def test_environments(key):
    """A seeded random episode shows the actions, observations, features and rewards of the golden file."""
    old, new = golden("environments")["rows"][key], make.row("environments", key)
    if differing("environments"):
        old, new = ({"shapes": each.get("shapes"), "width": each.get("width")} for each in (old, new))
    check("environments", key, old, new)


@pytest.mark.parametrize("key", make.keys("checkpoints"))
def test_checkpoints(key):
    """A shipped network has the weights of the golden file, and says the same, to 1e-4, of the same inputs."""
    check("checkpoints", key, golden("checkpoints")["rows"][key], make.row("checkpoints", key), 1e-4)


@pytest.mark.parametrize("key", make.keys("names"))
def test_names(key):
    """Names, options, defaults, commands and flags are those of the golden file."""
    check("names", key, golden("names")["rows"][key], make.row("names", key))


def test_every_solver_has_a_case():
    """A solver that is registered is solved with, or it is none that can be had for the problem."""
    solved = {(case.problem, case.solver) for case in CASES}
    for problem in registry.problems():
        missing = [name for name in registry.solvers(problem) if (problem, name) not in solved]
        assert not missing, f"{problem}: golden_cases.py has no case for {', '.join(missing)}"


@pytest.mark.parametrize("family", make.families())
def test_every_row_is_there_and_none_is_left_over(family):
    """The golden files have a row for every case, environment and checkpoint that there is, and no other."""
    there, wanted = set(golden(family)["rows"]), set(make.keys(family))
    missing, extra = sorted(wanted - there), sorted(there - wanted)
    assert not missing and not extra, f"{family}: missing {missing}, left over {extra}{_HOW.format(family)}"


def test_every_problem_has_instances():
    """Each registered problem has miniatures, and each file belongs to a family."""
    assert sorted(INSTANCES) == registry.problems()
    assert sorted(file.stem for file in make.DATA.glob("*.json")) == make.families()
