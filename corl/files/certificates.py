"""Certificates: records of good solutions that anyone can check, with the hash of the instance and the run that found them.

A certificate is a JSON object. `objective` and `solution` are what a result of `corl solve` has; `sha256` is the hash of the
instance's text (`text_hash`), and `command`, `commit` and `processor_seconds` describe the run.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from corl import registry
from corl.adapter import Problem
from corl.errors import CorlError, InputError
from corl.fields import Anything, Either, Kind, Null, Number, Object, String
from corl.files.json_instances import Field, read_object
from corl.files.json_values import dumps
from corl.files.opening import opened, reading, replacing
from corl.files.solutions import judge
from corl.files.text import Text
from corl.loading import load, name_of
from corl.result import Result
from corl.tolerance import agrees

__all__ = [
    "Certificate",
    "Verdict",
    "archive_entry",
    "certified",
    "check_certificate",
    "read_certificate",
    "text_hash",
    "write_certificate",
]

_NUMBER = Number()
_OPTIONAL: dict[str, Kind] = {
    "file": String(), "published": Either(_NUMBER, Null()), "source": String(), "command": String(), "commit": String(),
    "processor_seconds": Either(Number(0), Null()), "date": String(), "hardware": String(), "version": String(),
}  # fmt: skip
_CERTIFICATE = Object(
    {"problem": String(), "instance": String(), "sha256": String(), "objective": _NUMBER, "solution": Anything()}, _OPTIONAL
)


@dataclass(frozen=True)
class Certificate:
    """A solution with its objective value, the hash of its instance, and the run that found it."""

    problem: str
    """The name of the problem."""
    instance: str
    """The name of the instance."""
    sha256: str
    """The hash of the instance's text, see `text_hash`."""
    objective: float
    """The objective value that the certificate claims."""
    solution: Any
    """The solution as `Problem.to_json` returns it."""
    file: str = ""
    """The instance's file in the archive that `source` names."""
    published: float | None = None
    """The best published objective value; None if it is not known."""
    source: str = ""
    """Where `published` and `file` are from, with version and date."""
    command: str = ""
    """The command that found the solution."""
    commit: str = ""
    """The version of the code: a commit, or the first one known to have the solution."""
    processor_seconds: float | None = None
    """Processor seconds of the run; None if they were not measured."""
    date: str = ""
    """The day of the run, as 2026-11-27."""
    hardware: str = ""
    """The processor."""
    version: str = ""
    """The version of corl."""


@dataclass(frozen=True)
class Verdict:
    """The judgement of a certificate that is valid."""

    certificate: Certificate
    objective: float
    """The objective value by `Problem.evaluate`."""
    better: bool | None
    """Whether the objective value is better than the published one; None if that is not known."""


def text_hash(path: str | Path) -> str:
    """Return the SHA-256 of the words of a text file, joined by single blanks, so that line ends and tabs do not matter."""
    with reading(Path(path)), opened(path) as stream:
        return hashlib.sha256(b" ".join(stream.read().split())).hexdigest()


def read_certificate(path: str | Path) -> Certificate:
    """Return the certificate in a JSON file. Raises InputError, naming file, line and field."""
    with reading(Path(path)):
        return read_object(Text.read(path), _certificate)


def _certificate(field: Field) -> Certificate:
    record, found = field.record(_CERTIFICATE), dict[str, Any]()
    for each in fields(Certificate):
        if each.name == "solution":
            found["solution"] = record["solution"].value
        elif each.name not in record and each.name in _OPTIONAL:
            continue
        elif each.name in ("objective", "published", "processor_seconds"):
            found[each.name] = record[each.name].number()
        else:
            found[each.name] = record[each.name].text()
    if found["solution"] is None:
        raise record["solution"].error("missing; accepted: the solution, as in a result of corl solve")
    return Certificate(**found)


