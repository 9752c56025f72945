"""Instances in JSON: all data of an instance, or the generator and the parameters that make it. Examples:

{"problem": "jobshop", "name": "small", "machines": 2, "objective": "weighted_tardiness", "jobs": [
  {"operations": [[0, 3], [[0, 4], [1, 2]]], "release": 0, "due": 9, "weight": 2},
  [[1, 5]]]}
An operation is [machine, duration], or a list of these pairs if it has a choice of machines. A job that has only operations may
be given as their list. Machines are numbered from `first_machine` (0 unless given). For side constraints see json_rules.py.

{"problem": "jobshop", "name": "ta01", "generator": "taillard", "parameters": {"jobs": 15, ...}}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corl.fields import Array, Choice, Constant, Either, Integer, Object, String, document, generator_call
from corl.files.json_instances import Field, Record, generated, heading, read_object
from corl.files.json_values import dumps
from corl.files.opening import writing
from corl.files.text import Text, quoted
from corl.problems.jobshop.formats.json_rules import FACTS, JOB, REFUSED, REFUSED_OF_JOBS, rules_of, write_rules
from corl.problems.jobshop.generators import GENERATORS
from corl.problems.jobshop.instance import HORIZON, LARGEST_MACHINES, OBJECTIVES, JobShopInstance, from_jobs

__all__ = ["SCHEMAS", "from_json_value", "read_json", "write_json"]

_TIME, _PAIR = Integer(0, HORIZON), Array(Integer(0), 2, 2)
_OPERATIONS = Array(Either(_PAIR, Array(_PAIR, 1)), 1)
_JOB = Object(
    {"operations": _OPERATIONS}, {"name": String(), "release": _TIME, "due": _TIME, "weight": _TIME, **JOB}, REFUSED_OF_JOBS
)
_INSTANCE = Object(
    {"machines": Integer(1, LARGEST_MACHINES), "jobs": Array(Either(_JOB, _OPERATIONS), 1)},
    {
        "problem": Constant("jobshop"), "name": String(), "comment": String(), "first_machine": Integer(0, 1),
        "machine_names": Array(String(), 1), "objective": Choice(OBJECTIVES), **FACTS,
    },
    REFUSED,
)  # fmt: skip
_ROWS = Array(Array(Integer()))
SCHEMAS = {
    "instance": document("corl jobshop instance", Either(_INSTANCE, generator_call("jobshop", GENERATORS))),
    "solution": document(
        "corl jobshop schedule: start and machine of each operation, a list a job",
        Object({"start": _ROWS, "machine": Array(Array(Either(Integer(), String())))}, {"job": Array(String())}),
    ),
}
_DEFAULTS = {"release": 0, "due": None, "weight": 1}


def read_json(text: Text, name: str = "") -> JobShopInstance:
    """Return the instance in a JSON text; `name` is its name if the text has none. Raises InputError with line and field."""
    return read_object(text, lambda field: from_json_value(field, name))


def from_json_value(field: Field, name: str = "") -> JobShopInstance:
    """Return the instance in a JSON object; `name` is its name if the object has none. Raises InputError with the field."""
    if "generator" in field.value:
        made: JobShopInstance = generated(field, GENERATORS, "jobshop", name)
        return made
    given = field.record(_INSTANCE)
    name, comment = heading(given, "jobshop", name)
    base = given.get("first_machine", 0).integer()
    machines = given["machines"].integer()
    objective: Any = given.get("objective", "makespan").choice()
    jobs = [_job(job) for job in given["jobs"].entries()]
    rows = [[_choices(each, machines, base) for each in job["operations"].entries()] for job in jobs]
    dated = [job for job in jobs if "due" in job]
    return from_jobs(
        rows,
        machines,
        name=name,
        release=[job.get("release", _DEFAULTS["release"]).integer() for job in jobs],
        due=[_due(job) for job in jobs] if dated else None,
        weight=[job.get("weight", _DEFAULTS["weight"]).integer() for job in jobs],
        objective=objective,
        first_machine=base,
        comment=comment,
        rules=rules_of(given, jobs, rows, machines, base),
        job_names=_names([job["name"] for job in jobs]) if any("name" in job for job in jobs) else (),
        machine_names=_names(given["machine_names"].entries(machines)) if "machine_names" in given else (),
    )


def _names(fields: list[Field]) -> list[str]:
    """Return the texts of `fields`. Raises InputError if two are equal."""
    found: dict[str, None] = {}
    for field in fields:
        if field.text() in found:
            raise field.error(f"{quoted(field.text())} is there already; accepted: another name")
        found[field.text()] = None
    return list(found)


def _job(field: Field) -> Record:
    """Return a job as a record, whether it is given as an object or as the list of its operations."""
    if isinstance(field.value, list):
        return Record({"operations": field.value}, field.place, _JOB.keys)
    return field.record()


def _due(job: Record) -> int:
    if "due" not in job:
        raise job["due"].error("missing; accepted: one for every job, or for none")
    return job["due"].integer()


def _choices(field: Field, machines: int, base: int) -> list[tuple[int, int]]:
    """Return (machine, duration) for every machine that can process an operation. Raises InputError.

    base: the number of the first machine in the file; it is 0 in the result.
    """
    is_list_of_pairs = isinstance(field.value, list) and field.value and isinstance(field.value[0], list)
    found = []
    for pair in field.entries() if is_list_of_pairs else [field]:
        if not isinstance(pair.value, list) or len(pair.value) != 2:
            raise pair.error("accepted: [machine, duration], integers, or a list of these")
        machine, duration = pair.entries()
        found.append((machine.integer(base, machines - 1 + base) - base, duration.integer(0, HORIZON)))
    if len({machine for machine, _ in found}) < len(found):
        raise field.error("a machine twice; accepted: each once")
    return found


# -------------------------------------------------------------------- the writer
def write_json(instance: JobShopInstance, path: Path) -> None:
    """Write the instance, with one line per job."""
    head: dict[str, Any] = {"problem": "jobshop", "name": instance.name}
    if instance.comment:
        head["comment"] = instance.comment
    head["machines"] = instance.machines
    if instance.first_machine:
        head["first_machine"] = instance.first_machine
    if instance.machine_names:
        head["machine_names"] = list(instance.machine_names)
    if instance.objective != "makespan":
        head["objective"] = instance.objective
    jobs = _jobs(instance)
    write_rules(instance, head, jobs)
    lines = [job if len(job) > 1 else job["operations"] for job in jobs]
    with writing(path) as stream:
        stream.write(dumps(head)[:-1] + ', "jobs": [\n')
        stream.write(",\n".join(dumps(line) for line in lines))
        stream.write("\n]}\n")


def _jobs(instance: JobShopInstance) -> list[dict[str, Any]]:
    """Return the JSON object of each job, without values that are equal to the defaults."""
    base = instance.first_machine
    jobs: list[dict[str, Any]] = []
    for j, row in enumerate(instance.rows()):
        choices = [[[machine + base, duration] for machine, duration in operation] for operation in row]
        operations = [pairs[0] if len(pairs) == 1 else pairs for pairs in choices]
        dates = {"release": int(instance.release[j]), "weight": int(instance.weight[j])}
        dates |= {} if instance.due is None else {"due": int(instance.due[j])}
        not_default = {key: value for key, value in dates.items() if value != _DEFAULTS[key]}
        name = {"name": instance.job_names[j]} if instance.job_names else {}
        jobs.append({**name, "operations": operations, **not_default})
    return jobs
