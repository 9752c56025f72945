"""JSON schemas of job shops, with all rules, and of schedules."""

from corl.files.json_schemas import FLAG, TEXT, Schema, array, choice, constant, document, either, generated, integer, record
from corl.problems.jobshop.generators import GENERATORS
from corl.problems.jobshop.instance import HORIZON, LARGEST_MACHINES, OBJECTIVES

__all__ = ["SCHEMAS"]

_NULL: Schema = {"type": "null"}
_TIME = integer(0, HORIZON)
_COUNTS = array(integer(0), 1)
_PAIR = array(integer(0), 2, 2)
_OPERATIONS = array(either(_PAIR, array(_PAIR, 1)), 1)
_JOB = record(
    {"operations": _OPERATIONS},
    {
        "name": TEXT,
        "release": _TIME, "due": _TIME, "weight": _TIME, "earliest": array(_TIME, 1), "no_wait": either(FLAG, array(FLAG, 1)),
        "family": either(integer(0), _COUNTS), "early": integer(0), "earliness": integer(0),
        "fixed": array(either(_PAIR, _NULL), 1),
    },
)  # fmt: skip
_SPELL: Schema = {"type": "array", "prefixItems": [integer(0), either(integer(0), _NULL)], "items": False, "minItems": 2}
_SETUPS = record({"between": array(_COUNTS, 1)}, {"first": _COUNTS})
_INSTANCE = record(
    {"machines": integer(1, LARGEST_MACHINES), "jobs": array(either(_JOB, _OPERATIONS), 1)},
    {
        "problem": constant("jobshop"), "name": TEXT, "comment": TEXT, "first_machine": integer(0, 1),
        "machine_names": array(TEXT, 1),
        "objective": choice(OBJECTIVES), "now": _TIME, "unavailable": array(array(_SPELL)),
        "setups": array(either(_SETUPS, _NULL)),
    },
)  # fmt: skip
_ROWS = array(array(integer()))
SCHEMAS = {
    "instance": document("corl jobshop instance", either(_INSTANCE, generated("jobshop", GENERATORS))),
    "solution": document("corl jobshop schedule: start and machine of each operation, a list a job",
                         record({"start": _ROWS, "machine": array(array(either(integer(), TEXT)))}, {"job": array(TEXT)})),
}  # fmt: skip