def write_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate, a line for each field and for each row of the solution; fields without a value are omitted."""
    values = {key: _whole(value) for key, value in vars(certificate).items() if value not in ("", None)}
    values["solution"] = values.pop("solution")  # the long one last
    with replacing(Path(path)) as partial:
        partial.write_text(_lines(values) + "\n", encoding="utf-8")


def _lines(value: Any) -> str:
    """Return a value as JSON; each key of an object, and each row of a list of lists, begins a line."""
    if isinstance(value, dict):
        return "{" + ",\n".join(f"{dumps(key)}: {_lines(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return "[\n" + ",\n".join(map(dumps, value)) + "]"
    return dumps(value)


def _whole(value: Any) -> Any:
    """Return a number without a fraction as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check_certificate(path: str | Path, file: str | Path | None = None) -> Verdict:
    """Judge a certificate from the text of its instance.

    Args:
        path: The certificate.
        file: The instance; None: the certificate's own `file`, below the current folder.

    Raises:
        InputError: A bad file, another instance, or a claim that is wrong.
        Infeasible: The solution violates a constraint.
    """
    certificate, where = read_certificate(path), str(path)
    given = Path(file or certificate.file)
    if file is None and not (certificate.file and given.is_file()):
        named = f"{certificate.file!r} is not below this folder" if certificate.file else "the certificate names no file"
        raise InputError(f"{named}; accepted: the instance {certificate.instance!r} as FILE", file=where, field="file")
    if (found := text_hash(given)) != certificate.sha256:
        raise InputError(f"{certificate.sha256!r}, but that of {given} is {found!r}", file=where, field="sha256")
    problem, instance = load(given, registry.problem(certificate.problem))
    try:
        solution = problem.from_json(instance, certificate.solution)
    except InputError as error:
        raise InputError(error.reason, file=where, field=error.field or "solution") from error
    objective = judge(problem, instance, solution, Path(path))
    if not agrees(certificate.objective, objective):
        raise InputError(f"{certificate.objective:.10g}; the solution has {objective:.10g}", file=where, field="objective")
    sign = 1.0 if problem.sense == "min" else -1.0
    better = None if certificate.published is None else sign * objective < sign * certificate.published
    return Verdict(certificate, objective, better)


def certified(
    problem: Problem, instance: Any, solution: Any, objective: float, file: str | Path, found: str | Path
) -> Certificate:
    """Return the certificate of a solution that the judge has accepted.

    Args:
        problem: The problem.
        instance: The instance.
        solution: The solution in the problem's own form.
        objective: Its objective value by `Problem.evaluate`.
        file: The instance's file.
        found: The solution's file; a result of `corl solve` in JSON also says which command found the solution.
    """
    command, version = _run_of(Path(found), Path(file).name)
    form = problem.to_json(instance, solution)
    name = name_of(instance) or Path(file).stem
    return Certificate(problem.name, name, text_hash(file), objective, form, Path(file).name, command=command, version=version)


def _run_of(path: Path, file: str) -> tuple[str, str]:
    """Return the command that made the result in a JSON file, and the version of corl; "" if the file holds only a solution."""
    try:
        result = Result.from_json(path.read_text(encoding="utf-8-sig"))
    except (CorlError, UnicodeDecodeError):
        return "", ""
    options = "".join(f" --option {key}={value}" for key, value in result.options.items())
    command = f"corl solve {file} --problem {result.problem} --solver {result.solver}{options} --seed {result.seed}"
    limit = f" --time-limit {math.ceil(result.runtime)}" if result.limit == "time_limit" else ""
    return command + limit, result.versions.get("corl", "")


def archive_entry(certificate: Certificate) -> dict[str, Any]:
    """Return the entry of a bound in the solution files of ScheduleOpt/benchmarks (jobshop/solutions); the time is in minutes."""
    seconds = certificate.processor_seconds
    bound = {
        "value": _whole(certificate.objective),
        "date": certificate.date or None,
        "solver": f"corl {certificate.version}".strip(),
        "hardware": certificate.hardware or None,
        "time": None if seconds is None else _whole(round(seconds / 60.0, 2)),
        "certificate": "yes",
    }
    return {"instance": certificate.instance, "ub": bound}
