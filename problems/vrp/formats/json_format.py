"""Instances in JSON, in units of the user's own, read and written; the form is told in formats.md, "JSON"."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.files.json_instances import Field, Record, heading, read_object
from corl.files.opening import writing
from corl.files.text import Text, quoted
from corl.problems.vrp.formats.vrplib import rounded
from corl.problems.vrp.instance import FLEETS, Vehicles, VrpInstance
from corl.routing.edge_weights import COORDINATE_TYPES, LARGEST

__all__ = ["from_json_value", "read_text", "recognises", "write_instance"]

_KEYS = (
    "problem", "name", "comment", "units", "coordinates", "edge_weight_type", "rounding", "matrix", "speed", "fleet", "depots",
    "clients", "vehicles",
)  # fmt: skip
_UNITS = ("distance", "time", "load")
_NODE = ("id", "x", "y", "z", "lat", "lon", "window", "at")
_CLIENT = (*_NODE, "demand", "service", "prize", "required")
_VEHICLE = ("capacity", "count", "depot", "end_depot", "fixed_cost", "unit_cost", "max_distance", "max_duration")
_REFUSED = {
    "pickup": "pick-up and delivery", "pickups": "pick-up and delivery", "delivery": "pick-up and delivery",
    "release": "release times", "release_time": "release times", "group": "groups of clients", "groups": "groups of clients",
    "windows": "several windows of a client", "skills": "skills", "breaks": "breaks", "backhaul": "backhauls",
    "reloads": "vehicles that come back to reload", "durations": "travel times other than distance over speed",
    "allowed_clients": "vehicles with clients of their own",
}  # fmt: skip
_RADIUS = {"km": 6371.0088, "m": 6371008.8, "mi": 3958.7613}  # the Earth's mean radius
_CLOCK = {"s": 1.0, "min": 1 / 60, "h": 1 / 3600}
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")

_Array = NDArray[np.float64]


def recognises(head: str) -> bool:
    """Whether this is the head of a JSON object that says "problem": "vrp"."""
    return head.lstrip().startswith("{") and re.search(r'"problem"\s*:\s*"vrp"', head) is not None


def read_text(text: Text, name: str = "") -> VrpInstance:
    """The instance in a JSON text; `name` stands in for a missing one. Raises InputError, naming line and field."""
    return read_object(text, lambda field: from_json_value(field, name))


def from_json_value(field: Field, name: str = "") -> VrpInstance:
    """The instance that a JSON object describes. Raises InputError, naming the field and what is accepted."""
    given = field.record(_KEYS, _REFUSED)
    name, comment = heading(given, "vrp", name)
    named = given.get("units", {}).record(_UNITS)
    units = (named.get("distance", "").text(), named.get("time", "").text(), named.get("load", "").text())
    depots = [each.record(_NODE, _REFUSED) for each in given["depots"].entries(least=1)]
    clients = [each.record(_CLIENT, _REFUSED) for each in given["clients"].entries(least=1)]
    nodes = [*depots, *clients]
    ids = [node.get("id", i).integer(0) for i, node in enumerate(nodes)]
    kind, points, matrix, display = _distances(given, nodes, units[0])
    kind, scale = rounded(kind, given.get("rounding", "nint").choice(("nint", "exact", "dimacs")).upper(), False, "")
    speed = given.get("speed", 1.0)
    if not speed.number() > 0:
        raise speed.error("accepted: a number above 0")
    clock = _Clock(speed.number(), scale, units[1])
    windows = np.array([clock.window(node) for node in nodes])
    service = np.array([clock.held(node.get("service", 0.0).number(0.0, LARGEST)) for node in nodes])
    timed = any("window" in node for node in nodes)
    return VrpInstance(
        name=name,
        edge_weight_type=kind,
        demand=_column(nodes, "demand"),
        vehicles=_vehicles(given["vehicles"], ids[: len(depots)], clock),
        points=points,
        matrix=matrix,
        depots=len(depots),
        earliest=windows[:, 0] if timed else None,
        latest=windows[:, 1] if timed else None,
        service=service if timed or service.any() else None,
        prize=_column(nodes, "prize") * scale,
        required=np.array([False] * len(depots) + [_required(client) for client in clients]),
        fleet=given.get("fleet", "distance").choice(FLEETS),
        ids=np.array(ids, np.int64),
        scale=scale,
        display=display,
        comment=comment,
        units=units,
        speed=clock.speed,
    )


@dataclass(frozen=True)
class _Clock:
    """Times of the file in units of the instance: times speed, times scale (cut to whole numbers where that is 10)."""

    speed: float
    scale: int
    unit: str

    def held(self, value: float) -> float:
        value *= self.speed * self.scale
        return math.floor(value) if self.scale > 1 and math.isfinite(value) else value

    def window(self, node: Record) -> tuple[float, float]:
        """(earliest, latest): a number, "HH:MM" or null for either end."""
        ends = node.get("window", [None, None]).entries(2)
        early, late = (default if end.value is None else self._end(end) for end, default in zip(ends, (0.0, math.inf)))
        if late < early:
            raise node["window"].error(f"ends at {ends[1].value}, before it begins at {ends[0].value}")
        return self.held(early), self.held(late)

    def _end(self, end: Field) -> float:
        if not isinstance(end.value, str):
            return end.number(0.0)
        if (match := _TIME.fullmatch(end.value)) is None:
            raise end.error(f'{quoted(end.value)} is not accepted; accepted: a number from 0, "HH:MM" or null')
        if self.unit not in _CLOCK:
            raise end.error(f'"{end.value}" needs units: {{"time": "s", "min" or "h"}}')
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return (3600 * hours + 60 * minutes + seconds) * _CLOCK[self.unit]


def _distances(given: Record, nodes: list[Record], unit: str) -> tuple[str, _Array | None, _Array | None, _Array | None]:
    """Edge-weight type, points, matrix and display coordinates."""
    if "matrix" in given:
        shown = all("x" in node and "y" in node for node in nodes)
        return "EXPLICIT", None, given["matrix"].numbers(len(nodes), len(nodes)), _coordinates(nodes, "xy") if shown else None
    if given.get("coordinates", "plane").choice(("plane", "latlon")) == "latlon":
        return _on_the_globe(given, nodes, unit)
    kind = given.get("edge_weight_type", "EXACT_2D").choice(COORDINATE_TYPES)
    display = np.array([node["at"].numbers(2) for node in nodes]) if all("at" in node for node in nodes) else None
    return kind, _coordinates(nodes, "xyz"[: COORDINATE_TYPES[kind]]), None, display


def _on_the_globe(given: Record, nodes: list[Record], unit: str) -> tuple[str, _Array, None, _Array]:
    """Points on a sphere, between which distances go straight: 0.001 % too short at 100 km, 0.1 % at 1000 km."""
    if unit not in _RADIUS:
        units = given.get("units", {}).record(_UNITS)
        raise units["distance"].error('accepted with latlon coordinates: "km", "m" or "mi"')
    degrees = np.array([[node["lat"].number(-90, 90), node["lon"].number(-360, 360)] for node in nodes])
    latitude, longitude = np.radians(degrees).T
    flat = np.cos(latitude)
    points = np.column_stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)])
    return "EXACT_3D", points * _RADIUS[unit], None, np.ascontiguousarray(degrees[:, ::-1])


def _coordinates(nodes: list[Record], axes: str) -> _Array:
    return np.array([[node[axis].number(-LARGEST, LARGEST) for axis in axes] for node in nodes])


def _column(nodes: list[Record], key: str) -> _Array:
    return np.array([node.get(key, 0.0).number(0.0, LARGEST) for node in nodes])


def _vehicles(field: Field, depots: list[int], clock: _Clock) -> Vehicles:
    """The vehicle types; depots: the ids that they may have."""
    columns: dict[str, list[float]] = {key: [] for key in ("start", "end", *_VEHICLE) if key not in ("depot", "end_depot")}
    for vehicle in (each.record(_VEHICLE, _REFUSED) for each in field.entries(least=1)):

        def limit(key: str, vehicle: Record = vehicle) -> float:
            return vehicle[key].number(0.0) if key in vehicle else math.inf

        start = _depot(vehicle.get("depot", depots[0]), depots)
        columns["start"].append(start)
        columns["end"].append(_depot(vehicle.get("end_depot", depots[start]), depots))
        columns["capacity"].append(limit("capacity"))
        columns["count"].append(vehicle.get("count", -1).integer(-1))
        columns["fixed_cost"].append(vehicle.get("fixed_cost", 0.0).number(0.0, LARGEST) * clock.scale)
        columns["unit_cost"].append(vehicle.get("unit_cost", 1.0).number(0.0, LARGEST))
        columns["max_distance"].append(limit("max_distance") * clock.scale)
        columns["max_duration"].append(clock.held(limit("max_duration")))
    return Vehicles(**{key: np.array(values) for key, values in columns.items()})


def _depot(field: Field, depots: list[int]) -> int:
    """The place of a depot's id among the depots."""
    if (depot := field.integer()) not in depots:
        raise field.error(f"{depot} is no depot; accepted: {', '.join(map(str, depots[:10]))}")
    return depots.index(depot)


