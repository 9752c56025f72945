"""Problems, solvers, recipes and networks by name, found through entry points: ours are declared exactly as anybody's would be.

Groups in pyproject.toml: `corl.problems` (NAME = "module:ProblemClass"); `corl.solvers` (PROBLEM.NAME =
"module:SolverClass", or any.NAME for a solver of every problem with an environment and features; PROBLEM.auto = "module:function"
chooses among them); `corl.recipes` (PROBLEM.NAME or any.NAME = "module:RecipeClass"); `corl.networks` (ARCHITECTURE =
"module:Class", by which checkpoints name what rebuilds them).
"""

from __future__ import annotations

import difflib
import io
import logging
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from corl.errors import InputError, UsageError, described
from corl.files import opened
from corl.learning.recipe import Recipe
from corl.problem import Problem
from corl.solver import Solver

__all__ = [
    "architecture",
    "choose",
    "chooser",
    "problem",
    "problem_of",
    "problems",
    "recipe",
    "recipes",
    "recognise",
    "solver",
    "solvers",
    "usual_recipe",
    "working_problems",
]

_T = TypeVar("_T")
_HEAD = 4096  # characters of a file that `recognises` sees
_log = logging.getLogger(__name__)


def problems() -> list[str]:
    """The names of all problems, sorted."""
    return sorted(_entries("corl.problems"))


@cache
def problem(name: str) -> Problem:
    """The problem of that name. Raises UsageError, listing the names there are."""
    entry = _entries("corl.problems").get(name)
    if entry is None:
        raise UsageError(_unknown("problem", name, problems()))
    loaded = _load(entry, Problem, create=True)  # type: ignore[type-abstract]
    if getattr(loaded, "name", None) != name:
        raise UsageError(f"{entry.group} entry point {name} = {entry.value}: the class must have name = {name!r}")
    return loaded


def working_problems() -> Iterator[Problem]:
    """All problems that can be loaded; a broken one (somebody's plug-in) is a warning in the log."""
    for name in problems():
        try:
            yield problem(name)
        except UsageError as error:
            _log.warning("%s", error)


def solvers(problem_name: str) -> list[str]:
    """The short names of all solvers of a problem, sorted, without "auto"."""
    return [name for name in _names("corl.solvers", problem_name) if name != "auto"]


def choose(problem_name: str, name: str, instance: Any, time_limit: float | None, iterations: int | None) -> str:
    """`name` itself; for "auto" what the problem's entry point PROBLEM.auto, a function of the last three, chooses.

    A problem without one and with a single solver of its own has that one chosen.
    """
    if name != "auto":
        return name
    function = chooser(problem_name)
    if function is not None:
        return str(function(instance, time_limit, iterations))
    own = [short for owner, _, short in (key.partition(".") for key in _entries("corl.solvers")) if owner == problem_name]
    return own[0] if len(own) == 1 else name


def chooser(problem_name: str) -> Callable[[Any, float | None, int | None], str] | None:
    """The function behind "auto", if the problem has one; its docstring says how it chooses."""
    entry = _entries("corl.solvers").get(f"{problem_name}.auto")
    return None if entry is None else _load(entry, Callable)  # type: ignore[arg-type]


@cache
def solver(problem_name: str, name: str) -> type[Solver]:
    """The solver class of that short name. Raises UsageError, listing the names there are."""
    entries = _entries("corl.solvers")
    entry = entries.get(f"{problem_name}.{name}") or entries.get(f"any.{name}")
    if entry is None:
        raise UsageError(_unknown(f"solver for {problem_name}", name, solvers(problem_name)))
    return _load(entry, type)


def recipes(problem_name: str) -> list[str]:
    """The short names of all training recipes of a problem, sorted."""
    return _names("corl.recipes", problem_name)


@cache
def recipe(problem_name: str, name: str) -> type[Recipe]:
    """The recipe class of that short name. Raises UsageError, listing the names there are."""
    entries = _entries("corl.recipes")
    entry = entries.get(f"{problem_name}.{name}") or entries.get(f"any.{name}")
    if entry is None:
        raise UsageError(_unknown(f"recipe for {problem_name}", name, recipes(problem_name)))
    return _load(entry, type)


def usual_recipe(problem_name: str) -> str:
    """The problem's own recipe with a `usual_time`, the first by name. Raises UsageError, listing the recipes, where none has."""
    for key in sorted(_entries("corl.recipes")):
        owner, _, name = key.partition(".")
        if owner == problem_name and recipe(owner, name).usual_time is not None:
            return name
    known = ", ".join(recipes(problem(problem_name).name))
    raise UsageError(f"{problem_name} has no usual recipe: --recipe is needed; accepted: {known or 'there is none'}")


@cache
def architecture(name: str) -> type[Any]:
    """The network class of that name. Raises UsageError, listing the names there are."""
    entries = _entries("corl.networks")
    if name not in entries:
        raise UsageError(_unknown("network architecture", name, sorted(entries)))
    return _load(entries[name], type)


def recognise(path: Path) -> Problem:
    """The problem whose files (gzipped or not) look like this one.

    Raises InputError when none or several do, OSError if it cannot be read.
    """
    with opened(path) as stream:
        head = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace").read(_HEAD)
    if not head.strip():
        raise InputError("the file is empty", file=str(path))
    found = [problem for problem in working_problems() if _recognises(problem, head)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(problem.name for problem in found)
        raise InputError(f"could be any of {names}; say which problem it is (--problem)", file=str(path))
    raise InputError(f"not recognised as an instance of any problem; known: {', '.join(problems())}", file=str(path))


def problem_of(instance: Any) -> Problem | None:
    """The problem whose Instance class this object has, or None."""
    found = (problem for problem in working_problems() if isinstance(instance, getattr(problem, "instance_type", ())))
    return next(found, None)


def _names(group: str, problem_name: str) -> list[str]:
    """The short names in a group of what is declared for a problem or, where policies can be had for it, for any; sorted."""
    owners = (problem_name, "any") if _takes_policies(problem_name) else (problem_name,)
    return sorted({name for owner, _, name in (key.partition(".") for key in _entries(group)) if owner in owners})


def _takes_policies(problem_name: str) -> bool:
    """Whether a problem has an environment, and features for networks to see; False where its class cannot be loaded."""
    try:
        found = problem(problem_name)
    except UsageError:
        return False
    return type(found).environment is not Problem.environment and bool(found.features)


def _recognises(problem: Problem, head: str) -> bool:
    try:
        return problem.recognises(head)
    except Exception as error:
        _log.warning("problem %s fails to recognise files: %s", problem.name, described(error))
        return False


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; where two distributions declare one name, the first on the search path has it."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        first = found.setdefault(entry.name, entry)
        if first.value != entry.value:
            _log.warning("%s %s: %s is used, the other declaration %s is not", group, entry.name, first.value, entry.value)
    return found


def _load(entry: EntryPoint, kind: type[_T], *, create: bool = False) -> _T:
    """What an entry point names (or, with `create`, an instance of that class), which must be a `kind`."""
    try:
        loaded = entry.load()
        loaded = loaded() if create else loaded
        if not isinstance(loaded, kind):
            raise TypeError(f"it is no {kind.__name__}")
        return loaded
    except Exception as error:  # a plug-in's module may raise anything
        where = f"{entry.group} entry point {entry.name} = {entry.value}"
        raise UsageError(f"{where} cannot be loaded: {described(error)}") from error


def _unknown(what: str, name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"no {what} is called {name!r}{hint}; there are: {', '.join(names) or 'none'}"
