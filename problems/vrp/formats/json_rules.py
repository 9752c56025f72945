"""Reader and writer of side constraints in JSON; formats.md, "Rules in JSON", describes the fields."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.fields import Array, Either, Flag, Integer, Kind, Number, Object
from corl.files.json_instances import Field, Record
from corl.problems.vrp.formats import json_structure, json_times
from corl.problems.vrp.formats.clock import WINDOW, Clock
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import LARGEST

__all__ = ["AMOUNT", "CLIENT", "FACTS", "LOAD", "VEHICLE", "add_rules", "dimensions", "first_loads", "rules_of"]

_MAX_RELOADS = 2**31
AMOUNT = Number(0, LARGEST)
LOAD = Either(Number(0), Array(Number(0), 1))
"""The kind of a load: a number, or a list with one number for each dimension."""
_IDS = Array(Integer())
_MATRIX = Array(Array(AMOUNT, 1), 1)
CLIENT: dict[str, Kind] = {"pickup": LOAD, "release": AMOUNT, "windows": Array(WINDOW, 1), **json_times.CLIENT}
"""Fields of clients."""
VEHICLE: dict[str, Kind] = {  # fields of vehicle types
    "allowed": _IDS, "shift": WINDOW, "stays_out": Flag(), "reloads": Integer(0, _MAX_RELOADS), "reload_depots": _IDS,
    "duration_cost": AMOUNT, "overtime_from": AMOUNT, "overtime_cost": AMOUNT,
    "breaks": Array(Object({"window": WINDOW, "duration": AMOUNT})), "max_driving": AMOUNT, "rest": AMOUNT,
    "profile": Integer(0), "begun": _IDS, "aboard": LOAD, **json_times.VEHICLE,
}  # fmt: skip
FACTS: dict[str, Kind] = {  # fields of the instance as a whole
    "shipments": Array(Object({"from": Integer(), "to": Integer()}, {"amount": LOAD})),
    "groups": Array(Object({"clients": Array(Integer(), 1)}, {"required": Flag()})), "backhauls_last": Flag(),
    "profiles": Array(Object({}, {"distances": _MATRIX, "durations": _MATRIX})),
    **json_times.FACTS, **json_structure.FACTS,
}  # fmt: skip

_Floats = NDArray[np.float64]


# -------------------------------------------------------------------- loads
def dimensions(instance_record: Record, clients: list[Record], vehicles: list[Record]) -> int:
    """Return the number of dimensions of loads: the length of the first load that is a list; 1 if all loads are numbers."""
    shipments = [each.record() for each in instance_record.get("shipments", []).entries()]
    loads = [record[key] for records, keys in ((clients, ("demand", "pickup")), (vehicles, ("capacity", "aboard")),
             (shipments, ("amount",))) for record in records for key in keys if key in record]  # fmt: skip
    return next((len(each.entries(least=1)) for each in loads if isinstance(each.value, list)), 1)


def first_loads(records: list[Record], key: str, q: int, default: float) -> _Floats:
    """Return float64 [records]: the first dimension of field `key` of each record, out of `q` dimensions."""
    return _loads(records, key, q, default)[:, 0].copy()


def _loads(records: list[Record], key: str, q: int, default: float) -> _Floats:
    """Return float64 [records, q]: field `key` of each record. With one dimension, a number may replace the list."""
    rows = [
        [default] * q if key not in each
        else each[key].numbers(q) if q > 1 or isinstance(each[key].value, list)
        else [each[key].number()]
        for each in records
    ]  # fmt: skip
    return np.array(rows, np.float64).reshape(len(records), q)


# -------------------------------------------------------------------- the reader
def rules_of(
    instance_record: Record, nodes: list[Record], vehicles: list[Record], ids: list[int], depots: int, clock: Clock
) -> SideConstraints | None:
    """Return the side constraints in an instance's JSON; None if there are none. Raises InputError.

    Args:
        instance_record: The JSON object of the instance.
        nodes: The JSON objects of the depots, then of the clients.
        vehicles: The JSON objects of the vehicle types.
        ids: The ids of the nodes.
        depots: The number of depots.
        clock: The conversion of times.
    """
    clients, q, n = nodes[depots:], dimensions(instance_record, nodes[depots:], vehicles), len(nodes)
    node_of = {node: i for i, node in enumerate(ids)}
    rules: dict[str, Any] = {}
    if q > 1:
        rules |= {"demands": _loads(nodes, "demand", q, 0.0), "capacities": _loads(vehicles, "capacity", q, math.inf)}
    if any("pickup" in each for each in clients):
        rules["pickups"] = _loads(nodes, "pickup", q, 0.0)
    if instance_record.get("backhauls_last", False).flag():
        rules["backhauls_last"] = True
    if any("aboard" in each for each in vehicles):
        rules["aboard"] = _loads(vehicles, "aboard", q, 0.0)
    if "shipments" in instance_record:
        shipments = [each.record() for each in instance_record["shipments"].entries()]
        ends = [[_client(each[key], node_of, depots) for key in ("from", "to")] for each in shipments]
        rules["shipments"] = np.array(ends, np.int64).reshape(-1, 2)
        rules["amounts"] = _loads(shipments, "amount", q, 0.0)
    if any("release" in each for each in clients):
        rules["release"] = np.array([clock.in_instance_units(each.get("release", 0.0).number()) for each in nodes])
    if "groups" in instance_record:
        groups = [each.record() for each in instance_record["groups"].entries()]
        rules["groups"] = np.full(n, -1)
        for g, each in enumerate(groups):
            rules["groups"][[_client(client, node_of, depots) for client in each["clients"].entries()]] = g
        rules["group_required"] = np.array([each.get("required", True).flag() for each in groups], bool)
    if any("windows" in each for each in clients):
        rules["closed"] = np.array(_closed(clients, depots, clock), np.float64).reshape(-1, 3)
    rules |= _vehicle_rules(instance_record, vehicles, node_of, depots, n, clock)
    rules |= json_times.rules_of(instance_record, nodes, vehicles, clock)
    rules |= json_structure.structure_rules(instance_record, len(vehicles), node_of, depots, clock)
    return SideConstraints(**rules) if rules else None


def _client(field: Field, node_of: dict[int, int], depots: int) -> int:
    """Return the node of a client's id. Raises InputError if no client has it."""
    node = node_of.get(field.integer(), -1)
    if node < depots:
        raise field.error(f"{field.value} is no client of the instance")
    return node


