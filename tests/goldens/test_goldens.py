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
from golden_cases import CASES, INSTANCES

from corl import registry

_WORSE = 0.02  # by which the mean objective of a search's seeds may be worse, where processors or versions differ
_PROVEN, _LOGITS = 1e-6, 1e-4  # by which proven optima may differ, and what networks say
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
    fail(family, key, changes(golden(family).get(key), make.robust(family, key, row), close=close))
    fail(family, key, changes(bits(family).get(key, row), row, close=_PROVEN))


def fail(family: str, key: str, lines: list[str]) -> None:
    """Where there are any."""
    if lines:
        pytest.fail(f"{family}: {key} has changed{_HOW.format(family)}\n  " + "\n  ".join(lines), pytrace=False)


def _marked(kinds: str) -> list[Any]:
    return [pytest.param(case, id=f"{case.problem}: {case.key}") for case in CASES if case.kind in kinds.split()]


def row_of(case: Any) -> Any:
    """Made anew, where the case's engines are there."""
    for package in case.engines.split():
        if make.made()[package] == "none":
            pytest.skip(f"{package} is not installed")
    return make.row(f"solves-{case.problem}", case.key)


@pytest.mark.parametrize("case", _marked("proof"))
def test_proofs(case):
    """Status, objective and bound of what is solved to the end are those of the golden file."""
    check(f"solves-{case.problem}", case.key, row_of(case), _PROVEN)


@pytest.mark.chance
@pytest.mark.parametrize("case", _marked("engine"))
def test_engines(case):
    """An engine that is stopped by the clock has solved its miniature by then."""
    check(f"solves-{case.problem}", case.key, row_of(case))


@pytest.mark.parametrize("case", _marked("bits"))
def test_searches(case):
    """A search finds what the golden file says, to the bit where the machine is the same; elsewhere the mean of a few seeds is
    at most 2 % worse. What is better passes, with a warning that says by how much. (Of a processor like that of the golden file
    one seed is asked, for its objective is the same.)"""
    family, row = f"solves-{case.problem}", row_of(case)
    fail(family, case.key, changes(bits(family).get(case.key, row), row, close=_PROVEN))
    kept = golden(family)[case.key]
    same = not changes(kept["objectives"][0], row["objective"], close=1e-9)
    found = kept["objectives"] if same else make.golden_solves.objectives(case, len(kept["objectives"]))
    fail(family, case.key, changes(kept["solved"], make.is_solved(row), "solved"))
    compare(case, found, kept["objectives"])


def compare(case: Any, found: list[Any], kept: list[Any]) -> None:
    """Fail where the mean of objectives is worse than what is kept, warn where it is better."""
    assert len(found) == len(kept) and (None in found) == (None in kept)
    by = 0.0 if None in kept else make.golden_solves.worse(case, found, kept)
    fail(f"solves-{case.problem}", case.key, [f"the mean objective is {by:.1%} worse: {kept} -> {found}"] if by > _WORSE else [])
    if by < -_PROVEN:
        warnings.warn(
            f"golden {case.problem}: {case.key}: the mean objective is {-by:.2%} better: {kept} -> {found}", stacklevel=1
        )


def test_a_worse_search_is_seen():
    """The comparison itself: 3 % worse fails, 1 % worse passes, better passes with a warning, in both senses."""
    for problem, sign in (("tsp", 1), ("knapsack", -1)):
        case, kept = next(case for case in CASES if case.problem == problem and case.kind == "bits"), [90.0, 110.0]
        compare(case, [value * (1 + sign * 0.01) for value in kept], kept)
        with pytest.raises(pytest.fail.Exception, match=r"3\.0% worse"):
            compare(case, [value * (1 + sign * 0.03) for value in kept], kept)
        with pytest.warns(UserWarning, match=r"5\.00% better"):
            compare(case, [value * (1 - sign * 0.05) for value in kept], kept)


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
    """A solver that is registered is solved with, or it is none that can be had for the problem.

    Days that `online` plays are compared in contracts/test_streams.py.
    """
    solved = {(case.problem, case.solver) for case in CASES}
    for problem in registry.problems():
        missing = [name for name in registry.solvers(problem) if name != "online" and (problem, name) not in solved]
        assert not missing, f"{problem}: support/families has no case for {', '.join(missing)}"


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
