"""JSON schemas of vehicle routing's instances, with all rules, and of solutions."""

from corl.files.json_schemas import FLAG, TEXT, Schema, array, choice, constant, document, either, integer, number, record
from corl.problems.vrp.instance import FLEETS
from corl.routing.edge_weights import COORDINATE_TYPES, LARGEST

__all__ = ["SCHEMAS"]

_AMOUNT = number(0, LARGEST)
_LOAD = either(number(0), array(number(0), 1))
"""A number, or one for each dimension of loads."""
_END: Schema = {"type": ["number", "string", "null"], "minimum": 0, "pattern": r"^\d{1,2}:\d{2}(:\d{2})?$"}
_WINDOW = array(_END, 2, 2)
_IDS = array(integer())
_MATRIX = array(array(number(-LARGEST, LARGEST), 1), 1)
_NODE: dict[str, Schema] = {
    "id": integer(0), "name": TEXT, "x": number(), "y": number(), "z": number(), "lat": number(-90, 90), "lon": number(-360, 360),
    "window": _WINDOW, "at": array(number(), 2, 2),
}  # fmt: skip
_CLIENT = _NODE | {
    "demand": _LOAD, "pickup": _LOAD, "service": _AMOUNT, "prize": _AMOUNT, "required": FLAG, "release": _AMOUNT,
    "windows": array(_WINDOW, 1),
}  # fmt: skip
_BREAK = record({"window": _WINDOW, "duration": _AMOUNT})
_VEHICLE: dict[str, Schema] = {
    "name": TEXT, "capacity": _LOAD, "count": integer(-1), "depot": integer(), "end_depot": integer(), "fixed_cost": _AMOUNT,
    "unit_cost": _AMOUNT, "max_distance": number(0), "max_duration": number(0), "allowed": _IDS, "shift": _WINDOW,
    "stays_out": FLAG, "reloads": integer(0), "reload_depots": _IDS, "duration_cost": _AMOUNT, "overtime_from": _AMOUNT,
    "overtime_cost": _AMOUNT, "breaks": array(_BREAK), "max_driving": _AMOUNT, "rest": _AMOUNT, "profile": integer(0),
    "begun": _IDS, "aboard": _LOAD,
}  # fmt: skip
_SHIPMENT = record({"from": integer(), "to": integer()}, {"amount": _LOAD})
_GROUP = record({"clients": array(integer(), 1)}, {"required": FLAG})
_INSTANCE = record(
    {"depots": array(record({}, _NODE), 1), "clients": array(record({}, _CLIENT), 1), "vehicles": array(record({}, _VEHICLE), 1)},
    {
        "problem": constant("vrp"), "name": TEXT, "comment": TEXT, "coordinates": choice(("plane", "latlon")),
        "units": record({}, {"distance": TEXT, "time": TEXT, "load": TEXT}), "edge_weight_type": choice(COORDINATE_TYPES),
        "matrix": _MATRIX, "rounding": choice(("nint", "exact", "dimacs")), "speed": number(), "fleet": choice(FLEETS),
        "shipments": array(_SHIPMENT), "groups": array(_GROUP), "backhauls_last": FLAG,
        "profiles": array(record({}, {"distances": _MATRIX, "durations": _MATRIX})),
    },
)  # fmt: skip
_CALLED = either(integer(), TEXT)
_VISITS = array(_CALLED)
_ROUTE = record({"vehicle": either(integer(0), TEXT), "visits": _VISITS}, {"depot": _CALLED, "end_depot": _CALLED})
SCHEMAS = {
    "instance": document("corl vrp instance", _INSTANCE),
    "solution": document("corl vrp solution: a list of the file's ids or names for each route", array(either(_VISITS, _ROUTE))),
}
