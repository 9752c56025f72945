"""Warm starts: the argument `warm_start` of `corl.solve`, converted to the problem's own form of a solution."""

from __future__ import annotations

import logging
import numbers
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from corl.adapter import Problem
from corl.errors import CorlError, Infeasible, UsageError, described
from corl.files.json_instances import plain
from corl.files.json_values import from_json
from corl.files.opening import plain_name
from corl.files.solutions import read_solution
from corl.result import Result

__all__ = ["starts", "warm_start"]

_log = logging.getLogger(__name__)


def starts(adapter: Problem, data: Any, given: Any, completes: bool) -> dict[str, Any]:
    """Return the argument of Run for a warm start: `warm_start` for a solution, `partial_start` for an incomplete one.

    If only a part of the solution can be used, one warning says what is left out. Raises UsageError and InputError as
    `warm_start` does.

    Args:
        adapter: The problem.
        data: The Instance.
        given: See `warm_start`.
        completes: Whether the solver completes incomplete solutions.
    """
    try:
        return {"warm_start": warm_start(adapter, data, given)}
    except (UsageError, Infeasible) as error:  # Infeasible: from the reader of a solution file
        if (found := _usable_part(adapter, data, given)) is None:
            raise
        part, note = found
        try:
            adapter.evaluate(data, part)
            key = "warm_start"
        except Infeasible:
            if not completes:
                raise UsageError(f"{error}; this solver does not complete a warm start, others do") from error
            key = "partial_start"
    if note:
        _log.warning("warm_start: %s", note)
    return {key: part}


def _usable_part(adapter: Problem, data: Any, given: Any) -> tuple[Any, str] | None:
    """Return the part of a refused warm start that can be used, and what it leaves out (`Problem.partial`); or None."""
    try:
        value, as_json = _value(adapter, data, given)
        return adapter.partial(data, value, as_json)
    except (CorlError, OSError, TypeError, ValueError):
        return None


def _value(adapter: Problem, data: Any, given: Any) -> tuple[Any, bool]:
    """Return a warm start as a solution in the problem's own form or its JSON form, and whether it is in the JSON form."""
    result = given if isinstance(given, Result) else getattr(given, "result", None)
    if isinstance(result, Result):
        if result.problem != adapter.name or result.solution is None:
            raise UsageError("no solution of the problem")
        return result.solution if result.data is None else plain(adapter.to_json(result.data, result.solution)), True
    as_json = False
    if isinstance(given, str) and given.lstrip()[:1] in ("{", "[") and not os.path.exists(given):
        given, as_json = from_json(given, field="warm_start"), True
    elif isinstance(given, (str, os.PathLike)):
        if plain_name(Path(given)).suffix.lower() in adapter.suffixes:
            return read_solution(adapter, data, Path(given))[0], False
        given, as_json = from_json(Path(given).read_text(encoding="utf-8-sig")), True
    if isinstance(given, Mapping):
        if given.get("problem") != adapter.name:
            raise UsageError("no solution of the problem")
        given, as_json = given.get("solution"), True
    return given, as_json or _has_names(given)


def _has_names(given: Any) -> bool:
    """Return whether a list of lists contains a text or a dict, so that it is in the JSON form."""
    return isinstance(given, list) and any(
        isinstance(each, (str, Mapping)) or (isinstance(each, list) and any(isinstance(label, str) for label in each))
        for each in given
    )


def warm_start(adapter: Problem, data: Any, given: Any) -> Any:
    """Return the solution to start from, checked by `Problem.evaluate`; None if there is none.

    Args:
        adapter: The problem.
        data: The Instance.
        given: A Result, its JSON form, the return value of a model's `solve`, the path of a solution file, or a solution in the
            problem's own form or its JSON form. A flat list is tried as an array first.

    Raises:
        UsageError: `given` is no solution of the instance.
        InputError: A bad file.
    """
    result = given if isinstance(given, Result) else getattr(given, "result", None)  # a model's solution has a `result`
    if isinstance(result, Result):
        if result.problem != adapter.name:
            raise UsageError(f"warm_start: a Result of {result.problem}, not of {adapter.name}")
        return None if result.solution is None else _first_valid(adapter, data, _forms(adapter, data, result))
    if isinstance(given, str) and given.lstrip()[:1] in ("{", "[") and not os.path.exists(given):
        given = from_json(given, field="warm_start")
    elif isinstance(given, (str, os.PathLike)):
        given, _ = read_solution(adapter, data, Path(given))
    if isinstance(given, Mapping) and {"problem", "solution"} <= given.keys():
        if given["problem"] != adapter.name:
            raise UsageError(f"warm_start: a Result of {given['problem']}, not of {adapter.name}")
        given = given["solution"]
    return None if given is None else _first_valid(adapter, data, _readings(adapter, data, given))


def _forms(adapter: Problem, data: Any, result: Result) -> list[Callable[[], Any]]:
    """Return functions that read a Result's solution as a solution of `data`, in the order in which they are tried.

    The Result may be of the same instance, or of another instance with the same ids and names.
    """
    if result.data is None:
        return [lambda: adapter.from_json(data, result.solution)]
    forms = [lambda: result.solution, lambda: adapter.from_json(data, plain(adapter.to_json(result.data, result.solution)))]
    named = getattr(data, "names", ()) or getattr(data, "machine_names", ())
    return forms[::-1] if named and result.data is not data else forms  # the JSON form has names, equal in both instances


def _readings(adapter: Problem, data: Any, given: Any) -> list[Callable[[], Any]]:
    """Return functions that read a value as the problem's own form, and as its JSON form."""
    flat = isinstance(given, list) and all(isinstance(item, numbers.Real) for item in given)
    return [lambda: np.asarray(given) if flat else given, lambda: adapter.from_json(data, plain(given))]


def _first_valid(adapter: Problem, data: Any, forms: list[Callable[[], Any]]) -> Any:
    """Return the first form that `Problem.evaluate` accepts.

    Raises UsageError if there is none, with the message of `evaluate` on the first well-formed solution, if there is one.
    """
    refusals: list[Exception] = []
    for form in forms:
        try:
            solution = form()
            adapter.evaluate(data, solution)
        except Exception as error:  # a judge may raise anything for a malformed solution
            refusals.append(error)
        else:
            return solution
    refusal = next((error for error in refusals if isinstance(error, CorlError)), None)
    if refusal is not None:
        raise UsageError(f"warm_start: {refusal}") from refusal
    raise UsageError(f"warm_start: no solution of {adapter.name}: {described(refusals[0])}") from refusals[0]