def _closed(clients: list[Record], depots: int, clock: Clock) -> list[tuple[float, float, float]]:
    """Return (node, begin, end) of each interval between two windows of a client. Raises InputError."""
    intervals = []
    for node, each in enumerate(clients, depots):
        if "windows" in each:
            windows = [clock.ends(window) for window in each["windows"].entries()]
            for (_, end), (begin, _) in pairwise(windows):
                if begin < end:
                    raise each["windows"].error("accepted: windows in order of time that do not overlap")
                intervals.append((float(node), end, begin))
    return intervals


def _vehicle_rules(
    instance_record: Record, vehicles: list[Record], node_of: dict[int, int], depots: int, n: int, clock: Clock
) -> dict[str, Any]:
    """Return a dict of the fields of SideConstraints that concern vehicle types. Raises InputError."""
    rules: dict[str, Any] = {}

    def times(key: str) -> _Floats:
        """Return field `key` of each vehicle type in the instance's units, float64 [types]; inf if it is missing."""
        return np.array([clock.in_instance_units(each[key].number()) if key in each else math.inf for each in vehicles])

    def has(key: str) -> bool:
        """Return whether any vehicle type has field `key`."""
        return any(key in each for each in vehicles)

    if has("allowed"):
        rules["allowed"] = np.ones((len(vehicles), n), bool)
        for row, each in zip(rules["allowed"], vehicles):
            if "allowed" in each:
                row[depots:] = False
                row[[_client(client, node_of, depots) for client in each["allowed"].entries()]] = True
    if has("shift"):
        rules["shift"] = np.array([clock.ends(each.get("shift", [None, None])) for each in vehicles])
    if has("stays_out"):
        rules["stays_out"] = np.array([each.get("stays_out", False).flag() for each in vehicles])
    if has("reloads"):
        rules["reloads"] = np.array([each.get("reloads", 0).integer() for each in vehicles])
    if has("reload_depots"):
        rules["reload_depots"] = np.zeros((len(vehicles), depots), bool)
        for row, each in zip(rules["reload_depots"], vehicles):
            for depot in each.get("reload_depots", [each.get("depot", next(iter(node_of))).value]).entries():
                if not 0 <= node_of.get(depot.integer(), -1) < depots:
                    raise depot.error(f"{depot.value} is no depot")
                row[node_of[depot.value]] = True
    if has("duration_cost"):
        rules["duration_cost"] = _numbers(vehicles, "duration_cost", 0.0) / clock.speed
    if has("overtime_from") or has("overtime_cost"):
        rules["overtime_from"] = times("overtime_from")
        rules["overtime_cost"] = _numbers(vehicles, "overtime_cost", 0.0) / clock.speed
    if has("breaks"):
        entries = [(k, each.record()) for k, vehicle in enumerate(vehicles)
                   for each in vehicle.get("breaks", []).entries()]  # fmt: skip
        rows = [(k, *clock.ends(each["window"]), clock.in_instance_units(each["duration"].number())) for k, each in entries]
        rules["breaks"] = np.array(rows, np.float64).reshape(-1, 4)
    if has("max_driving") or has("rest"):
        rules["max_driving"] = times("max_driving")
        for each in vehicles:
            if "max_driving" in each:
                each["rest"].number()  # InputError if it is missing
        rules["rest"] = np.where(np.isinf(rest := times("rest")), 0.0, rest)
    if has("begun"):
        begun = [[_client(client, node_of, depots) for client in each.get("begun", []).entries()] for each in vehicles]
        rules["begun"] = tuple(np.array(each, np.int64) for each in begun)
    return rules | _profiles(instance_record, vehicles, n, clock)


