"""Instances in JSON, in units of the user's own; the form is told in README.md, "JSON"."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.edge_weights import COORDINATE_TYPES
from corl.errors import InputError
from corl.files import from_json, is_number
from corl.problems.vrp.formats import rounded
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.text import Text

__all__ = ["from_dict", "read_text", "recognises"]

_KEYS = (
    "problem", "name", "comment", "units", "coordinates", "edge_weight_type", "rounding", "matrix", "speed", "fleet", "depots",
    "clients", "vehicles",
)  # fmt: skip
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


def recognises(head: str) -> bool:
    """Whether this is the head of a JSON object that says "problem": "vrp"."""
    return head.lstrip().startswith("{") and re.search(r'"problem"\s*:\s*"vrp"', head) is not None


def read_text(text: Text, name: str = "") -> VrpInstance:
    """The instance in a JSON text; `name` stands in for a missing one. Raises InputError, naming the field."""
    try:
        value = from_json(text.content, file=text.file)
    except InputError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        raise text.error(error.reason, line=line) from None
    try:
        return from_dict(value, name)
    except InputError as error:
        raise text.error(error.reason, field=error.field) from None


def from_dict(value: Any, name: str = "") -> VrpInstance:
    """The instance that a JSON object describes. Raises InputError, naming the field and what is accepted."""
    value = _object(value, _KEYS, "")
    if value.get("problem", "vrp") != "vrp":
        raise InputError("accepted: 'vrp'", field="problem")
    units = _units(value)
    depots, clients = (_objects(value, key, keys) for key, keys in (("depots", _NODE), ("clients", _CLIENT)))
    nodes = [(f"depots[{i}]", node) for i, node in enumerate(depots)] + [
        (f"clients[{i}]", node) for i, node in enumerate(clients)
    ]
    ids = [_integer(node, "id", where, i) for i, (where, node) in enumerate(nodes)]
    kind, points, matrix, display = _space(value, nodes, units)
    kind, scale = rounded(kind, _word(value, "rounding", ("nint", "exact", "dimacs"), "nint").upper(), False, "")
    speed = _number(value, "speed", "", 1.0)
    if not speed > 0:
        raise InputError("accepted: a number above 0", field="speed")
    clock = _Clock(speed, scale, units[1])

    def column(key: str, default: float, factor: float) -> NDArray[np.float64]:
        return np.array([_number(node, key, where, default) for where, node in nodes]) * factor

    windows = [clock.window(where, node) for where, node in nodes]
    service = np.array([clock.time(node, "service", where, 0.0) for where, node in nodes])
    prize = column("prize", 0.0, scale)
    required = [i >= len(depots) and _required(node, where) for i, (where, node) in enumerate(nodes)]
    timed = any("window" in node for _, node in nodes)
    return VrpInstance(
        name=_text(value, "name") or name,
        edge_weight_type=kind,
        demand=column("demand", 0.0, 1.0),
        vehicles=_vehicles(value, ids[: len(depots)], clock),
        points=points,
        matrix=matrix,
        depots=len(depots),
        earliest=np.array([a for a, _ in windows]) if timed else None,
        latest=np.array([b for _, b in windows]) if timed else None,
        service=service if timed or service.any() else None,
        prize=prize,
        required=np.array(required, bool),
        fleet=_word(value, "fleet", ("distance", "fewest"), "distance"),
        ids=np.array(ids, np.int64),
        scale=scale,
        display=display,
        comment=_text(value, "comment"),
        units=units,
        speed=speed,
    )


class _Clock:
    """Times of the file in units of the instance: times speed, times scale (cut to whole numbers where that is 10)."""

    def __init__(self, speed: float, scale: int, unit: str) -> None:
        self.speed, self.scale, self.unit = speed, scale, unit

    def held(self, value: float) -> float:
        value *= self.speed * self.scale
        return math.floor(value) if self.scale > 1 and math.isfinite(value) else value

    def time(self, node: dict[str, Any], key: str, where: str, default: float) -> float:
        return self.held(_number(node, key, where, default))

    def window(self, where: str, node: dict[str, Any]) -> tuple[float, float]:
        """(earliest, latest): a number, "HH:MM" or null for either end."""
        given = node.get("window", [None, None])
        if not isinstance(given, list) or len(given) != 2:
            raise InputError("accepted: [earliest, latest]", field=f"{where}: window")
        ends = [default if end is None else self._end(end, where) for end, default in zip(given, (0.0, math.inf))]
        if ends[1] < ends[0]:
            raise InputError(f"ends at {given[1]}, before it begins at {given[0]}", field=f"{where}: window")
        return self.held(ends[0]), self.held(ends[1])

    def _end(self, end: Any, where: str) -> float:
        if isinstance(end, str) and (match := _TIME.fullmatch(end)):
            if self.unit not in _CLOCK:
                raise InputError(f'"{end}" needs units: {{"time": "s", "min" or "h"}}', field=f"{where}: window")
            hours, minutes, seconds = (int(part or 0) for part in match.groups())
            return (3600 * hours + 60 * minutes + seconds) * _CLOCK[self.unit]
        if not is_number(end) or end < 0:
            raise InputError('accepted: a number from 0, "HH:MM" or null', field=f"{where}: window")
        return float(end)


# -------------------------------------------------------------------- the parts
def _units(value: dict[str, Any]) -> tuple[str, str, str]:
    units = _object(value.get("units", {}), ("distance", "time", "load"), "units")
    return _text(units, "distance"), _text(units, "time"), _text(units, "load")


def _space(
    value: dict[str, Any], nodes: list[tuple[str, dict[str, Any]]], units: tuple[str, str, str]
) -> tuple[str, NDArray[np.float64] | None, NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Edge-weight type, points, matrix and display coordinates.

    Of latitudes and longitudes the points are on a sphere and distances go straight through it: 0.001 % too short at 100 km,
    0.1 % at 1000 km.
    """
    display = None
    if "matrix" in value:
        matrix = value["matrix"]
        n = len(nodes)
        shaped = isinstance(matrix, list) and len(matrix) == n and all(isinstance(row, list) and len(row) == n for row in matrix)
        if not shaped or not all(is_number(entry) for row in matrix for entry in row):
            raise InputError(f"accepted: {n} rows of {n} numbers, depots first", field="matrix")
        if all("x" in node and "y" in node for _, node in nodes):
            display = np.array([[_number(node, key, where) for key in "xy"] for where, node in nodes])
        return "EXPLICIT", None, np.array(matrix, np.float64), display
    if _word(value, "coordinates", ("plane", "latlon"), "plane") == "latlon":
        if units[0] not in _RADIUS:
            raise InputError('accepted with latlon coordinates: "km", "m" or "mi"', field="units: distance")
        degrees = np.array([[_number(node, key, where) for key in ("lat", "lon")] for where, node in nodes])
        if (np.abs(degrees) > [90, 360]).any():
            raise InputError("accepted: -90 to 90 and -360 to 360 degrees", field="lat, lon")
        latitude, longitude = np.radians(degrees).T
        flat = np.cos(latitude)
        points = np.column_stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)])
        return "EXACT_3D", points * _RADIUS[units[0]], None, np.ascontiguousarray(degrees[:, ::-1])
    kind = _word(value, "edge_weight_type", tuple(COORDINATE_TYPES), "EXACT_2D")
    axes = "xyz"[: COORDINATE_TYPES[kind]]
    points = np.array([[_number(node, axis, where) for axis in axes] for where, node in nodes])
    if all("at" in node for _, node in nodes):
        display = np.array([_pair(node["at"], where) for where, node in nodes])
    return kind, points, None, display


