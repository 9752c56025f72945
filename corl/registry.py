"""Problems, solvers and recipes by name, found through entry points, which corl declares in the same way as plug-ins do.

Groups of entry points in pyproject.toml:

    corl.problems   NAME = "module:ProblemClass"
    corl.solvers    PROBLEM.NAME = "module:SolverClass", or any.NAME for every problem with an environment and features, or
                    stream.NAME for every problem that is revealed over time;
                    PROBLEM.auto = "module:function", which chooses a solver for an instance
    corl.online     PROBLEM.NAME or stream.NAME = "module:PolicyClass", an online policy (corl.online)
    corl.recipes    PROBLEM.NAME or any.NAME = "module:RecipeClass"
    corl.defaults   PROBLEM.NAME = "module:RecipeClass", a subclass of the recipe any.NAME with other defaults
    corl.policies   PROBLEM.KIND = "module:PolicyClass", for a problem whose solutions are policies (bandits); read by
                    corl.problems.bandits.policy
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from corl.adapter import Problem
from corl.entry_points import declared, distribution_of, load
from corl.errors import InputError, UsageError, described, unknown
from corl.files.opening import opened, plain_name
from corl.solver import Solver

__all__ = [
    "adapter_of",
    "choose",
    "chooser",
    "entry_of",
    "is_uninstalled",
    "looks_like",
    "names",
    "problem",
    "problem_of",
    "problems",
    "recognise",
    "solver",
    "solvers",
    "working_problems",
]

_uninstalled: dict[str, Problem] = {}  # by name: problems registered by `problem` in this process
_LETTER = re.compile("[A-Za-z]")
_GENERIC = ("any", "stream")  # first parts of the names of entry points that belong to several problems
_HEAD = 4096  # characters of a file that `recognises` receives
_log = logging.getLogger(__name__)


def problems() -> list[str]:
    """Return the names of all problems, sorted."""
    return sorted({*declared("corl.problems"), *_uninstalled})


def problem(named: str | Problem) -> Problem:
    """Return the problem of that name; or register a Problem itself, installed or not, under its name in this process.

    Raises UsageError for an unknown name, listing the known names, and for a Problem whose name or instance type another problem
    has.
    """
    if isinstance(named, str):
        return _uninstalled[named] if named in _uninstalled else _installed(named)
    if not isinstance(named, Problem):
        raise UsageError(f"problem: {named!r} is not accepted; it takes a name (corl list problems) or a Problem")
    name: str = getattr(named, "name", "")
    kind: type = getattr(named, "instance_type", type(None))
    if name in declared("corl.problems"):
        if type(named) is not type(_installed(name)):
            raise UsageError(f"problem: the name {name!r} of {type(named).__name__} is that of an installed problem")
        return _installed(name)
    if not name or kind is type(None):
        raise UsageError(f"problem: {type(named).__name__} needs a name and an instance_type")
    for other in working_problems():
        if other.name != name and getattr(other, "instance_type", None) is kind:
            raise UsageError(f"problem: {name} has the instance_type of {other.name}, {kind.__name__}; accepted: another class")
    _uninstalled[name] = named
    return named


def is_uninstalled(name: str) -> bool:
    """Return whether the problem of that name was registered by `problem` and is not installed."""
    return name in _uninstalled


def working_problems() -> Iterator[Problem]:
    """Yield all problems that can be loaded; log a warning for each other one, which can only be a plug-in's."""
    for name in problems():
        try:
            yield problem(name)
        except UsageError as error:
            _log.warning("%s", error)


@cache
def _installed(name: str) -> Problem:
    """Return the problem that an entry point declares. Raises UsageError."""
    entry = declared("corl.problems").get(name)
    if entry is None:
        raise UsageError(unknown("no problem is called", name, problems()))
    loaded = load(entry, Problem, create=True)  # type: ignore[type-abstract]
    if getattr(loaded, "name", None) != name:
        raise UsageError(f"{entry.group} entry point {name} = {entry.value}: the class must have name = {name!r}")
    return loaded


def solvers(problem_name: str) -> list[str]:
    """Return the short names of all solvers of a problem, sorted, without "auto"."""
    return [name for name in names("corl.solvers", problem_name) if name != "auto"]


def choose(problem_name: str, name: str, instance: Any, time_limit: float | None, iterations: int | None) -> str:
    """Return `name` itself, or for "auto" the solver that the problem's entry point PROBLEM.auto chooses.

    This entry point is a function of `instance`, `time_limit` and `iterations`. If a problem has no such entry point, but exactly
    one solver of its own, "auto" is this solver.
    """
    if name != "auto":
        return name
    function = chooser(problem_name)
    if function is not None:
        return str(function(instance, time_limit, iterations))
    own = [short for owner, _, short in (key.partition(".") for key in declared("corl.solvers")) if owner == problem_name]
    return own[0] if len(own) == 1 else name


def chooser(problem_name: str) -> Callable[[Any, float | None, int | None], str] | None:
    """Return the function that implements "auto", whose docstring says how it chooses; None if the problem has none."""
    entry = declared("corl.solvers").get(f"{problem_name}.auto")
    return None if entry is None else load(entry, Callable)  # type: ignore[arg-type]