def _numbers(records: list[Record], key: str, default: float) -> _Floats:
    """Return float64 [records]: field `key` of each record."""
    return np.array([each.get(key, default).number() for each in records])


def _profiles(instance_record: Record, vehicles: list[Record], n: int, clock: Clock) -> dict[str, Any]:
    """Return a dict of the fields of SideConstraints for the matrices of profiles and the profile of each vehicle type."""
    rules: dict[str, Any] = {}
    profiles = [each.record() for each in instance_record.get("profiles", []).entries()]
    for key in ("distances", "durations"):
        if any(key in each for each in profiles):
            rules[key] = np.array([each[key].numbers(n, n) for each in profiles])
    if "durations" in rules:
        in_instance_units = np.vectorize(clock.in_instance_units, otypes=[np.float64])
        rules["durations"] = in_instance_units(rules["durations"])
    if profiles:
        rules["profile"] = np.array([each.get("profile", 0).integer(0, len(profiles) - 1) for each in vehicles])
    return rules


# -------------------------------------------------------------------- the writer
def add_rules(
    instance: VrpInstance, facts: dict[str, Any], clients: list[dict[str, Any]], vehicles: list[dict[str, Any]]
) -> None:
    """Add the side constraints to the JSON values of the instance, its clients and its vehicle types, in place."""
    rules = instance.rules
    if rules is None:
        return
    time_factor, ids = instance.speed * instance.scale, instance.ids
    facts |= _shared_fields(instance, rules, ids)
    for i, client in enumerate(clients, instance.depots):
        client |= {} if rules.demands is None else {"demand": rules.demands[i].tolist()}
        client |= {} if rules.pickups is None else {"pickup": rules.pickups[i].tolist()}
        client |= {} if rules.release is None else {"release": rules.release[i] / time_factor}
    if rules.closed is not None:
        for i, begin, end in sorted(rules.closed.tolist()):
            client = clients[int(i) - instance.depots]
            (earliest, latest), windows_before = client["window"], client.get("windows", [client["window"]])
            client["windows"] = [
                *windows_before[:-1],
                [windows_before[-1][0] if len(windows_before) > 1 else earliest, begin / time_factor],
                [end / time_factor, latest],
            ]
    depots = ids[: instance.depots]
    for k, vehicle in enumerate(vehicles):
        vehicle |= _type_fields(rules, k, ids, depots, time_factor, instance.speed)
    json_times.add_rules(instance, rules, facts, clients, vehicles)


