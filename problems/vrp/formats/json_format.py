"""Reader and writer of instances in JSON, in the user's own units; formats.md, "JSON", describes the format."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.fields import Array, Choice, Constant, Either, Flag, Integer, Kind, Number, Object, String, document
from corl.files.json_instances import Field, Record, heading, read_object
from corl.files.json_values import dumps
from corl.files.opening import writing
from corl.files.text import Text, quoted
from corl.problems.vrp.formats import json_rules
from corl.problems.vrp.formats.clock import WINDOW, Clock
from corl.problems.vrp.formats.vrplib import rounded
from corl.problems.vrp.instance import FLEETS, Vehicles, VrpInstance
from corl.routing.edge_weights import COORDINATE_TYPES, LARGEST

__all__ = ["SCHEMAS", "from_json_value", "read_text", "recognises", "write_instance"]

_UNITS = Object({}, {"distance": String(), "time": String(), "load": String()})
_NODE: dict[str, Kind] = {
    "id": Integer(0), "name": String(), **dict.fromkeys("xyz", Number(-LARGEST, LARGEST)), "lat": Number(-90, 90),
    "lon": Number(-360, 360), "window": WINDOW, "at": Array(Number(), 2, 2),
}  # fmt: skip
_CLIENT: dict[str, Kind] = {
    **_NODE, "demand": json_rules.LOAD, "service": json_rules.AMOUNT, "prize": json_rules.AMOUNT, "required": Flag(),
    **json_rules.CLIENT,
}  # fmt: skip
_VEHICLE: dict[str, Kind] = {
    "name": String(), "capacity": json_rules.LOAD, "count": Integer(-1), "depot": Integer(), "end_depot": Integer(),
    "fixed_cost": json_rules.AMOUNT, "unit_cost": json_rules.AMOUNT, "max_distance": Number(0), "max_duration": Number(0),
    **json_rules.VEHICLE,
}  # fmt: skip
_REFUSED = {
    "skills": 'skills (a vehicle\'s "allowed" names its clients)', "split": "split deliveries", "lifo": "last in, first out",
}  # fmt: skip
_INSTANCE = Object(
    {
        "depots": Array(Object({}, _NODE, _REFUSED), 1), "clients": Array(Object({}, _CLIENT, _REFUSED)),
        "vehicles": Array(Object({}, _VEHICLE, _REFUSED), 1),
    },
    {
        "problem": Constant("vrp"), "name": String(), "comment": String(), "units": _UNITS,
        "coordinates": Choice(("plane", "latlon")),
        "edge_weight_type": Choice(tuple(COORDINATE_TYPES)), "rounding": Choice(("nint", "exact", "dimacs")),
        "matrix": Array(Array(Number(), 1), 1), "speed": Number(), "fleet": Choice(FLEETS), **json_rules.FACTS,
    },
    _REFUSED,
)  # fmt: skip
_ID_OR_NAME = Either(Integer(), String())
_VISITS = Array(_ID_OR_NAME)
_ROUTE = Object({"vehicle": Either(Integer(0), String()), "visits": _VISITS}, {"depot": _ID_OR_NAME, "end_depot": _ID_OR_NAME})
SCHEMAS = {
    "instance": document("corl vrp instance", _INSTANCE),
    "solution": document("corl vrp solution: a list of the file's ids or names for each route", Array(Either(_VISITS, _ROUTE))),
}
_EARTH_RADIUS = {"km": 6371.0088, "m": 6371008.8, "mi": 3958.7613}  # mean radius by unit of distance

_Array = NDArray[np.float64]


def recognises(head: str) -> bool:
    """Return whether this is the head of a JSON object that says "problem": "vrp"."""
    return head.lstrip().startswith("{") and re.search(r'"problem"\s*:\s*"vrp"', head) is not None


def read_text(text: Text, name: str = "") -> VrpInstance:
    """Return the instance in a JSON text; `name` replaces a missing name. Raises InputError, naming line and field."""
    return read_object(text, lambda field: from_json_value(field, name))


def from_json_value(field: Field, name: str = "") -> VrpInstance:
    """Return the instance that a JSON object describes. Raises InputError, naming the field and what is accepted."""
    instance_record = field.record(_INSTANCE)
    name, comment = heading(instance_record, "vrp", name)
    named_units = instance_record.get("units", {}).record()
    units = (named_units.get("distance", "").text(), named_units.get("time", "").text(), named_units.get("load", "").text())
    depots = [each.record() for each in instance_record["depots"].entries()]
    clients = [each.record() for each in instance_record["clients"].entries()]
    vehicles = [each.record() for each in instance_record["vehicles"].entries()]
    nodes, q = [*depots, *clients], json_rules.dimensions(instance_record, clients, vehicles)
    ids = [node.get("id", i).integer() for i, node in enumerate(nodes)]
    kind, points, matrix, display = _distances(instance_record, nodes, units[0])
    kind, scale = rounded(kind, instance_record.get("rounding", "nint").choice().upper(), False, "")
    speed = instance_record.get("speed", 1.0)
    if not speed.number() > 0:
        raise speed.error("accepted: a number above 0")
    clock = Clock(speed.number(), scale, units[1])
    windows = np.array([clock.window(node) for node in nodes])
    service = np.array([clock.in_instance_units(node.get("service", 0.0).number()) for node in nodes])
    timed = any("window" in node or "windows" in node for node in nodes)
    rules = json_rules.rules_of(instance_record, nodes, vehicles, ids, len(depots), clock)
    groups = np.full(len(nodes), -1) if rules is None or rules.groups is None else rules.groups
    required = np.array([False] * len(depots) + [_required(client) for client in clients])
    return VrpInstance(
        name=name,
        edge_weight_type=kind,
        demand=json_rules.first_loads(nodes, "demand", q, 0.0),
        vehicles=_vehicles(vehicles, json_rules.first_loads(vehicles, "capacity", q, math.inf), ids[: len(depots)], clock),
        points=points,
        matrix=matrix,
        depots=len(depots),
        earliest=windows[:, 0] if timed else None,
        latest=windows[:, 1] if timed else None,
        service=service if timed or service.any() else None,
        prize=_column(nodes, "prize") * scale,
        required=required & (groups < 0),
        fleet=instance_record.get("fleet", "distance").choice(),
        ids=np.array(ids, np.int64),
        scale=scale,
        display=display,
        geographic=matrix is not None
        and display is not None
        and instance_record.get("coordinates", "plane").choice() == "latlon",
        comment=comment,
        units=units,
        speed=clock.speed,
        rules=rules,
        names=_names(nodes),
        vehicle_names=_names(vehicles),
    )


def _names(records: list[Record]) -> tuple[str, ...]:
    """Return the names of all records; empty if no record has one. Raises InputError for a duplicate or missing name."""
    if not any("name" in each for each in records):
        return ()
    found: dict[str, None] = {}
    for each in records:
        if each["name"].text() in found:
            raise each["name"].error(f"{quoted(each['name'].text())} is there already; accepted: another name")
        found[each["name"].text()] = None
    return tuple(found)


def _distances(
    instance_record: Record, nodes: list[Record], unit: str
) -> tuple[str, _Array | None, _Array | None, _Array | None]:
    """Return edge weight type, points, matrix and display coordinates; arrays that the instance does not have are None."""
    if "matrix" in instance_record:
        latlon = instance_record.get("coordinates", "plane").choice() == "latlon"
        axes = ("lon", "lat") if latlon else ("x", "y")
        has_positions = all(axis in node for node in nodes for axis in axes)
        return (
            "EXPLICIT",
            None,
            instance_record["matrix"].numbers(len(nodes), len(nodes)),
            _coordinates(nodes, axes) if has_positions else None,
        )
    if instance_record.get("coordinates", "plane").choice() == "latlon":
        return _on_the_globe(instance_record, nodes, unit)
    kind = instance_record.get("edge_weight_type", "EXACT_2D").choice()
    display = np.array([node["at"].numbers(2) for node in nodes]) if all("at" in node for node in nodes) else None
    return kind, _coordinates(nodes, "xyz"[: COORDINATE_TYPES[kind]]), None, display


def _on_the_globe(instance_record: Record, nodes: list[Record], unit: str) -> tuple[str, _Array, None, _Array]:
    """Return points on the globe; straight lines through the Earth are 0.001 % too short at 100 km, 0.1 % at 1000 km."""
    if unit not in _EARTH_RADIUS:
        units = instance_record.get("units", {}).record()
        raise units["distance"].error('accepted with latlon coordinates: "km", "m" or "mi"')
    degrees = np.array([[node["lat"].number(), node["lon"].number()] for node in nodes])
    latitude, longitude = np.radians(degrees).T
    cos_latitude = np.cos(latitude)
    points = np.column_stack([cos_latitude * np.cos(longitude), cos_latitude * np.sin(longitude), np.sin(latitude)])
    return "EXACT_3D", points * _EARTH_RADIUS[unit], None, np.ascontiguousarray(degrees[:, ::-1])


def _coordinates(nodes: list[Record], axes: Sequence[str]) -> _Array:
    """Return the coordinates of the nodes, float64 [n, number of axes]."""
    return np.array([[node[axis].number() for axis in axes] for node in nodes])


def _column(nodes: list[Record], key: str) -> _Array:
    """Return field `key` of each node, float64 [n], by default 0."""
    return np.array([node.get(key, 0.0).number() for node in nodes])


def _vehicles(vehicles: list[Record], capacity: _Array, depots: list[int], clock: Clock) -> Vehicles:
    """Return the vehicle types. capacity: float64 [types]; depots: the ids of the depots."""
    names = ("start", "end", "count", "fixed_cost", "unit_cost", "max_distance", "max_duration")
    columns: dict[str, list[float]] = {key: [] for key in names}
    for vehicle in vehicles:

        def limit(key: str, vehicle: Record = vehicle) -> float:
            return vehicle[key].number() if key in vehicle else math.inf

        start = _depot(vehicle.get("depot", depots[0]), depots)
        columns["start"].append(start)
        columns["end"].append(_depot(vehicle.get("end_depot", depots[start]), depots))
        columns["count"].append(vehicle.get("count", -1).integer())
        columns["fixed_cost"].append(vehicle.get("fixed_cost", 0.0).number() * clock.scale)
        columns["unit_cost"].append(vehicle.get("unit_cost", 1.0).number())
        columns["max_distance"].append(limit("max_distance") * clock.scale)
        columns["max_duration"].append(clock.in_instance_units(limit("max_duration")))
    return Vehicles(capacity=capacity, **{key: np.array(values) for key, values in columns.items()})


def _depot(field: Field, depots: list[int]) -> int:
    """Return the index of a depot's id among the depots."""
    if (depot := field.integer()) not in depots:
        raise field.error(f"{depot} is no depot; accepted: {', '.join(map(str, depots[:10]))}")
    return depots.index(depot)


