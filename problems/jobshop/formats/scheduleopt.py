"""The JSON of ScheduleOpt/benchmarks: a list of operations, each with its job or, if it has options, with precedences.

{"instance": "la01", "machines": 5, "jobs": 10, "data": [{"job": 0, "operation": 0, "machine": 1, "duration": 21}, ...]}
{"instance": "mk01", "format": "fajsp", "operations": [{"operation": 0, "option": 0, "machine": 2, "duration": 5}, ...],
 "precedences": [{"before": 0, "after": 1, "job": 0}, ...]}

All numbers begin at 0. In the second form, operations are numbered through, and those of a job are a chain.
"""

from __future__ import annotations

import re

from corl.fields import Array, Integer, Object, String
from corl.files.json_instances import Field, Record, read_object
from corl.files.text import Text
from corl.problems.jobshop.instance import HORIZON, LARGEST_MACHINES, JobShopInstance, from_jobs

__all__ = ["is_scheduleopt", "read_scheduleopt"]

_HEAD = re.compile(r'\s*\{\s*"instance"\s*:')
_INDEX, _TIME = Integer(0), Integer(0, HORIZON)
_MACHINE = Integer(0, LARGEST_MACHINES - 1)
_ROW = Object({"job": _INDEX, "operation": _INDEX, "machine": _MACHINE, "duration": _TIME}, open=True)
_OPTION = Object({"operation": _INDEX, "machine": _MACHINE, "duration": _TIME}, open=True)
_LINK = Object({"before": _INDEX, "after": _INDEX}, open=True)
_CLASSIC = Object({"instance": String(), "data": Array(_ROW, 1)}, open=True)
_FLEXIBLE = Object({"instance": String(), "operations": Array(_OPTION, 1), "precedences": Array(_LINK)}, open=True)


def is_scheduleopt(head: str) -> bool:
    """Return whether a text begins as such a file does."""
    return _HEAD.match(head) is not None


def read_scheduleopt(text: Text) -> JobShopInstance:
    """Return the instance in a text. Raises InputError with line and field."""
    return read_object(text, _instance)


def _instance(field: Field) -> JobShopInstance:
    given = field.record(_FLEXIBLE if "operations" in field.value else _CLASSIC)
    rows = _chains(given) if "operations" in given else _rows(given)
    machines = 1 + max(machine for row in rows for options in row for machine, _ in options)
    return from_jobs(rows, machines, name=given["instance"].text())


def _rows(given: Record) -> list[list[list[tuple[int, int]]]]:
    """Return the operations of each job, in the order of their numbers."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for entry in given["data"].entries():
        row = entry.record()
        job, number = (row[name].integer() for name in ("job", "operation"))
        if number in found.setdefault(job, {}):
            raise entry.error(f"operation {number} of job {job} twice; accepted: each once")
        found[job][number] = row["machine"].integer(), row["duration"].integer()
    return [[[operations[number]] for number in sorted(operations)] for _, operations in sorted(found.items())]


def _chains(given: Record) -> list[list[list[tuple[int, int]]]]:
    """Return the options of the operations of each job, from the precedences. Raises InputError if they are no chains."""
    options: dict[int, list[tuple[int, int]]] = {}
    for entry in given["operations"].entries():
        row = entry.record()
        options.setdefault(row["operation"].integer(), []).append((row["machine"].integer(), row["duration"].integer()))
    after: dict[int, int] = {}
    seconds: set[int] = set()
    for entry in given["precedences"].entries():
        row = entry.record()
        first, second = row["before"].integer(), row["after"].integer()
        if first in after or second in seconds or not {first, second} <= options.keys():
            raise entry.error("accepted: precedences of known operations, each with at most one before and one after it")
        after[first] = second
        seconds.add(second)
    chains = []
    for operation in sorted(options.keys() - seconds):
        chain = [operation]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        chains.append([options.pop(each) for each in chain])
    if options:
        raise given["precedences"].error("operations that precede themselves; accepted: chains")
    return chains