def _vehicles(value: dict[str, Any], depots: list[int], clock: _Clock) -> Vehicles:
    table: dict[str, list[float]] = {key: [] for key in ("start", "end", *_VEHICLE) if key not in ("depot", "end_depot")}
    for i, vehicle in enumerate(_objects(value, "vehicles", _VEHICLE)):
        where = f"vehicles[{i}]"
        start = _depot(vehicle, "depot", where, depots, depots[0])
        table["start"].append(depots.index(start))
        table["end"].append(depots.index(_depot(vehicle, "end_depot", where, depots, start)))
        table["capacity"].append(_number(vehicle, "capacity", where, math.inf))
        table["count"].append(_integer(vehicle, "count", where, -1))
        table["fixed_cost"].append(_number(vehicle, "fixed_cost", where, 0.0) * clock.scale)
        table["unit_cost"].append(_number(vehicle, "unit_cost", where, 1.0))
        table["max_distance"].append(_number(vehicle, "max_distance", where, math.inf) * clock.scale)
        table["max_duration"].append(clock.time(vehicle, "max_duration", where, math.inf))
    return Vehicles(**{key: np.array(values) for key, values in table.items()})


def _depot(vehicle: dict[str, Any], key: str, where: str, depots: list[int], default: int) -> int:
    depot = _integer(vehicle, key, where, default)
    if depot not in depots:
        raise InputError(f"{depot} is no depot; accepted: {', '.join(map(str, depots[:10]))}", field=f"{where}: {key}")
    return depot


def _required(node: dict[str, Any], where: str) -> bool:
    """By default a client with a prize may be left out, any other may not."""
    value = node.get("required", not node.get("prize", 0))
    if not isinstance(value, bool):
        raise InputError("accepted: true or false", field=f"{where}: required")
    return value


# -------------------------------------------------------------------- single values
def _object(value: Any, keys: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"accepted: an object with {', '.join(keys)}", field=where or None)
    for key in value:
        if key in _REFUSED and key not in keys:
            raise InputError(f"{_REFUSED[key]}: not supported", field=f"{where}: {key}" if where else key)
        if key not in keys:
            raise InputError(f"not known; accepted: {', '.join(keys)}", field=(f"{where}: {key}" if where else key)[:80])
    return value


def _objects(value: dict[str, Any], key: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    given = value.get(key)
    if not isinstance(given, list) or not given:
        raise InputError(f"accepted: a list of objects, one at least, with {', '.join(keys)}", field=key)
    return [_object(each, keys, f"{key}[{i}]") for i, each in enumerate(given)]


def _number(value: dict[str, Any], key: str, where: str, default: float | None = None) -> float:
    given = value.get(key, default)
    if default is not None and (given is None or given is default):
        return float(default)
    if given is None or not is_number(given):
        missing = "missing; " if given is None else ""
        raise InputError(f"{missing}accepted: a number", field=f"{where}: {key}".lstrip(": "))
    return float(given)


def _integer(value: dict[str, Any], key: str, where: str, default: int) -> int:
    given = value.get(key, default)
    if type(given) is not int or abs(given) > 2**53:
        raise InputError("accepted: an integer", field=f"{where}: {key}")
    return given


def _word(value: dict[str, Any], key: str, accepted: tuple[str, ...], default: str) -> str:
    given = value.get(key, default)
    if given not in accepted:
        raise InputError(f"accepted: {', '.join(accepted)}", field=key)
    return str(given)


def _text(value: dict[str, Any], key: str) -> str:
    given = value.get(key, "")
    if not isinstance(given, str):
        raise InputError("accepted: a text", field=key)
    return given


def _pair(value: Any, where: str) -> list[float]:
    if not isinstance(value, list) or len(value) != 2 or not all(map(is_number, value)):
        raise InputError("accepted: [x, y]", field=f"{where}: at")
    return [float(each) for each in value]
