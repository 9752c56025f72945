"""Vehicles with several shifts and clients with days: a vehicle type for each shift, and rosters of the shifts of one vehicle."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from corl import arguments as check
from corl.errors import UsageError

__all__ = ["ShiftType", "days_in", "shift_fields", "shift_types", "with_shifts"]

_SHIFTS = "a list of shifts (day, begin, end), days numbered from 0"


class ShiftType(NamedTuple):
    """A vehicle type of the instance: a kind of vehicle of the model, or a shift of it."""

    kind: Hashable
    """The name of the kind."""
    number: int | None
    """The number of the vehicle among those of its kind, from 1, if its shifts belong together; otherwise None."""
    day: int | None
    """The day of the shift; None for a vehicle without shifts."""
    text: str
    """The name of the type in the instance."""


def days_in(of: str, given: Any) -> list[int]:
    """Return days, numbered from 0. Raises UsageError."""
    found = [check.integer(f"{of}: days", day) for day in check.entries(f"{of}: days", given, "a list of days, numbered from 0")]
    if not found:
        raise check.refusal(f"{of}: days", given, "one day at least, or None for all days")
    return found


def shift_fields(
    unit: str, of: str, count: int | None, shifts: Any, max_total_duration: Any, max_total_driving: Any, vehicle_cost: Any
) -> dict[str, Any]:
    """Return the fields `shifts` and `roster` of a kind of vehicle, which `with_shifts` replaces. Raises UsageError.

    Args:
        unit: The unit of time.
        of: The name of the vehicle in errors.
        count: The number of vehicles; None: no limit.
        shifts: (day, begin, end) of each shift, or None.
        max_total_duration: The greatest sum of the durations of a vehicle's routes, or None.
        max_total_driving: The greatest sum of their travel times, or None.
        vehicle_cost: The cost of a vehicle with a route, or None.
    """
    given = {"max_total_duration": max_total_duration, "max_total_driving": max_total_driving, "vehicle_cost": vehicle_cost}
    names = {"max_total_duration": "max_duration", "max_total_driving": "max_driving", "vehicle_cost": "fixed_cost"}
    roster = {names[key]: check.number(f"{of}: {key}", value, infinite=key != "vehicle_cost")
              for key, value in given.items() if value is not None}  # fmt: skip
    roster = {key: value for key, value in roster.items() if value < math.inf}
    if shifts is None:
        for key, value in given.items():
            if value is not None:
                raise UsageError(f"{of}: {key} concerns all shifts of a vehicle; accepted: together with shifts")
        return {}
    if roster and count is None:
        raise UsageError(f"{of}: limits or costs of all shifts of a vehicle need a count; accepted: count=1 or more")
    found = []
    for each in check.entries(f"{of}: shifts", shifts, _SHIFTS):
        day, begin, end = check.entries(f"{of}: shifts", each, _SHIFTS, count=3)
        found.append((check.integer(f"{of}: shifts", day), check.window(f"{of}: shifts", (begin, end), unit)))
    if not found:
        raise check.refusal(f"{of}: shifts", shifts, "one shift at least, or None")
    return {"shifts": found, "roster": roster}


def shift_types(names: Sequence[Hashable], vehicles: Sequence[dict[str, Any]]) -> list[ShiftType]:
    """Return the vehicle types of the instance, in order.

    Args:
        names: The names of the kinds of vehicles.
        vehicles: Their fields.
    """
    types = []
    for kind, vehicle in zip(names, vehicles):
        if "shifts" not in vehicle:
            types.append(ShiftType(kind, None, None, str(kind)))
            continue
        for number in range(1, vehicle["count"] + 1) if vehicle["roster"] else (None,):
            which = str(kind) if number is None or vehicle["count"] == 1 else f"{kind} {number}"
            types += [
                ShiftType(kind, number, day, f"{which}, shift {k} (day {day})") for k, (day, _) in enumerate(vehicle["shifts"], 1)
            ]
    return types


def with_shifts(
    names: Sequence[Hashable], vehicles: list[dict[str, Any]], clients: list[dict[str, Any]], first_client: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the vehicle types in the form of instance files, and the rosters; remove the days of clients, in place.

    Args:
        names: The names of the kinds of vehicles.
        vehicles: The fields of the kinds of vehicles.
        clients: The fields of the clients.
        first_client: The id of the first client; ids are consecutive.
    """
    days = [each.pop("days", None) for each in clients]
    types, expanded, rosters = shift_types(names, vehicles), list[dict[str, Any]](), list[dict[str, Any]]()
    for vehicle in vehicles:
        shifts, roster = vehicle.pop("shifts", None), vehicle.pop("roster", {})
        fields = [{}] if shifts is None else [{"shift": window} for _, window in shifts]
        if roster:
            fields, count = fields * vehicle["count"], vehicle["count"]
            vehicle["count"] = 1
            places = range(len(expanded), len(expanded) + len(fields))
            rosters += [
                {"vehicles": list(places[k : k + len(shifts)]), **roster} for k in range(0, count * len(shifts), len(shifts))
            ]
        for each in fields:
            shift_type = types[len(expanded)]
            expanded.append(vehicle | each | {"name": shift_type.text})
            if any(day is not None for day in days):
                served = [first_client + i for i, day in enumerate(days) if day is None or shift_type.day in day]
                expanded[-1]["allowed"] = [node for node in served if node in vehicle.get("allowed", served)]
    return expanded, rosters
