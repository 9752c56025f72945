"""VroomInstance: an instance that was read from VROOM's JSON, with the ids that its solutions are written with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from corl.problems.vrp.instance import VrpInstance

__all__ = ["Task", "VroomInstance"]


class Task(NamedTuple):
    """A job, or one end of a shipment."""

    kind: str
    """"job", "pickup" or "delivery"."""
    id: int
    """Its id, which no other task of this kind has."""
    setup: int
    """Seconds of setup, which are a part of the node's service."""
    priority: int
    given: Mapping[str, Any]
    """Its fields description, location and location_index, as far as the file has them."""


@dataclass(frozen=True, eq=False)
class VroomInstance(VrpInstance):
    """An instance whose clients are VROOM's tasks, and whose vehicle types are groups of equal vehicles.

    Distances are costs of travel in VROOM's unit of cost; times are seconds. A job that is not served costs more than all routes
    together, the more the higher its priority.
    """

    tasks: tuple[Task, ...] = ()
    """The task of each client."""
    vehicle_records: tuple[tuple[Mapping[str, Any], ...], ...] = ()
    """For each vehicle type its vehicles: their fields id, description, start, start_index, end, end_index, as given."""
    amounts: int = 0
    """The length of the file's lists of amounts; further dimensions of load count tasks."""
    source: Mapping[str, Any] | None = None
    """The JSON object that was read."""
