"""Reader and writer of renewable resources in JSON; formats.md, "Rules in JSON", describes the fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.fields import Array, Either, Integer, Kind, Null, String
from corl.files.json_instances import Field, Record
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.rules import MAX_UNITS

__all__ = ["RESOURCES", "RESOURCES_OF_JOBS", "resources_of", "write_resources"]

_UNITS = Integer(0, MAX_UNITS)
RESOURCES: dict[str, Kind] = {"resources": Array(_UNITS, 1), "resource_names": Array(String(), 1)}
"""The optional fields of an instance."""
RESOURCES_OF_JOBS: dict[str, Kind] = {"needs": Array(Either(Array(_UNITS, 1), Array(Array(_UNITS, 1), 1), Null()), 1)}
"""The optional fields of a job."""


def resources_of(given: Record, jobs: list[Record], rows: list[list[list[tuple[int, int]]]]) -> dict[str, Any]:
    """Return the arguments of SideConstraints for the resources in the JSON of an instance. Raises InputError.

    Args:
        given: The record of the instance.
        jobs: The record of each job.
        rows: For each job its operations, each a list of (machine, duration).
    """
    if "resources" not in given:
        for job in jobs:
            if "needs" in job:
                raise job["needs"].error("there are no resources; accepted: none without")
        return {} if "resource_names" not in given else {"resource_names": _names(given)}
    capacity = given["resources"].integers(None)
    units = [needs for job, row in zip(jobs, rows) for needs in _needs(job, row, len(capacity))]
    return {"capacity": capacity, "demand": np.array(units, np.int64).reshape(-1, len(capacity)), "resource_names": _names(given)}


def _names(given: Record) -> tuple[str, ...]:
    return tuple(each.text() for each in given["resource_names"].entries()) if "resource_names" in given else ()


def _needs(job: Record, row: list[list[tuple[int, int]]], resources: int) -> list[list[int]]:
    """Return the units of each resource for each machine of each operation of a job, in their order."""
    if "needs" not in job:
        return [[0] * resources for choices in row for _ in choices]
    found: list[list[int]] = []
    for field, choices in zip(job["needs"].entries(len(row)), row):
        found += _of_operation(field, len(choices), resources)
    return found


def _of_operation(field: Field, machines: int, resources: int) -> list[list[int]]:
    """Return the units of each resource for each machine of an operation.

    The field is null, a list with one number per resource for all machines, or such a list for each machine.
    """
    if field.value is None:
        return [[0] * resources] * machines
    if isinstance(field.value, list) and field.value and isinstance(field.value[0], list):
        units: list[list[int]] = field.integers(machines, resources, low=0, high=MAX_UNITS).tolist()
        return units
    return [field.integers(resources, low=0, high=MAX_UNITS).tolist()] * machines


def write_resources(instance: JobShopInstance, head: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
    """Add the resources to the JSON object of the instance, `head`, and to the objects of its jobs, in place."""
    rules = instance.rules
    if rules is None or rules.capacity is None or rules.demand is None:
        return
    head["resources"] = rules.capacity.tolist()
    if rules.resource_names:
        head["resource_names"] = list(rules.resource_names)
    of_operation = [needs.tolist() for needs in np.split(rules.demand, instance.choice_first[1:-1])]
    for j, job in enumerate(jobs):
        needs = [_shortest(units) for units in of_operation[int(instance.first[j]) : int(instance.first[j + 1])]]
        if any(each is not None for each in needs):
            job["needs"] = needs


def _shortest(units: list[list[int]]) -> list[int] | list[list[int]] | None:
    """Return the shortest JSON of an operation's units of each resource on each of its machines."""
    if any(each != units[0] for each in units):
        return units
    return units[0] if any(units[0]) else None
