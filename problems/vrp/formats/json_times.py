"""Reader and writer of soft windows and travel times by the hour in JSON; formats.md, "Rules in JSON", describes the fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corl.fields import Array, Kind, Number, Object
from corl.files.json_instances import Record
from corl.problems.vrp.formats.clock import MOMENT, WINDOW, Clock
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import LARGEST

__all__ = ["CLIENT", "FACTS", "VEHICLE", "add_rules", "rules_of"]

_AMOUNT = Number(0, LARGEST)
_FACTOR = Number(1e-6, 1e6)
CLIENT: dict[str, Kind] = {"soft_window": WINDOW, "early_cost": _AMOUNT, "late_cost": _AMOUNT}
"""Fields of clients."""
VEHICLE: dict[str, Kind] = {"speed_factors": Array(_FACTOR, 1)}
"""Fields of vehicle types."""
FACTS: dict[str, Kind] = {
    "periods": Array(Object({}, {"from": MOMENT, "speed_factor": _FACTOR, "durations": Array(Array(_AMOUNT, 1), 1)}), 1)
}
"""Fields of the instance as a whole."""


def rules_of(instance_record: Record, nodes: list[Record], vehicles: list[Record], clock: Clock) -> dict[str, Any]:
    """Return a dict of the fields of SideConstraints for soft windows and periods. Raises InputError.

    Args:
        instance_record: The JSON object of the instance.
        nodes: The JSON objects of the depots, then of the clients.
        vehicles: The JSON objects of the vehicle types.
        clock: The conversion of times.
    """
    return _soft_windows(nodes, clock) | _periods(instance_record, len(nodes), vehicles, clock)


def _soft_windows(nodes: list[Record], clock: Clock) -> dict[str, Any]:
    """Return the soft windows and their costs. Raises InputError for a cost without a window, or a window without a cost."""
    for node in nodes:
        costs = [key for key in ("early_cost", "late_cost") if key in node]
        if ("soft_window" in node) != bool(costs):
            missing = "early_cost or late_cost" if "soft_window" in node else "soft_window"
            raise node[(["soft_window"] if "soft_window" in node else costs)[0]].error(f"accepted: together with {missing}")
    if not any("soft_window" in node for node in nodes):
        return {}
    windows = [clock.ends(node["soft_window"]) if "soft_window" in node else (0.0, math.inf) for node in nodes]
    costs_of = {
        key: np.array([node.get(key, 0.0).number() for node in nodes]) / clock.speed for key in ("early_cost", "late_cost")
    }
    return {"soft_windows": np.array(windows), **costs_of}


def _periods(instance_record: Record, n: int, vehicles: list[Record], clock: Clock) -> dict[str, Any]:
    """Return the periods, and the speeds or travel times in them. Raises InputError."""
    if "periods" not in instance_record:
        for vehicle in vehicles:
            if "speed_factors" in vehicle:
                raise vehicle["speed_factors"].error("accepted: together with periods of the instance")
        return {}
    periods = [each.record() for each in instance_record["periods"].entries()]
    rules: dict[str, Any] = {"period_starts": np.array([clock.moment(each.get("from", 0.0)) for each in periods])}
    if any("durations" in each for each in periods):
        of_vehicles = [vehicle["speed_factors"] for vehicle in vehicles if "speed_factors" in vehicle]
        for field in [each["speed_factor"] for each in periods if "speed_factor" in each] + of_vehicles:
            raise field.error("accepted: speed factors or durations of periods, not both")
        in_instance_units = np.vectorize(clock.in_instance_units, otypes=[np.float64])
        return rules | {"period_durations": in_instance_units([each["durations"].numbers(n, n) for each in periods])}
    factors = [each.get("speed_factor", 1.0).number() for each in periods]
    rows = [
        vehicle["speed_factors"].numbers(len(periods)).tolist() if "speed_factors" in vehicle else factors for vehicle in vehicles
    ]
    return rules | {"speed_factors": np.array(rows, np.float64)}


def add_rules(
    instance: VrpInstance,
    rules: SideConstraints,
    facts: dict[str, Any],
    clients: list[dict[str, Any]],
    vehicles: list[dict[str, Any]],
) -> None:
    """Add soft windows and periods to the JSON values of the instance, its clients and its vehicle types, in place."""
    time_factor = instance.speed * instance.scale
    if rules.soft_windows is not None and rules.early_cost is not None and rules.late_cost is not None:
        for i, client in enumerate(clients, instance.depots):
            begin, end = (rules.soft_windows[i] / time_factor).tolist()
            client["soft_window"] = [begin, end if math.isfinite(end) else None]
            client["early_cost"] = float(rules.early_cost[i] * instance.speed)
            client["late_cost"] = float(rules.late_cost[i] * instance.speed)
    if rules.period_starts is None:
        return
    facts["periods"] = [{"from": begin} for begin in (rules.period_starts / time_factor).tolist()]
    if rules.period_durations is not None:
        for period, durations in zip(facts["periods"], rules.period_durations):
            period["durations"] = (durations / time_factor).tolist()
    if rules.speed_factors is not None:
        for vehicle, factors in zip(vehicles, rules.speed_factors.tolist()):
            vehicle["speed_factors"] = factors
