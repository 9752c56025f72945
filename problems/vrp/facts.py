"""Facts about an instance for `corl info`, and the instance of its first clients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.timetable import length_unit

__all__ = ["facts", "first_clients"]


def facts(instance: VrpInstance) -> dict[str, Any]:
    """Return name -> value of the facts: sizes, distances, vehicles, windows, prizes."""
    vehicles, clients = instance.vehicles, slice(instance.depots, None)
    named_facts: dict[str, Any] = {"clients": instance.clients, "depots": instance.depots}
    named_facts["edge_weight_type"] = "EUC_2D in whole tenths (DIMACS)" if instance.scale == 10 else instance.edge_weight_type
    has_latitudes = length_unit(instance)[0] == "metres"
    if has_latitudes:
        named_facts["edge_weight_type"] = "straight on the globe"
    if any(instance.units) or instance.speed != 1.0:
        named = zip(("distance", "time", "load"), instance.units)
        named_units = [f"{key} in {unit}" for key, unit in named if unit]
        named_facts["units"] = ", ".join([*named_units, f"speed {instance.speed:.10g}"] if instance.speed != 1.0 else named_units)
    named_facts["vehicles"] = "; ".join(_vehicle(instance, k) for k in range(vehicles.types))
    demand, capacity = float(instance.demand[instance.required].sum()), float(vehicles.capacity.max())
    named_facts["demand"] = f"{float(instance.demand[clients].sum()):.10g}"
    if 0 < capacity < np.inf:
        named_facts["least_vehicles_by_demand"] = int(np.ceil(demand / capacity))
    if instance.earliest is not None and instance.latest is not None and instance.clients:
        widths = (instance.latest - instance.earliest)[clients] / (instance.scale * instance.speed)
        named_facts["windows"] = f"{np.median(widths):.10g}{_unit(instance, 1)} wide (median), the day is {_day(instance)}"
    if not instance.required[clients].all():
        optional = ~instance.required[clients]
        demand_of_optional, prizes = float(instance.demand[clients][optional].sum()), float(instance.prize.sum()) / instance.scale
        named_facts["optional_clients"] = f"{int(optional.sum())}, demand {demand_of_optional:.10g}, prizes {prizes:.10g} in all"
    if instance.rules is not None and instance.rules.names:
        named_facts["rules"] = ", ".join(instance.rules.names)
    if instance.fleet == "fewest":
        named_facts["fleet"] = f"fewest routes: each counts {instance.route_weight / instance.scale:.10g}"
    if has_latitudes and instance.display is not None:
        (west, south), (east, north) = instance.display.min(axis=0), instance.display.max(axis=0)
        named_facts["bounding_box"] = f"latitude [{south:.10g}, {north:.10g}], longitude [{west:.10g}, {east:.10g}]"
    elif instance.points is not None:
        low, high = instance.points.min(axis=0), instance.points.max(axis=0)
        named_facts["bounding_box"] = " x ".join(f"[{a:.10g}, {b:.10g}]" for a, b in zip(low, high))
    if instance.comment:
        named_facts["comment"] = " / ".join(instance.comment.splitlines())
    return named_facts


def _vehicle(instance: VrpInstance, k: int) -> str:
    """Return a description of vehicle type k in words."""
    vehicles, scale = instance.vehicles, instance.scale
    parts = [f"{vehicles.count[k]} of" if vehicles.count[k] >= 0 else "any number of"]
    parts += [instance.vehicle_label(k)] if instance.vehicle_names else []
    parts += [f"capacity {vehicles.capacity[k]:.10g}{_unit(instance, 2)}"]
    parts += [f"at {instance.labels[vehicles.start[k]]}"] if instance.depots > 1 else []
    for name in ("fixed_cost", "max_distance", "max_duration"):
        value, is_time = float(getattr(vehicles, name)[k]), name == "max_duration"
        unit = "" if name == "fixed_cost" else _unit(instance, int(is_time))
        parts += [f"{name} {value / (scale * (instance.speed if is_time else 1.0)):.10g}{unit}"] if 0 < value < np.inf else []
    parts += [f"unit_cost {vehicles.unit_cost[k]:.10g}"] if vehicles.unit_cost[k] != 1.0 else []
    return " ".join(parts)


def _day(instance: VrpInstance) -> str:
    """Return the time from the first opening to the last closing of a depot, in words."""
    assert instance.earliest is not None and instance.latest is not None
    depots = slice(0, instance.depots)
    time = instance.scale * instance.speed
    begin, end = instance.earliest[depots].min() / time, instance.latest[depots].max() / time
    return f"[{begin:.10g}, {end:.10g}]{_unit(instance, 1)}"


def _unit(instance: VrpInstance, which: int) -> str:
    """Return the unit of distance (0), time (1) or load (2) with a leading space; "" if it has no name."""
    return f" {instance.units[which]}" if instance.units[which] else ""


def first_clients(instance: VrpInstance, max_clients: int) -> VrpInstance:
    """Return the instance of all depots and the first `max_clients` clients, with the same vehicles."""
    n = instance.depots + max_clients
    if instance.n <= n:
        return instance
    names = ("demand", "points", "earliest", "latest", "service", "prize", "required", "ids", "display")
    first_rows: Any = {name: None if getattr(instance, name) is None else getattr(instance, name)[:n] for name in names}
    matrix = None if instance.matrix is None else instance.matrix[:n, :n]
    first_rows["names"] = instance.names[:n]
    return replace(instance, matrix=matrix, rules=None if instance.rules is None else instance.rules.first(n), **first_rows)