def _shared_fields(instance: VrpInstance, rules: SideConstraints, ids: NDArray[np.int64]) -> dict[str, Any]:
    """Return the JSON values that concern the instance as a whole."""
    facts: dict[str, Any] = {"backhauls_last": True} if rules.backhauls_last else {}
    if rules.shipments is not None and rules.amounts is not None:
        lines = zip(ids[rules.shipments].tolist(), rules.amounts.tolist())
        facts["shipments"] = [{"from": start, "to": end, "amount": amount} for (start, end), amount in lines]
    if rules.groups is not None and rules.group_required is not None:
        groups = [ids[rules.groups == g].tolist() for g in range(len(rules.group_required))]
        facts["groups"] = [{"clients": each, "required": r} for each, r in zip(groups, rules.group_required.tolist())]
    time_factor = instance.speed * instance.scale
    count = next((len(each) for each in (rules.distances, rules.durations) if each is not None), 0)
    if count:
        facts["profiles"] = [
            ({} if rules.distances is None else {"distances": rules.distances[p].tolist()})
            | ({} if rules.durations is None else {"durations": (rules.durations[p] / time_factor).tolist()})
            for p in range(count)
        ]
    return facts | json_structure.structure_facts(instance, rules)


def _type_fields(
    rules: SideConstraints, k: int, ids: NDArray[np.int64], depots: NDArray[np.int64], time_factor: float, speed: float
) -> dict[str, Any]:
    """Return the JSON values of vehicle type k; depots: the ids of the depots."""
    values: dict[str, Any] = {}
    factors = {
        "duration_cost": 1 / speed,
        "overtime_cost": 1 / speed,
        "overtime_from": time_factor,
        "max_driving": time_factor,
        "rest": time_factor,
    }
    for name, factor in factors.items():
        value = getattr(rules, name)
        if value is not None and math.isfinite(value[k]):
            values[name] = float(value[k] / factor)
    for name in ("stays_out", "reloads", "profile", "aboard"):
        value = getattr(rules, name)
        values |= {} if value is None else {name: value[k].tolist()}
    if rules.capacities is not None:
        values["capacity"] = rules.capacities[k].tolist()
    if rules.allowed is not None:
        values["allowed"] = ids[len(depots) :][rules.allowed[k, len(depots) :]].tolist()
    if rules.reload_depots is not None:
        values["reload_depots"] = depots[rules.reload_depots[k]].tolist()
    if rules.shift is not None:
        earliest, latest = (rules.shift[k] / time_factor).tolist()
        values["shift"] = [earliest, latest if math.isfinite(latest) else None]
    if rules.breaks is not None:
        lines = (rules.breaks[rules.breaks[:, 0] == k, 1:] / time_factor).tolist()
        values["breaks"] = [{"window": line[:2], "duration": line[2]} for line in lines]
    if rules.begun is not None:
        values["begun"] = ids[rules.begun[k]].tolist()
    return values
