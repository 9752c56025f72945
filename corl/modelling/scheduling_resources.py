"""Stages of parallel machines in a SchedulingModel, and resources that operations need beside a machine."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from corl.arguments import entries, integer, refusal
from corl.arguments import name as named
from corl.errors import UsageError, shown
from corl.modelling.common import Names

__all__ = ["Needs", "ResourceCollector", "Stages"]

Needs = Mapping[Hashable, int] | Mapping[Hashable, Mapping[Hashable, int]] | None
"""What an operation needs: resource -> units, or machine -> (resource -> units) if that depends on the machine."""
_ACCEPTED = "{resource: units}, {machine: {resource: units}} or None for each operation"
_MOST_UNITS = 10**6


class Stages:
    """The stages of a model: groups of parallel machines, any of which may process an operation that names the stage."""

    def __init__(self) -> None:
        self._machines: dict[Hashable, list[Hashable]] = {}

    def add(self, stage: Any, machines: Any, known: Names) -> list[Hashable]:
        """Add a stage, and return its machines, which are not among the `known` ones. Raises UsageError."""
        found = named("the name of a stage", stage)
        if found in self._machines or found in known.known:
            raise UsageError(f"there is a stage or machine {shown(found)} already; accepted: another name")
        listed = entries(f"stage {shown(found)}: machines", machines, "a list of names")
        if not listed:
            raise UsageError(f"stage {shown(found)} has no machines; accepted: at least one")
        new = Names("machine", known.known)
        for machine in listed:
            if new.new(machine) == found or machine in self._machines:
                raise UsageError(
                    f"stage {shown(found)}: a machine and a stage are named {shown(machine)}; accepted: another name"
                )
            new.add(machine)
        self._machines[found] = [named("machine", machine) for machine in listed]
        return list(self._machines[found])

    def __contains__(self, name: Hashable) -> bool:
        return name in self._machines

    def expanded(self, choices: Sequence[tuple[Hashable, int]]) -> list[tuple[Hashable, int]]:
        """Return (machine, duration) pairs, each stage among the machines replaced by its machines."""
        return [(each, duration) for machine, duration in choices for each in self._machines.get(machine, [machine])]


class ResourceCollector:
    """Collects resources and needs of operations, and converts them to the fields of a SideConstraints."""

    def __init__(self) -> None:
        self._resources, self._capacity = Names("resource"), list[int]()
        self._needs: list[list[dict[int | None, dict[int, int]]]] = []
        """For each operation of each job: machine number (None: every other machine) -> resource number -> units."""

    def add(self, name: Any, capacity: Any) -> None:
        """Add a resource. Raises UsageError."""
        units = integer(f"resource {shown(name)}: capacity", capacity, 0, _MOST_UNITS)
        self._resources.add(name)
        self._capacity.append(units)

    def parsed(self, of: str, needs: Any, operations: int, machines: Names) -> list[dict[int | None, dict[int, int]]]:
        """Return the needs of a job's operations, as `_needs` holds them. Raises UsageError.

        Args:
            of: The name of the job in messages.
            needs: The argument `needs` of `SchedulingModel.add_job`.
            operations: The number of the job's operations.
            machines: The machines of the model, with those of the job.
        """
        listed = entries(f"{of}: needs", needs, f"a list, {_ACCEPTED}")
        if listed and len(listed) != operations:
            raise UsageError(f"{of} has {operations} operations; needs: accepted: one entry for each")
        return [self._of_operation(f"{of}, operation {k}: needs", each, machines) for k, each in enumerate(listed)] or [
            {} for _ in range(operations)
        ]

    def _of_operation(self, of: str, given: Any, machines: Names) -> dict[int | None, dict[int, int]]:
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            raise refusal(of, given, _ACCEPTED)
        if any(isinstance(units, Mapping) for units in given.values()):
            if not all(isinstance(units, Mapping) for units in given.values()):
                raise refusal(of, given, _ACCEPTED)
            return {machines.number(of, machine): self._units(of, units) for machine, units in given.items()}
        return {None: self._units(of, given)}

    def _units(self, of: str, given: Mapping[Any, Any]) -> dict[int, int]:
        return {
            self._resources.number(of, name): integer(f"{of}: {shown(name)}", units, 0, _MOST_UNITS)
            for name, units in given.items()
        }

    def add_job(self, needs: list[dict[int | None, dict[int, int]]]) -> None:
        """Add the needs of a job, as `parsed` returns them."""
        self._needs.append(needs)

    def cut(self, jobs: int) -> None:
        """Keep only the needs of the first `jobs` jobs."""
        del self._needs[jobs:]

    def rules(self, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Return fields of SideConstraints; `rows`: for each job its operations, each a list of (machine number, duration)."""
        import numpy as np

        if not self._capacity:
            return {}
        demand = []
        for row, needs in zip(rows, self._needs):
            for choices, by_machine in zip(row, needs):
                for machine, _ in choices:
                    units = by_machine.get(machine, by_machine.get(None, {}))
                    demand.append([units.get(r, 0) for r in range(len(self._capacity))])
        return {
            "capacity": np.array(self._capacity),
            "demand": np.array(demand, np.int64).reshape(-1, len(self._capacity)),
            "resource_names": self._resources.texts(),
        }
