"""The instances and suites that come with the package, by name: data files in corl/instances/FOLDER/."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from corl import registry
from corl.errors import InputError, UsageError, hint
from corl.files.opening import plain_name

__all__ = ["find", "instances", "missing", "suites"]

_NO_INSTANCES = (".toml", ".md", ".py", ".pyc")


def instances() -> Iterator[dict[str, Any]]:
    """Yield `problem`, `name`, `path`, `value` and `status` of every shipped instance.

    `value` is the best known objective value and `status` says whether it is proven; both are None if unknown.
    """
    references: dict[Path, dict[str, dict[str, str]]] = {}
    for path in _files():
        reference = references.setdefault(path.parent, _references(path.parent)).get(_stem(path))
        value, status = (float(reference["value"]), reference["status"]) if reference else (None, None)
        if (problem := _problem(path)) is not None:
            yield {"problem": problem, "name": _stem(path), "path": str(path), "value": value, "status": status}


def suites() -> Iterator[dict[str, Any]]:
    """Yield `problem`, `name` (as `corl bench` takes it), `title` and `path` of every shipped suite."""
    for path in sorted(_root().glob("*/*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        name = f"{path.parent.name}/{path.stem}"
        yield {"problem": table.get("problem"), "name": name, "title": table.get("title", ""), "path": str(path)}


def find(name: str, problem: str | None = None) -> Path | None:
    """Return the file of the instance NAME or PROBLEM/NAME; None if there is none. Raises UsageError if there are several.

    The name may also be FOLDER/NAME. The argument `problem` chooses among instances of the same name.
    """
    owner, _, stem = name.rpartition("/")
    found = [path for path in _files() if _stem(path) == stem]
    if owner:
        found = [path for path in found if owner in (path.parent.name, _problem(path))]
    if len(found) > 1 and problem is not None:
        found = [path for path in found if problem in (path.parent.name, _problem(path))] or found
    if len(found) > 1:
        names = ", ".join(f"{path.parent.name}/{stem}" for path in found)
        raise UsageError(f"{name!r} is the name of several shipped instances; accepted: a file, {names}")
    return found[0] if found else None


def missing(name: str) -> str:
    """Return the message for a path that is neither a file nor a shipped instance."""
    names = [text for path in _files() for text in (f"{path.parent.name}/{_stem(path)}", _stem(path))]
    return f"neither a file nor a shipped instance{hint(plain_name(name).with_suffix('').as_posix(), names)}"


def _root() -> Path:
    return Path(str(resources.files("corl.instances")))


def _files() -> list[Path]:
    """Return the files of all shipped instances, sorted by folder and name."""
    candidates = sorted(_root().glob("*/*.*"))
    return [path for path in candidates if path.suffix not in _NO_INSTANCES and not path.name.endswith("reference.csv")]


def _stem(path: Path) -> str:
    return plain_name(path).stem


def _problem(path: Path) -> str | None:
    """Return the name of the problem whose instance a file holds; None if that is unclear, as a plug-in recognises it, too."""
    try:
        return registry.recognise(path).name
    except InputError:
        return None


def _references(folder: Path) -> dict[str, dict[str, str]]:
    """Return name -> row of the tables of reference values in a folder; reference.csv takes precedence."""
    tables = sorted(folder.glob("*reference.csv"), key=lambda path: path.name != "reference.csv")
    rows = [row for table in reversed(tables) for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())]
    return {row["name"]: row for row in rows if {"name", "value", "status"} <= row.keys()}
