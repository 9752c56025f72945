"""What is computed today is what the golden files say (README.md); every solver, environment, checkpoint and name has a row."""

from __future__ import annotations

import json
import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import make
from golden_cases import CASES, INSTANCES

from corl import registry

_NEAR = 0.1  # by which objectives of searches differ at most, where processors or versions do
_PROVEN, _LOGITS = 1e-6, 1e-4  # the same of proven optima, and of what networks say
_HOW = "; if it should be so, `python tests/goldens/make.py {}` writes it anew, and the commit says why"


@cache
def golden(family: str) -> dict[str, Any]:
    """A golden file: rows by key."""
    return json.loads((make.DATA / f"{family}.json").read_text(encoding="utf-8"))


@cache
def bits(family: str) -> dict[str, Any]:
    """The rows whose bits are compared: those that `make.py --bits` wrote here, with the same processor and versions."""
    file = make.BITS / f"{family}.json"
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"made": None}
    return found["rows"] if found["made"] == make.made() else {}


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


def check(family: str, key: str, row: Any, close: float = 0.0) -> None:
    """Fail with a line for every difference."""
    lines = changes(golden(family).get(key), make.robust(family, key, row), close=close)
    lines += changes(bits(family).get(key, row), row, close=_PROVEN)
    if lines:
        pytest.fail(f"{family}: {key} has changed{_HOW.format(family)}\n  " + "\n  ".join(lines), pytrace=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.problem}: {case.key}")
def test_solves(case):
    """A solve with a seed gives what the golden file says."""
    family = f"solves-{case.problem}"
    for package in case.engines.split():
        if make.made()[package] == "none":
            pytest.skip(f"{package} is not installed")
    check(family, case.key, make.row(family, case.key), _PROVEN if case.kind == "proof" else _NEAR)


@pytest.mark.parametrize("key", make.keys("environments"))
def test_environments(key):
    """A seeded random episode shows what the golden file says."""
    check("environments", key, make.row("environments", key))


@pytest.mark.parametrize("key", make.keys("checkpoints"))
def test_checkpoints(key):
    """A shipped network has the weights of the golden file, and says the same, to 1e-4, of the same inputs."""
    check("checkpoints", key, make.row("checkpoints", key), _LOGITS)


@pytest.mark.parametrize("key", make.keys("names"))
def test_names(key):
    """Names, options, defaults, commands and flags are those of the golden file."""
    check("names", key, make.row("names", key))


def test_every_solver_has_a_case():
    """A solver that is registered is solved with, or it is none that can be had for the problem."""
    solved = {(case.problem, case.solver) for case in CASES}
    for problem in registry.problems():
        missing = [name for name in registry.solvers(problem) if (problem, name) not in solved]
        assert not missing, f"{problem}: golden_cases.py has no case for {', '.join(missing)}"


@pytest.mark.parametrize("family", make.families())
def test_every_row_is_there_and_none_is_left_over(family):
    """The golden files have a row for every case, environment and checkpoint that there is, and no other."""
    there, wanted = set(golden(family)), set(make.keys(family))
    missing, extra = sorted(wanted - there), sorted(there - wanted)
    assert not missing and not extra, f"{family}: missing {missing}, left over {extra}{_HOW.format(family)}"


def test_every_problem_has_instances():
    """Each registered problem has miniatures, and each file belongs to a family."""
    assert sorted(INSTANCES) == registry.problems()
    assert sorted(file.stem for file in make.DATA.glob("*.json")) == make.families()
