"""Instances in JSON: everything an instance can have, or the call of a generator that makes it.

{"problem": "jobshop", "name": "small", "machines": 2, "objective": "weighted_tardiness", "jobs": [
  {"operations": [[0, 3], [[0, 4], [1, 2]]], "release": 0, "due": 9, "weight": 2},
  [[1, 5]]]}
An operation is [machine, duration], or a list of these where it has a choice; a job without dates may be the list of its
operations alone. Machines are numbered from `first_machine` (0 unless given).

{"problem": "jobshop", "name": "ta01", "generator": "taillard", "parameters": {"jobs": 15, ...}}
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from corl import options
from corl.errors import InputError, UsageError
from corl.files import from_json, writing
from corl.problems.jobshop.generators import GENERATORS
from corl.problems.jobshop.instance import HORIZON, LARGEST_MACHINES, OBJECTIVES, JobShopInstance, from_jobs
from corl.text import Text

__all__ = ["read_json", "write_json"]

_KEYS = ("problem", "name", "comment", "machines", "first_machine", "objective", "jobs")
_CALL_KEYS = ("problem", "name", "comment", "generator", "parameters")
_JOB_KEYS = ("operations", "release", "due", "weight")
_DEFAULTS = {"release": 0, "due": None, "weight": 1}


def read_json(text: Text, name: str = "") -> JobShopInstance:
    """The instance in a JSON text; `name` stands in for a missing one. Raises InputError, naming the field."""
    value = _parse(text)
    if not isinstance(value, dict):
        raise text.error("accepted: a JSON object", line=text.first_line)
    try:
        if value.get("problem", "jobshop") != "jobshop":
            raise InputError(f"{value['problem']!r} is not accepted; accepted: 'jobshop'"[:200], field="problem")
        given = _text(value, "name") or name
        return _generated(value, given) if "generator" in value else _instance(value, given)
    except InputError as error:
        raise text.error(error.reason, field=error.field) from None


def _parse(text: Text) -> Any:
    try:
        return from_json(text.content, file=text.file)
    except InputError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        raise text.error(error.reason, line=line) from None


def _generated(value: dict[str, Any], name: str) -> JobShopInstance:
    _only(value, _CALL_KEYS, "")
    kind, parameters = value["generator"], value.get("parameters", {})
    if not isinstance(kind, str) or kind not in GENERATORS:
        raise InputError(f"not known; accepted: {', '.join(GENERATORS)}", field="generator")
    if not isinstance(parameters, dict):
        raise InputError("accepted: an object", field="parameters")
    try:
        made: JobShopInstance = options.call(GENERATORS[kind], parameters)
    except UsageError as error:
        raise InputError(str(error), field="parameters") from None
    return replace(made, name=name, comment=_text(value, "comment") or made.comment)


def _instance(value: dict[str, Any], name: str) -> JobShopInstance:
    _only(value, _KEYS, "")
    base = _integer(value, "first_machine", 0, 1, default=0)
    machines = _integer(value, "machines", 1, LARGEST_MACHINES)
    objective = value.get("objective", "makespan")
    if objective not in OBJECTIVES:
        raise InputError(f"accepted: {', '.join(OBJECTIVES)}", field="objective")
    jobs = value.get("jobs")
    if not isinstance(jobs, list):
        raise InputError("accepted: a list of jobs", field="jobs")
    rows = []
    facts: list[dict[str, Any]] = []
    for j, given in enumerate(jobs):
        job = given if isinstance(given, dict) else {"operations": given}
        _only(job, _JOB_KEYS, f"jobs[{j}]")
        rows.append(_operations(job.get("operations"), machines, base, f"jobs[{j}].operations"))
        facts.append({key: _date(job, key, f"jobs[{j}].{key}") for key in _DEFAULTS})
    dues = [fact["due"] for fact in facts]
    if None in dues and any(due is not None for due in dues):
        raise InputError("missing; accepted: one for every job, or for none", field=f"jobs[{dues.index(None)}].due")
    return from_jobs(
        rows,
        machines,
        name=name,
        release=[fact["release"] for fact in facts],
        due=dues if dues and None not in dues else None,
        weight=[fact["weight"] for fact in facts],
        objective=objective,
        first_machine=base,
        comment=_text(value, "comment"),
    )


def _operations(value: Any, machines: int, base: int, field: str) -> list[list[tuple[int, int]]]:
    if not isinstance(value, list) or not value:
        raise InputError("accepted: a list of operations, [machine, duration] or a list of these", field=field)
    return [_choices(operation, machines, base, f"{field}[{k}]") for k, operation in enumerate(value)]


def _choices(value: Any, machines: int, base: int, field: str) -> list[tuple[int, int]]:
    pairs = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    found = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(type(number) is int for number in pair):
            raise InputError("accepted: [machine, duration], integers, or a list of these", field=field)
        machine, duration = pair
        if not base <= machine < machines + base:
            raise InputError(f"machine {machine}; accepted: {base} to {machines - 1 + base}"[:200], field=field)
        if not 0 <= duration <= HORIZON:
            raise InputError(f"duration {duration}; accepted: 0 to {HORIZON:,}"[:200], field=field)
        found.append((machine - base, duration))
    if len({machine for machine, _ in found}) < len(found):
        raise InputError("a machine twice; accepted: each once", field=field)
    return found


def _date(job: dict[str, Any], key: str, field: str) -> int | None:
    value = job.get(key, _DEFAULTS[key])
    if value is None and key == "due":
        return None
    if type(value) is not int or not 0 <= value <= HORIZON:
        raise InputError(f"accepted: an integer from 0 to {HORIZON:,}", field=field)
    return value


def _integer(value: dict[str, Any], key: str, low: int, high: int, default: int | None = None) -> int:
    number = value.get(key, default)
    if type(number) is not int or not low <= number <= high:
        raise InputError(f"accepted: an integer from {low} to {high:,}", field=key)
    return number


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise InputError("accepted: a text", field=key)
    return found


def _only(value: dict[str, Any], keys: tuple[str, ...], field: str) -> None:
    if unknown := [key for key in value if key not in keys]:
        raise InputError(f"there is no key {unknown[0][:40]!r}; accepted: {', '.join(keys)}", field=field or None)


# -------------------------------------------------------------------- the writer
def write_json(instance: JobShopInstance, path: Path) -> None:
    """Write the instance, a line a job."""
    head: dict[str, Any] = {"problem": "jobshop", "name": instance.name}
    if instance.comment:
        head["comment"] = instance.comment
    head["machines"] = instance.machines
    if instance.first_machine:
        head["first_machine"] = instance.first_machine
    if instance.objective != "makespan":
        head["objective"] = instance.objective
    with writing(path) as stream:
        stream.write(json.dumps(head)[:-1] + ', "jobs": [\n')
        stream.write(",\n".join(json.dumps(job) for job in _jobs(instance)))
        stream.write("\n]}\n")


def _jobs(instance: JobShopInstance) -> list[Any]:
    base = instance.first_machine
    jobs: list[Any] = []
    for j, row in enumerate(instance.rows()):
        choices = [[[machine + base, duration] for machine, duration in operation] for operation in row]
        operations = [pairs[0] if len(pairs) == 1 else pairs for pairs in choices]
        facts = {"release": int(instance.release[j]), "weight": int(instance.weight[j])}
        facts |= {} if instance.due is None else {"due": int(instance.due[j])}
        told = {key: value for key, value in facts.items() if value != _DEFAULTS[key]}
        jobs.append({"operations": operations, **told} if told else operations)
    return jobs
