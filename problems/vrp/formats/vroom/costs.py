"""Cost and time of travel of VROOM's vehicles, and the limit of a route that our instances can express with them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.json_instances import Record

__all__ = ["Travel", "travel_of"]

_Floats = NDArray[np.float64]
_HOUR = 3600


class Travel(NamedTuple):
    """Travel of one vehicle between locations."""

    distances: _Floats
    """float64 [m, m]: the matrix whose values, times `unit_cost`, are costs. A limit of a route is a limit of their sum."""
    durations: _Floats
    """float64 [m, m], in seconds."""
    unit_cost: float
    per_task_second: float
    """The cost of a second of setup and service, which `distances` do not contain."""
    limit: float
    """The greatest sum of `distances` along a route; inf: no limit."""


def travel_of(vehicle: Record, matrices: dict[str, _Floats], place: str) -> Travel:
    """Return the travel of a vehicle. Raises InputError, naming the vehicle, for combinations that are not supported.

    As in VROOM, travel times are rounded to hundredths of a second after the division by the speed factor.

    Args:
        vehicle: The vehicle.
        matrices: "durations", and perhaps "distances" and "costs", of its profile: float64 [m, m].
        place: The place of the vehicle in the file.
    """
    costs = vehicle.get("costs", {}).record()
    per_hour, per_task_hour, per_km = (
        costs.get(key, default).integer() for key, default in (("per_hour", _HOUR), ("per_task_hour", 0), ("per_km", 0))
    )
    factor = 1.0 / vehicle.get("speed_factor", 1.0).number()
    hundredths, priced = float(round(100 * factor)), float(round(100 * factor * per_hour))
    durations = matrices["durations"] * hundredths / 100
    limits = {key: float(vehicle[key].integer()) for key in ("max_travel_time", "max_distance") if key in vehicle}
    for needs, key in ((per_km, "costs.per_km"), ("max_distance" in limits, "max_distance")):
        if needs and "distances" not in matrices:
            raise InputError(
                "it needs distances of the vehicle's profile; accepted: distances in matrices", field=f"{place}.{key}"
            )
    if "costs" in matrices:
        if per_hour != _HOUR or per_km:
            raise InputError("per_hour or per_km beside a matrix of costs: not supported", field=f"{place}.costs")
        kind, unit_cost, distances = "costs", 1.0, matrices["costs"]
    elif not per_hour and not per_task_hour and (per_km or "max_distance" in limits):
        kind, unit_cost, distances = "max_distance", per_km / 1000, matrices["distances"]
    elif not per_km:
        kind, unit_cost, distances = "max_travel_time", priced / (_HOUR * hundredths), durations
    else:
        kind, unit_cost = "costs", 1.0
        distances = matrices["durations"] * priced / (100 * _HOUR) + matrices["distances"] * per_km / 1000
    if per_task_hour and unit_cost != 1.0:
        kind, unit_cost, distances = "costs", 1.0, distances * unit_cost
    kind = "costs" if per_task_hour else kind
    for key in limits:
        if key != kind:
            message = "together with these costs: not supported; accepted: it limits what alone costs something"
            raise InputError(message, field=f"{place}.{key}")
    return Travel(distances, durations, unit_cost, per_task_hour / _HOUR, limits.get(kind, math.inf))
