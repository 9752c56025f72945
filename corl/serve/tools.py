"""Tools: what an agent may ask for, in the process of a Helper. Instances and solutions are data; no named file is opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corl.adapter import Problem
from corl.errors import Infeasible, InputError
from corl.files.json_instances import plain
from corl.files.json_values import from_json, to_json
from corl.files.solutions import judge
from corl.loading import facts
from corl.serve.helper import WARM_UP
from corl.serve.limits import Limits, limit_memory
from corl.serve.request import read_instance, read_request
from corl.serve.worker import confine

__all__ = ["make"]

_Given = Mapping[str, Any]


def make(folder: str, limits: Limits) -> Callable[[Any], Any]:
    """Return the function of the process: from (tool, arguments) to an answer of JSON values."""
    here = confine(folder)
    limit_memory(limits.max_memory)
    tools = {"check": _check, "explain": _explain, "info": _info}

    def answer(payload: Any) -> Any:
        if payload == WARM_UP:
            return None
        tool, given = payload
        if tool == "solve":
            return _solve(here, limits, given)
        problem, instance = read_instance(given["instance"], "", given["problem"] or None, here)
        return from_json(to_json(tools[tool](problem, instance, given)))

    return answer


def _solve(folder: Path, limits: Limits, given: _Given) -> Any:
    """Return the fields of the Result, without its trace, and what the solution does not serve."""
    from corl.solving import solve

    request = read_request(json.dumps(given).encode(), limits, folder)
    result = solve(request.instance, **request.arguments)
    found = from_json(result.to_json())
    del found["trace"], found["versions"]
    return found | ({"unserved": result.explain()} if result.solution is not None else {})


def _info(problem: Problem, instance: Any, given: _Given) -> Any:
    return facts(problem, instance)


def _check(problem: Problem, instance: Any, given: _Given) -> Any:
    """Return the verdict on a solution, as `corl check` does."""
    try:
        solution = _solution(problem, instance, given["solution"])
        objective = judge(problem, instance, solution, Path("solution"))
    except Infeasible as error:
        return {"feasible": False, "objective": None, "reason": str(error)}
    return {"feasible": True, "objective": objective, "reason": problem.tolerance_note(instance, solution)}


def _explain(problem: Problem, instance: Any, given: _Given) -> Any:
    """Return the objective value of a feasible solution, and what it does not serve, with the reasons."""
    solution = _solution(problem, instance, given["solution"])
    objective = judge(problem, instance, solution, Path("solution"))
    return {"objective": objective, "unserved": problem.explain(instance, solution)}


def _solution(problem: Problem, instance: Any, given: Any) -> Any:
    """Return a solution from its JSON form, or from that of a result. Raises InputError, or Infeasible."""
    if isinstance(given, Mapping) and {"problem", "solution"} <= given.keys():
        if given["problem"] != problem.name:
            raise InputError(f"a solution of {given['problem']!r}, not of {problem.name}", field="problem")
        given = given["solution"]
    return problem.from_json(instance, plain(given))