def _required(client: Record) -> bool:
    """Return whether a client must be served; by default, clients with a prize are optional, others are required."""
    return client.get("required", not client.get("prize", 0.0).number()).flag()


# -------------------------------------------------------------------- the writer
def write_instance(instance: VrpInstance, path: str | Path) -> None:
    """Write a JSON file from which an identical instance is read; if `speed` is not 1, times may differ by rounding."""
    facts, clients, vehicles = _facts(instance), _nodes(instance, False), _types(instance)
    json_rules.add_rules(instance, facts, clients, vehicles)
    lines = [f' "{key}": {dumps(value)}' for key, value in facts.items()]
    for key, objects in (("depots", _nodes(instance, True)), ("clients", clients), ("vehicles", vehicles)):
        lines.append(f' "{key}": [\n  ' + ",\n  ".join(map(dumps, objects)) + "\n ]")
    with writing(path) as stream:
        stream.write("{\n" + ",\n".join(lines) + "\n}\n")


def _facts(instance: VrpInstance) -> dict[str, Any]:
    """Return the JSON values that concern the instance as a whole."""
    kind = instance.edge_weight_type
    facts: dict[str, Any] = {"problem": "vrp", "name": instance.name}
    facts |= {"comment": instance.comment} if instance.comment else {}
    facts |= {"units": dict(zip(("distance", "time", "load"), instance.units))} if any(instance.units) else {}
    facts |= {"speed": instance.speed} if instance.speed != 1.0 else {}
    facts |= {"fleet": instance.fleet} if instance.fleet != "distance" else {}
    if instance.matrix is not None:
        return facts | ({"coordinates": "latlon"} if instance.geographic else {}) | {"matrix": instance.matrix.tolist()}
    return facts | ({"edge_weight_type": "EUC_2D", "rounding": "dimacs"} if kind == "TENTHS_2D" else {"edge_weight_type": kind})


