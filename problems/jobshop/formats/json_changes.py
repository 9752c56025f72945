"""Costs of changes in JSON: `change_costs` of the instance, and `announced` of each job, [machine, start] for each operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.fields import Array, Either, Integer, Kind, Null, Object
from corl.files.json_instances import Record
from corl.problems.jobshop.change_costs import ChangeCosts
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["FACTS", "JOB", "change_values", "write_changes"]

_COST = Integer(0, 10**6)
FACTS: dict[str, Kind] = {"change_costs": Object({}, {"machine": _COST, "start": _COST})}
JOB: dict[str, Kind] = {"announced": Array(Either(Array(Integer(0), 2, 2), Null()), 1)}


def change_values(given: Record, pairs: list[tuple[int, int]]) -> dict[str, Any]:
    """Return the field `changes` of SideConstraints; empty if there are no `change_costs`. Raises InputError.

    Args:
        given: The record of the instance.
        pairs: The announced (machine, start) of each operation, (-1, -1) if there is none.
    """
    if "change_costs" not in given:
        return {}
    machine, start = np.array(pairs, np.int64).T
    costs = given["change_costs"].record()
    per_machine, per_time = costs.get("machine", 0).integer(), costs.get("start", 0).integer()
    return {"changes": ChangeCosts(start, machine, per_machine, per_time)}


def write_changes(instance: JobShopInstance, head: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
    """Add the costs of changes to the JSON object of the instance, `head`, and to the objects of its jobs, in place."""
    changes = None if instance.rules is None else instance.rules.changes
    if changes is None:
        return
    head["change_costs"] = {"machine": changes.per_machine, "start": changes.per_time}
    cuts, base = instance.first[1:-1], instance.first_machine
    for job, starts, machines in zip(jobs, np.split(changes.start, cuts), np.split(changes.machine, cuts)):
        pairs = zip(machines.tolist(), starts.tolist())
        job["announced"] = [[machine + base, start] if start >= 0 else None for machine, start in pairs]
