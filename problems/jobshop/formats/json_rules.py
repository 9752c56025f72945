"""Reader and writer of the side constraints of a job shop in JSON; formats.md, "Rules in JSON", describes the fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.fields import Array, Either, Flag, Integer, Kind, Null, Object, Row
from corl.files.json_instances import Field, Record
from corl.problems.jobshop.formats import json_changes
from corl.problems.jobshop.formats.json_resources import RESOURCES, RESOURCES_OF_JOBS, resources_of, write_resources
from corl.problems.jobshop.instance import HORIZON, JobShopInstance
from corl.problems.jobshop.rules import FOREVER, SideConstraints

__all__ = ["FACTS", "JOB", "REFUSED", "REFUSED_OF_JOBS", "rules_of", "write_rules"]

REFUSED = {
    "preemption": "operations that are interrupted at any time",
    "transport": "transport between machines", "batches": "batches",
}  # fmt: skip
REFUSED_OF_JOBS = {
    "preemption": REFUSED["preemption"], "deadline": "deadlines", "predecessors": "jobs that wait for other jobs",
}  # fmt: skip
_MAX_LENGTH = 10**9
_MAX_WEIGHT = 10**6
_SPAN, _TIME = Integer(0, _MAX_LENGTH), Integer(0, HORIZON)
_SETUPS = Object({"between": Array(Array(_SPAN, 1), 1)}, {"first": Array(_SPAN, 1)})
FACTS: dict[str, Kind] = {
    "now": _TIME,
    "unavailable": Array(Array(Row(_SPAN, Either(_SPAN, Null())))),
    "setups": Array(Either(_SETUPS, Null())),
    "resumable": Flag(),
    "blocking": Flag(),
    "swap": Flag(),
    **json_changes.FACTS,
    **RESOURCES,
}
"""The optional fields of an instance that hold side constraints."""
JOB: dict[str, Kind] = {
    "earliest": Array(_TIME, 1),
    "no_wait": Either(Flag(), Array(Flag(), 1)),
    "resumable": Either(Flag(), Array(Flag(), 1)),
    "blocking": Either(Flag(), Array(Flag(), 1)),
    "family": Either(_TIME, Array(_TIME, 1)),
    "early": Integer(0, 2 * _MAX_LENGTH),
    "earliness": Integer(0, _MAX_WEIGHT),
    "fixed": Array(Either(Array(Integer(0), 2, 2), Null()), 1),
    **json_changes.JOB,
    **RESOURCES_OF_JOBS,
}
"""The optional fields of a job that hold side constraints."""


# -------------------------------------------------------------------- the reader
def rules_of(
    given: Record, jobs: list[Record], rows: list[list[list[tuple[int, int]]]], machines: int, base: int
) -> SideConstraints | None:
    """Return the side constraints in the JSON of an instance, or None if there are none. Raises InputError.

    Args:
        given: The record of the instance.
        jobs: The record of each job.
        rows: For each job its operations, each a list of (machine, duration).
        machines: The number of machines.
        base: The number of the first machine in the file, 0 or 1.
    """
    rules: dict[str, Any] = {"now": given["now"].integer()} if "now" in given else {}
    lengths = [len(row) for row in rows]
    if "unavailable" in given:
        lines = [(m, *_spell(spell)) for m, each in enumerate(given["unavailable"].entries(machines)) for spell in each.entries()]
        rules["unavailable"] = np.array(lines, np.int64).reshape(-1, 3)
    if "setups" in given:
        rules |= _setups(given["setups"].entries(machines))

    def has(key: str) -> bool:
        return any(key in job for job in jobs)

    if has("family"):
        last = rules["setups"].shape[1] - 1 if "setups" in rules else HORIZON
        families = [each for job, n, j in zip(jobs, lengths, range(len(jobs))) for each in _family(job, n, j, last)]
        rules["family"] = np.array(families, np.int64)
    if has("earliest"):
        starts = [job.get("earliest", [0] * n).integers(n) for job, n in zip(jobs, lengths)]
        rules["earliest"] = np.concatenate(starts)
    if has("no_wait"):
        rules["no_wait"] = np.array([flag for job, n in zip(jobs, lengths) for flag in _no_wait(job, n)], bool)
    for key in ("resumable", "blocking"):
        if key in given or has(key):
            default = given.get(key, False).flag()
            flags = [flag for job, n in zip(jobs, lengths) for flag in _flags(job, key, n, default)]
            rules[key] = np.array(flags, bool)
    if "swap" in given:
        rules["swap"] = given["swap"].flag()
    if has("early"):
        rules["early"] = np.array([job.get("early", job["due"].value).integer() for job in jobs])
    if has("earliness"):
        rules["earliness"] = np.array([job.get("earliness", 1).integer() for job in jobs])
    if has("fixed"):
        pairs = [pair for job, row in zip(jobs, rows) for pair in _fixed(job, row, machines, base, "fixed")]
        rules["fixed_machine"], rules["fixed_start"] = np.array(pairs, np.int64).T
    announced = [pair for job, row in zip(jobs, rows) for pair in _fixed(job, row, machines, base, "announced")]
    rules |= json_changes.change_values(given, announced)
    rules |= resources_of(given, jobs, rows)
    return SideConstraints(**rules) if rules else None


def _spell(field: Field) -> tuple[int, int]:
    """Return (begin, end) of a break, given as [begin, end]; an end of null means FOREVER."""
    begin, end = field.entries()
    return begin.integer(), FOREVER if end.value is None else end.integer()


def _setups(fields: list[Field]) -> dict[str, Any]:
    """Return the arrays `setups` and, if given, `first_setups` of SideConstraints; a field is null for a machine without set-ups.

    Raises InputError.
    """
    records = [None if each.value is None else each.record() for each in fields]
    given = [record for record in records if record is not None]
    if not given:
        raise fields[0].error('accepted: null for a machine without set-ups, for one at least {"between": [[...]]}')
    families = len(given[0]["between"].entries())
    no_setups = np.zeros((families, families), np.int64)
    between = [no_setups if each is None else each["between"].integers(families, families) for each in records]
    rules = {"setups": np.array(between)}
    if any("first" in each for each in given):
        first = [{} if each is None else each.values for each in records]
        rows = [Record(each, field, _SETUPS.keys).get("first", [0] * families) for each, field in zip(first, fields)]
        rules["first_setups"] = np.array([row.integers(families) for row in rows])
    return rules


def _family(job: Record, length: int, default: int, last: int) -> list[int]:
    """Return the families 0..last of a job's operations, given as one number for all operations or as a list."""
    field = job.get("family", default)
    if isinstance(field.value, list):
        families: list[int] = field.integers(length, low=0, high=last).tolist()
        return families
    return [field.integer(0, last)] * length


