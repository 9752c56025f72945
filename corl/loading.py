"""Instances: read from a file or by the name of a shipped one, generated, or converted from the user's data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corl import options, registry, shipped
from corl.adapter import Problem
from corl.errors import CorlError, InputError, UsageError, described, kind_of, unknown
from corl.files.opening import reading

__all__ = ["facts", "generate", "load", "name_of", "read"]


def load(instance: Any, problem: str | Problem | None = None) -> tuple[Problem, Any]:
    """Return the problem, with the sense (min or max) of the instance, and the Instance.

    Args:
        instance: A path, the name of a shipped instance, an Instance, the content of a JSON file with a key "problem", or, if
            `problem` is given, data that the problem converts (`Problem.adapt`).
        problem: A name or a Problem, installed or not; None: recognised by the content.

    Raises:
        UsageError: The problem is not known, or cannot be determined.
        InputError: A bad file, or data that the problem cannot convert.
    """
    adapter = None if problem is None else registry.problem(problem)
    if isinstance(instance, (str, os.PathLike)):
        path = _file(Path(instance), adapter.name if adapter else None)
        with reading(path):
            adapter = adapter or registry.recognise(path)
            data = _read(adapter, path)
            return adapter.with_sense_of(data), data
    if adapter is None:
        if isinstance(instance, Mapping) and isinstance(instance.get("problem"), str):
            return load(instance, instance["problem"])
        found = registry.problem_of(instance)
        if found is None and (found := registry.adapter_of(instance)) is not None:
            return load(instance, found)
        if found is None:
            names = ", ".join(registry.problems())
            raise UsageError(f"the problem cannot be determined from {kind_of(instance)}; give problem=, one of {names}")
        return found.with_sense_of(instance), instance
    try:
        data = instance if isinstance(instance, adapter.instance_type) else adapter.adapt(instance)
    except RecursionError:
        raise InputError(f"{kind_of(instance)} that is nested too deeply, or in itself") from None
    return adapter.with_sense_of(data), data


def read(path: str | os.PathLike[str], problem: str | Problem | None = None) -> Any:
    """Return the Instance in a file, or the shipped instance of that name ("tsp/uniform-500").

    Args:
        path: The file, or the name of a shipped instance.
        problem: The problem of the file, a name or a Problem; None: recognised by the content.

    Raises:
        InputError: A bad file.
    """
    return load(Path(path), problem)[1]


def generate(problem: str | Problem, kind: str = "", /, *, seed: int = 0, **parameters: Any) -> Any:
    """Return a generated Instance: `corl.generate("tsp", "clustered", size=500, seed=3)`.

    Args:
        problem: A name, or a Problem.
        kind: One of the problem's generators (`corl list problems`); "": the first one.
        seed: The seed of the random numbers, from 0.
        **parameters: The parameters of the generator.

    Raises:
        UsageError: The generator does not take a parameter or its value.
    """
    adapter = registry.problem(problem)
    if not adapter.generators:
        raise UsageError(f"{adapter.name} has no generators")
    name = kind or next(iter(adapter.generators))
    if name not in adapter.generators:
        raise UsageError(unknown(f"{adapter.name} has no generator", name, adapter.generators))
    with options.named(name):
        return options.call(adapter.generators[name], {"seed": seed, **parameters})


def name_of(instance: Any) -> str:
    """Return an instance's name, "" if its class has none."""
    return str(getattr(instance, "name", ""))


def facts(problem: Problem, instance: Any) -> dict[str, Any]:
    """Return the facts of `corl info` about an instance, with the reason if it has no solution."""
    found = {"problem": problem.name, "name": name_of(instance), **problem.describe(instance)}
    reason = problem.infeasible(instance)
    return found | ({"infeasible": reason} if reason else {})


def _read(adapter: Problem, path: Path) -> Any:
    """Return the Instance in a file. An unexpected exception of the adapter becomes an InputError with file and problem."""
    try:
        return adapter.read(path)
    except (CorlError, OSError, ValueError):  # the caller's `reading` converts the last two
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"problem {adapter.name} fails to read it: {described(error)}", file=str(path)) from error


def _file(path: Path, problem: str | None) -> Path:
    """Return the path itself or, if there is no such file, the file of the shipped instance of that name. Raises InputError."""
    if os.path.lexists(path):
        return path
    found = shipped.find(path.as_posix(), problem)
    if found is None:
        raise InputError(shipped.missing(path.as_posix()), file=str(path))
    return found