def _required(client: Record) -> bool:
    """By default a client with a prize may be left out, any other may not."""
    return client.get("required", not client.get("prize", 0.0).number()).flag()


# -------------------------------------------------------------------- the writer
def write_instance(instance: VrpInstance, path: str | Path) -> None:
    """Write JSON that reads back to the bit (with a `speed` other than 1: times to the last but one)."""
    lines = [f' "{key}": {json.dumps(value)}' for key, value in _facts(instance).items()]
    for key, objects in (
        ("depots", _nodes(instance, True)),
        ("clients", _nodes(instance, False)),
        ("vehicles", _types(instance)),
    ):
        lines.append(f' "{key}": [\n  ' + ",\n  ".join(map(json.dumps, objects)) + "\n ]")
    with writing(path) as stream:
        stream.write("{\n" + ",\n".join(lines) + "\n}\n")


def _facts(instance: VrpInstance) -> dict[str, Any]:
    kind = instance.edge_weight_type
    facts: dict[str, Any] = {"problem": "vrp", "name": instance.name}
    facts |= {"comment": instance.comment} if instance.comment else {}
    facts |= {"units": dict(zip(("distance", "time", "load"), instance.units))} if any(instance.units) else {}
    facts |= {"speed": instance.speed} if instance.speed != 1.0 else {}
    facts |= {"fleet": instance.fleet} if instance.fleet != "distance" else {}
    if instance.matrix is not None:
        return facts | {"matrix": instance.matrix.tolist()}
    return facts | ({"edge_weight_type": "EUC_2D", "rounding": "dimacs"} if kind == "TENTHS_2D" else {"edge_weight_type": kind})


