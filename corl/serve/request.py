"""Request: the JSON object that asks for a solve. It holds the instance itself; no path in it is ever opened."""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corl import options, registry
from corl.adapter import Problem
from corl.errors import InputError, UsageError, shortened
from corl.fields import Anything, Array, Either, Flag, Integer, Number, Object, String, Table, Worded
from corl.files.json_instances import Record, read_object
from corl.files.json_values import dumps, from_json, to_json
from corl.files.text import Text
from corl.loading import load, name_of
from corl.serve.limits import Limits
from corl.solving import planned

__all__ = ["Request", "read_instance", "read_request", "request_kind"]

_DEFAULT_SECONDS = 10.0
_FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_TEXT_OR_OBJECT = Worded(
    Either(Table(Anything()), String()), "an object, the JSON form of an instance, or a text, a file's content"
)
_SCALAR = Either(Number(), Flag(), String())
_OPTION = Worded(Either(_SCALAR, Array(_SCALAR)), "a number, a text, true, false, or a list of these")
_SOLUTION = Worded(Either(Table(Anything()), Array(Anything())), "a result, or a solution in JSON, which is an object or a list")


def request_kind(limits: Limits) -> Object:
    """Return the declaration of a request under these limits."""
    seconds = Number(above=0, high=limits.max_seconds)
    optional = {
        "problem": String(),
        "name": Worded(String(_FILE_NAME), "a file name of letters, digits, dots, dashes and underscores, without a folder"),
        "solver": String(),
        "options": Table(_OPTION),
        "time_limit": seconds,
        "iterations": Integer(1),
        "target": Number(),
        "patience": seconds,
        "seed": Integer(0),
        "workers": Integer(1, limits.max_workers),
        "warm_start": _SOLUTION,
    }
    return Object({"instance": _TEXT_OR_OBJECT}, optional)


@dataclass(frozen=True)
class Request:
    """A request that has been read and checked."""

    problem: Problem
    """The problem, with the sense of the instance."""
    instance: Any
    solver: str
    """The solver's name; the chosen one for "auto"."""
    arguments: dict[str, Any]
    """The keyword arguments of `corl.solve`, without the instance."""

    @property
    def facts(self) -> dict[str, Any]:
        """What a server keeps about the request, as JSON values."""
        seconds = self.arguments["time_limit"]
        return {
            "problem": self.problem.name, "instance": name_of(self.instance), "sense": self.problem.sense, "solver": self.solver,
            "time_limit": seconds,
        }  # fmt: skip


def read_request(body: bytes, limits: Limits, folder: Path) -> Request:
    """Return the request in the body of an HTTP request, checked as `corl.solve` checks its arguments.

    Args:
        body: A JSON object.
        limits: The limits that hold.
        folder: An empty folder of this process, to which the instance is written while it is read.

    Raises:
        InputError: An invalid field or instance; `field` names it.
        UsageError: An argument that `corl.solve` does not accept.
    """
    kind = request_kind(limits)
    values = read_object(_text(body), lambda field: _values(field.record(kind)))
    problem, instance = read_instance(values.pop("instance"), values.pop("name"), values.pop("problem"), folder)
    given = values.pop("options")
    if values["time_limit"] is None:
        values["time_limit"] = limits.max_seconds if values["iterations"] else min(_DEFAULT_SECONDS, limits.max_seconds)
    arguments = values | {"problem": problem.name}
    _check_options(problem, instance, arguments, given)
    _, solver, _ = planned(instance, **arguments, **given)
    return Request(problem, instance, solver, arguments | given)


def read_instance(given: Mapping[str, Any] | str, name: str, problem: str | None, folder: Path) -> tuple[Problem, Any]:
    """Return the problem and the instance in a JSON object or in a file's text.

    Args:
        given: The object or the text.
        name: A file name, whose ending may help to recognise the format; "": none.
        problem: The problem's name; None: recognised by the content.
        folder: An empty folder of this process, to which the instance is written while it is read.

    Raises:
        InputError: An invalid instance; the error names no file.
        UsageError: An unknown problem.
    """
    _check_is_data(given)
    path = folder / (name or ("instance.txt" if isinstance(given, str) else "instance.json"))
    try:
        path.write_text(given if isinstance(given, str) else dumps(given), encoding="utf-8")
        return load(path, problem)
    except InputError as error:
        raise InputError(error.reason, file="instance", line=error.line, field=error.field) from error
    except UnicodeEncodeError:  # half a surrogate pair
        raise InputError("not a text of Unicode characters", field="instance") from None
    finally:
        path.unlink(missing_ok=True)


def _text(body: bytes) -> Text:
    try:
        return Text(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8; accepted: a JSON object in UTF-8") from None


def _values(record: Record) -> dict[str, Any]:
    """Return the fields of a request as arguments of `corl.solve`, with `instance`, `name` and `options`."""
    for key in record.values:
        field = record[key]
        if field.value is not None and not field.kind.fits(field.value):
            raise field.error(f"{shortened(to_json(field.value), 40)} is not accepted; accepted: {field.kind.words}")
    found = {key: record.get(key).value for key in ("instance", "problem", "target", "patience", "iterations", "time_limit")}
    if found["instance"] is None:
        raise record["instance"].error(f"missing; accepted: {_TEXT_OR_OBJECT.words}")
    defaults = {"name": "", "options": {}, "solver": "auto", "seed": 0, "workers": 1, "warm_start": None}
    return found | {key: record.get(key, default).value for key, default in defaults.items()}


def _check_is_data(given: Mapping[str, Any] | str) -> None:
    """Raise InputError for a call of a generator, which a few bytes could make as large as they like."""
    if isinstance(given, str):
        if '"generator"' not in given or given.lstrip()[:1] != "{":
            return
        given = from_json(given, file="instance")
    if isinstance(given, Mapping) and "generator" in given:
        raise InputError("a call of a generator; accepted: the data of an instance", field="generator", file="instance")


def _check_options(problem: Problem, instance: Any, arguments: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise UsageError for options that are arguments of a request, or that could name files."""
    if clash := sorted(set(given) & {*arguments, "instance", "name", "options", "on_improvement"}):
        raise UsageError(f"options.{clash[0]}: not an option of a solver; accepted: the field {clash[0]} of the request, if any")
    limits = (arguments["time_limit"], arguments["iterations"])
    solver = registry.choose(problem.name, arguments["solver"], instance, *limits)
    declared = options.declarations(registry.solver(problem.name, solver))
    for name, value in given.items():
        hint, spec = declared.get(name, (None, None))
        free = str in (hint, *typing.get_args(hint)) and not (spec and spec.texts)
        if free and not (isinstance(value, str) and _WORD.fullmatch(value)):
            message = "accepted: a name of letters, digits, dashes and underscores; files are not accepted"
            raise UsageError(f"options.{name}: {shortened(repr(value), 60)} is not accepted; {message}")
