"""Problems and solvers by name, found through entry points: ours are declared exactly as anybody's would be.

Groups in pyproject.toml: `corl.problems` (NAME = "module:ProblemClass") and `corl.solvers`
(PROBLEM.NAME = "module:SolverClass", or any.NAME for a solver of every problem with an environment).
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from corl.errors import InputError, UsageError
from corl.problem import Problem
from corl.solver import Solver

__all__ = ["problem", "problem_of", "problems", "recognise", "solver", "solvers"]

_HEAD = 4096  # characters of a file that `recognises` sees


def problems() -> list[str]:
    """The names of all problems, sorted."""
    return sorted(_entries("corl.problems"))


@cache
def problem(name: str) -> Problem:
    """The problem of that name. Raises UsageError, listing the names there are."""
    entry = _entries("corl.problems").get(name)
    if entry is None:
        raise UsageError(_unknown("problem", name, problems()))
    loaded: Problem = _load(entry)()
    return loaded


def solvers(problem_name: str) -> list[str]:
    """The short names of all solvers of a problem, sorted; "auto" first where there is one."""
    owners = (problem_name, "any")
    names = {name for owner, _, name in (key.partition(".") for key in _entries("corl.solvers")) if owner in owners}
    return sorted(names, key=lambda name: (name != "auto", name))


@cache
def solver(problem_name: str, name: str) -> type[Solver]:
    """The solver class of that short name; "auto" is the only solver where a problem declares one and no auto.

    Raises UsageError, listing the names there are.
    """
    names = solvers(problem_name)
    if name == "auto" and len(names) == 1:
        name = names[0]
    entries = _entries("corl.solvers")
    entry = entries.get(f"{problem_name}.{name}") or entries.get(f"any.{name}")
    if entry is None:
        raise UsageError(_unknown(f"solver for {problem_name}", name, names))
    loaded: type[Solver] = _load(entry)
    return loaded


def recognise(path: Path) -> Problem:
    """The problem whose files look like this one. Raises InputError when none or several do, OSError if it cannot be read."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise InputError("the file is empty", file=str(path))
    found = [name for name in problems() if problem(name).recognises(head)]
    if len(found) == 1:
        return problem(found[0])
    if found:
        raise InputError(f"could be any of {', '.join(found)}; say which problem it is (--problem)", file=str(path))
    raise InputError(f"not recognised as an instance of any problem; known: {', '.join(problems())}", file=str(path))


def problem_of(instance: Any) -> Problem | None:
    """The problem whose Instance class this object has, or None."""
    for name in problems():
        if isinstance(instance, problem(name).instance_type):
            return problem(name)
    return None


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in reversed(tuple(entry_points(group=group)))}


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{entry.group} entry point {entry.name} = {entry.value} cannot be loaded: {error}") from error


def _unknown(what: str, name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"no {what} is called {name!r}{hint}; there are: {', '.join(names) or 'none'}"
