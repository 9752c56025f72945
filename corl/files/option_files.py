"""Option files: the options of a solver in a TOML file, as `corl tune` writes them and `--options mine.toml` reads them.

problem = "vrp"
solver = "ruin-recreate"

[options]
heat = 2.1

[provenance]    # not read
corl = "0.1.0"
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corl import options, registry
from corl.errors import InputError, UsageError
from corl.fields import Anything, Table
from corl.files.opening import replacing
from corl.files.toml_tables import read_toml

__all__ = ["OptionFile", "options_for", "read_options", "write_options"]


@dataclass(frozen=True)
class OptionFile:
    """A solver of a problem and its options."""

    problem: str
    solver: str
    options: Mapping[str, Any]


def options_for(path: str | os.PathLike[str], problem: str, solver: str) -> OptionFile:
    """Return the content of an option file for a run of `solver` ("auto": that of the file). Raises as `read_options`.

    It also raises InputError if the file is for another problem or solver.
    """
    found = read_options(path)
    for field, own, asked in (("problem", found.problem, problem), ("solver", found.solver, solver)):
        if asked not in (own, "auto"):
            raise InputError(f"{own!r} is not the {field} of this run; accepted: {asked}", file=str(path), field=field)
    return found


def read_options(path: str | os.PathLike[str]) -> OptionFile:
    """Return the content of an option file. Raises InputError, which names the file and the option."""
    table = read_toml(Path(path))
    problem, solver = table.text("problem"), table.text("solver")
    for field, given, known in (("problem", problem, registry.problems), ("solver", solver, lambda: registry.solvers(problem))):
        if given not in (names := known()):
            fault = f"{given!r} is not known" if given else "missing"
            raise table.error(field, f"{fault}; accepted: {', '.join(names)}")
    own = table.table("options")
    values = own.rest()
    table.take("provenance", Table(Anything()))
    table.close()
    cls = registry.solver(problem, solver)
    found: dict[str, Any] = {}
    for name, value in values.items():
        try:
            with options.named(solver):
                found |= options.checked(cls, {name: tuple(value) if isinstance(value, list) else value})
        except UsageError as error:
            raise own.error(name, str(error)) from error
    try:
        with options.named(solver):
            options.build(cls, found)
    except UsageError as error:
        raise own.error("", str(error)) from error
    return OptionFile(problem, solver, found)


def write_options(path: Path, content: OptionFile, provenance: Mapping[str, Any]) -> None:
    """Write an option file; `provenance`: texts, numbers, and tables of texts, which say where the options are from."""
    lines = [f"problem = {_toml(content.problem)}", f"solver = {_toml(content.solver)}", "", "[options]"]
    lines += [f"{name} = {_toml(value)}" for name, value in content.options.items()]
    plain = {name: value for name, value in provenance.items() if not isinstance(value, Mapping)}
    lines += ["", "[provenance]", *(f"{name} = {_toml(value)}" for name, value in plain.items())]
    for name, value in provenance.items():
        if isinstance(value, Mapping):
            lines += ["", f"[provenance.{name}]", *(f"{_toml(str(key))} = {_toml(each)}" for key, each in value.items())]
    with replacing(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    """Return a value in TOML, whose texts, numbers, booleans and lists are written as in JSON; None is the text "none"."""
    return json.dumps("none" if value is None else list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