def _nodes(instance: VrpInstance, depots: bool) -> list[dict[str, Any]]:
    time, found = instance.speed * instance.scale, []
    for i in range(instance.depots) if depots else range(instance.depots, instance.n):
        node: dict[str, Any] = {"id": int(instance.ids[i])}
        if instance.points is not None:
            node |= dict(zip("xyz", instance.points[i].tolist()))
            node |= {"at": instance.display[i].tolist()} if instance.display is not None else {}
        elif instance.display is not None:
            node |= dict(zip("xy", instance.display[i].tolist()))
        if not depots:
            node["demand"] = float(instance.demand[i])
        if instance.earliest is not None and instance.latest is not None:
            node["window"] = [float(instance.earliest[i] / time), _finite(instance.latest[i] / time)]
        if instance.service is not None and not depots:
            node["service"] = float(instance.service[i] / time)
        if not depots and (instance.prize[i] or not instance.required[i]):
            node |= {"prize": float(instance.prize[i] / instance.scale), "required": bool(instance.required[i])}
        found.append(node)
    return found


def _types(instance: VrpInstance) -> list[dict[str, Any]]:
    vehicles, scale, found = instance.vehicles, instance.scale, []
    factors = {
        "capacity": 1.0,
        "fixed_cost": scale,
        "unit_cost": 1.0,
        "max_distance": scale,
        "max_duration": scale * instance.speed,
    }
    for k in range(vehicles.types):
        each = {key: _finite(getattr(vehicles, key)[k] / factor) for key, factor in factors.items()}
        each = {key: value for key, value in each.items() if value is not None}
        each |= {"count": int(vehicles.count[k])} if vehicles.count[k] >= 0 else {}
        if instance.depots > 1:
            each |= {"depot": int(instance.ids[vehicles.start[k]]), "end_depot": int(instance.ids[vehicles.end[k]])}
        found.append(each)
    return found


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
