"""JSON schemas of the orienteering problem's instances and solutions."""

from corl.files.json_schemas import TEXT, array, choice, constant, document, integer, number, record
from corl.routing.edge_weights import COORDINATE_TYPES

__all__ = ["SCHEMAS"]

_INSTANCE = record(
    {"scores": array(number(), 1), "limit": number(0)},
    {
        "problem": constant("orienteering"), "name": TEXT, "comment": TEXT, "ids": array(integer(), 1), "start": integer(),
        "end": integer(), "points": array(array(number(), 2, 3), 1), "matrix": array(array(number(), 1), 1),
        "edge_weight_type": choice([*COORDINATE_TYPES, "EXPLICIT"]),
    },
)  # fmt: skip
_INSTANCE["oneOf"] = [{"properties": {key: {"type": "array"}}, "required": [key]} for key in ("points", "matrix")]
SCHEMAS = {
    "instance": document("corl orienteering instance", _INSTANCE),
    "solution": document("corl orienteering solution: nodes in order, start and end listed, in the file's ids", array(integer())),
}