def _nodes(instance: VrpInstance, depots: bool) -> list[dict[str, Any]]:
    """Return the JSON values of the depots (`depots`) or of the clients."""
    time_factor, nodes = instance.speed * instance.scale, []
    for i in range(instance.depots) if depots else range(instance.depots, instance.n):
        node: dict[str, Any] = {"id": int(instance.ids[i])} | ({"name": instance.names[i]} if instance.names else {})
        if instance.points is not None:
            node |= dict(zip("xyz", instance.points[i].tolist()))
            node |= {"at": instance.display[i].tolist()} if instance.display is not None else {}
        elif instance.display is not None:
            node |= dict(zip(("lon", "lat") if instance.geographic else ("x", "y"), instance.display[i].tolist()))
        if not depots:
            node["demand"] = float(instance.demand[i])
        if instance.earliest is not None and instance.latest is not None:
            node["window"] = [float(instance.earliest[i] / time_factor), _finite(instance.latest[i] / time_factor)]
        if instance.service is not None and not depots:
            node["service"] = float(instance.service[i] / time_factor)
        if not depots and (instance.prize[i] or not instance.required[i]):
            node |= {"prize": float(instance.prize[i] / instance.scale), "required": bool(instance.required[i])}
        nodes.append(node)
    return nodes


def _types(instance: VrpInstance) -> list[dict[str, Any]]:
    """Return the JSON values of the vehicle types."""
    vehicles, scale, types = instance.vehicles, instance.scale, []
    factors = {
        "capacity": 1.0,
        "fixed_cost": scale,
        "unit_cost": 1.0,
        "max_distance": scale,
        "max_duration": scale * instance.speed,
    }
    for k in range(vehicles.types):
        vehicle: dict[str, Any] = {key: _finite(getattr(vehicles, key)[k] / factor) for key, factor in factors.items()}
        vehicle = {key: value for key, value in vehicle.items() if value is not None}
        vehicle |= {"name": instance.vehicle_names[k]} if instance.vehicle_names else {}
        vehicle |= {"count": int(vehicles.count[k])} if vehicles.count[k] >= 0 else {}
        if instance.depots > 1:
            vehicle |= {"depot": int(instance.ids[vehicles.start[k]]), "end_depot": int(instance.ids[vehicles.end[k]])}
        types.append(vehicle)
    return types


def _finite(value: float) -> float | None:
    """Return the value, or None if it is infinite: JSON has no infinity."""
    return float(value) if math.isfinite(value) else None
