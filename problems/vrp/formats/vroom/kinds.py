"""The fields of VROOM's JSON that are read, and the names of those that are refused."""

from __future__ import annotations

from corl.fields import Anything, Array, Integer, Kind, Number, Object, String
from corl.routing.edge_weights import LARGEST

__all__ = ["MATRICES", "PROBLEM", "SHIPMENT", "STEP", "TASK", "VEHICLE", "without_empty"]

_COUNT = Integer(0, int(LARGEST))
_AMOUNTS = Array(_COUNT)
_WINDOW = Array(Integer(0, int(LARGEST)), 2, 2)
_PLACE: dict[str, Kind] = {"location": Array(Number(), 2, 2), "location_index": Integer(0)}
_PER_TYPE = {
    "setup_per_type": "setup times that differ by vehicle type", "service_per_type": "service times that differ by vehicle type",
}  # fmt: skip
_STEP: dict[str, Kind] = {
    "description": String(), **_PLACE, "setup": _COUNT, "service": _COUNT, "time_windows": Array(_WINDOW, 1),
}  # fmt: skip
_RANK: dict[str, Kind] = {"skills": Array(Integer(0)), "priority": Integer(0, 100)}
TASK = Object({"id": Integer(0)}, {**_STEP, **_RANK, "amount": _AMOUNTS, "delivery": _AMOUNTS, "pickup": _AMOUNTS}, _PER_TYPE)
"""A job."""
STEP = Object({"id": Integer(0)}, _STEP, _PER_TYPE)
"""One of the two ends of a shipment."""
SHIPMENT = Object({"pickup": STEP, "delivery": STEP}, {**_RANK, "amount": _AMOUNTS})
COSTS = Object({}, {"fixed": _COUNT, "per_hour": _COUNT, "per_task_hour": _COUNT, "per_km": _COUNT})
VEHICLE = Object(
    {"id": Integer(0)},
    {
        "description": String(), "profile": String(), "type": String(), "start": Array(Number(), 2, 2),
        "start_index": Integer(0), "end": Array(Number(), 2, 2), "end_index": Integer(0), "capacity": _AMOUNTS, "costs": COSTS,
        "skills": Array(Integer(0)), "time_window": _WINDOW, "speed_factor": Number(0.01, 5), "max_tasks": Integer(0),
        "max_travel_time": _COUNT, "max_distance": _COUNT,
    },
    {
        "breaks": "breaks that may be taken on the way (in corl's own JSON, a break is taken at a client)",
        "steps": "a given route (as a solution, it is accepted by --warm-start)",
    },
)  # fmt: skip
_MATRIX = Array(Array(_COUNT, 1), 1)
MATRICES = Object({"durations": _MATRIX}, {"distances": _MATRIX, "costs": _MATRIX})
"""The matrices of one profile."""
PROBLEM = Object(
    {"vehicles": Array(VEHICLE, 1)},
    {
        "jobs": Array(TASK), "shipments": Array(SHIPMENT), "matrices": Object({}, open=True), "matrix": _MATRIX,
        "description": Anything(),
    },
)  # fmt: skip


def without_empty(value: object) -> object:
    """Return JSON values without the keys of objects whose value is null, an empty list or an empty object: they say nothing."""
    if isinstance(value, dict):
        return {key: without_empty(each) for key, each in value.items() if each is not None and each != [] and each != {}}
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return [without_empty(each) for each in value]
    return value