def _no_wait(job: Record, length: int) -> list[bool]:
    """Return for each operation of a job whether it starts as soon as its predecessor ends.

    The field is one flag for all operations, or a list.
    """
    field = job.get("no_wait", False)
    if isinstance(field.value, list):
        flags = [each.flag() for each in field.entries(length)]
        if flags[0]:
            raise field.error("the first operation has none before it; accepted: false there")
        return flags
    return [False] + [field.flag()] * (length - 1)


def _flags(job: Record, key: str, length: int, default: bool) -> list[bool]:
    """Return a flag for each operation of a job, given as a list, or as one flag for all of them; `default` if it is not given.

    A single flag is not for the last operation if `key` is "blocking", because no operation follows.
    """
    field = job.get(key, default)
    if isinstance(field.value, list):
        return [each.flag() for each in field.entries(length)]
    flags = [field.flag()] * length
    return [*flags[:-1], flags[-1] and key != "blocking"]


def _fixed(job: Record, row: list[list[tuple[int, int]]], machines: int, base: int, key: str) -> list[tuple[int, int]]:
    """Return (machine, start) for each operation of a job, (-1, -1) if its entry in the list at `key` is null or missing."""
    found = []
    for field, choices in zip(job.get(key, [None] * len(row)).entries(len(row)), row):
        if field.value is None:
            found.append((-1, -1))
            continue
        machine, start = field.entries()
        found.append((machine.integer(base, machines - 1 + base) - base, start.integer(0, HORIZON)))
        if found[-1][0] not in dict(choices):
            raise machine.error(f"{machine.value} cannot do it; accepted: {', '.join(str(m + base) for m, _ in choices)}")
    return found


# -------------------------------------------------------------------- the writer
def write_rules(instance: JobShopInstance, head: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
    """Add the side constraints to the JSON object of the instance, `head`, and to the objects of its jobs, in place."""
    rules = instance.rules
    if rules is None:
        return
    if rules.now:
        head["now"] = rules.now
    if rules.unavailable is not None:
        spells: list[list[Any]] = [[] for _ in range(instance.machines)]
        for machine, begin, end in rules.unavailable.tolist():
            spells[machine].append([begin, None if end == FOREVER else end])
        head["unavailable"] = spells
    if rules.setups is not None:
        head["setups"] = [_setups_json(rules, machine) for machine in range(instance.machines)]
    cuts, base = instance.first[1:-1], instance.first_machine
    if rules.swap:
        head["swap"] = True
    for key in ("earliest", "no_wait", "resumable", "blocking", "family"):
        if (value := getattr(rules, key)) is not None:
            for job, part in zip(jobs, np.split(value, cuts)):
                job[key] = part.tolist()
    for key in ("early", "earliness"):
        if (value := getattr(rules, key)) is not None:
            for job, number in zip(jobs, value.tolist()):
                job[key] = number
    if rules.fixed_start is not None and rules.fixed_machine is not None:
        for job, starts, where in zip(jobs, np.split(rules.fixed_start, cuts), np.split(rules.fixed_machine, cuts)):
            pairs = zip(where.tolist(), starts.tolist())
            job["fixed"] = [[machine + base, start] if start >= 0 else None for machine, start in pairs]
    json_changes.write_changes(instance, head, jobs)
    write_resources(instance, head, jobs)


def _setups_json(rules: SideConstraints, machine: int) -> dict[str, Any] | None:
    """Return the JSON of a machine's set-ups, or None if it has none.

    Machine 0 is never None: its matrix states the number of families.
    """
    assert rules.setups is not None
    first = {} if rules.first_setups is None else {"first": rules.first_setups[machine].tolist()}
    if machine and not rules.setups[machine].any() and not any(first.get("first", ())):
        return None
    return first | {"between": rules.setups[machine].tolist()}