@cache
def solver(problem_name: str, name: str) -> type[Solver]:
    """Return the solver class of that short name. Raises UsageError as `entry_of` and, listing the names, for an unknown name."""
    entry = entry_of("corl.solvers", problem_name, name)
    if entry is None:
        raise UsageError(unknown(f"no solver for {problem_name} is called", name, solvers(problem_name)))
    return load(entry, type)


def recognise(path: Path) -> Problem:
    """Return the problem of a file (gzipped or not), recognised by its content, then by the ending of its name.

    If several problems recognise the file, the one that can read it is returned, and a warning is logged. Raises InputError if
    no problem recognises it, or if several do and not exactly one of them can read it; OSError if it cannot be opened.
    """
    head = _head_of(path)
    if not head.strip():
        raise InputError("the file is empty", file=str(path))
    found = [problem for problem in working_problems() if _recognises(problem, head)]
    suffix = plain_name(path).suffix.lower()
    owners = [problem for problem in working_problems() if suffix in problem.instance_suffixes]
    if owners and found and not (agreed := [problem for problem in owners if problem in found]):
        found = owners if not _LETTER.search(head) else found  # a file of numbers alone: its name says more than its content
    elif owners:
        found = agreed if found else owners
    if not found:
        message = f"not recognised as an instance of any problem; name it (--problem): {', '.join(problems())}"
        raise InputError(message, file=str(path))
    return found[0] if len(found) == 1 else _only_reader(path, found)


def looks_like(problem: Problem, path: Path) -> bool:
    """Return whether the content or the ending of a file is that of an instance of this problem. Raises OSError."""
    return plain_name(path).suffix.lower() in problem.instance_suffixes or _recognises(problem, _head_of(path))


def _head_of(path: Path) -> str:
    """Return the first characters of a file, gzipped or not."""
    with opened(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace") as text:
        return text.read(_HEAD)


def _only_reader(path: Path, found: list[Problem]) -> Problem:
    """Return the only one of several problems that can read a file.

    Raises InputError if several can read it, and if none can; it then reports the fault of the problem that read furthest.
    """
    faults: dict[str, InputError] = {}
    for problem in found:
        try:
            problem.read(path)
        except InputError as error:
            faults[problem.name] = error
        except (Exception, SystemExit) as error:
            faults[problem.name] = InputError(described(error))
    readers, names = [problem for problem in found if problem.name not in faults], [problem.name for problem in found]
    if len(readers) > 1:
        names = [problem.name for problem in readers]
        message = f"can be read as {' or as '.join(names)}; name the right one (--problem {names[0]}, in Python problem=)"
        raise InputError(message, file=str(path))
    name = readers[0].name if readers else max(faults, key=lambda name: faults[name].line or 0)
    others = " or ".join(other for other in names if other != name)
    if not readers:
        fault, note = faults[name], f"read as {name}; with --problem {others} it is read as another problem"
        raise InputError(f"{fault.reason} ({note})", file=str(path), line=fault.line, field=fault.field)
    _log.warning("%s: read as %s, because as %s it has a fault; --problem chooses the other", path, name, others)
    return readers[0]


def problem_of(instance: Any) -> Problem | None:
    """Return the problem whose Instance class this object has, or None."""
    own = (problem for problem in working_problems() if getattr(problem, "instance_type", None) is type(instance))
    general = (problem for problem in working_problems() if isinstance(instance, getattr(problem, "instance_type", ())))
    return next(own, None) or next(general, None)


def adapter_of(data: Any) -> Problem | None:
    """Return the first problem that can convert an object that is no Instance (`Problem.adapts`), or None."""
    return next((problem for problem in working_problems() if problem.adapts(data)), None)


def entry_of(group: str, problem_name: str, name: str) -> EntryPoint | None:
    """Return the entry point PROBLEM.NAME, any.NAME or stream.NAME of that short name; None if there is none.

    Raises UsageError if there are several that belong to the problem, as a name must have one meaning.
    """
    found = [entry for owner in (problem_name, *_GENERIC) if (entry := declared(group).get(f"{owner}.{name}")) is not None]
    belonging = [entry for entry in found if entry.name.partition(".")[0] in _owners(problem_name)]
    if len(belonging) > 1:
        hides, hidden = (f"{entry.name} = {entry.value}{distribution_of(entry.dist)}" for entry in belonging[:2])
        raise UsageError(f"{group} entry point {hides} hides {hidden}; accepted: another name")
    return next(iter(belonging or found), None)


def names(group: str, problem_name: str) -> list[str]:
    """Return the short names that a group declares for a problem, itself or as one of several; sorted."""
    owners = _owners(problem_name)
    return sorted({name for owner, _, name in (key.partition(".") for key in declared(group)) if owner in owners})


def _owners(problem_name: str) -> list[str]:
    """Return the first parts of the names of entry points that belong to a problem: its name, and the generic ones."""
    try:
        found = problem(problem_name)
    except UsageError:  # its class cannot be loaded
        return [problem_name]
    generic = {"any": found.takes_policies, "stream": found.has_stream}
    return [problem_name, *(owner for owner in _GENERIC if generic[owner])]


def _recognises(problem: Problem, head: str) -> bool:
    try:
        return problem.recognises(head)
    except (Exception, SystemExit) as error:
        _log.warning("problem %s fails to recognise files: %s", problem.name, described(error))
        return False
