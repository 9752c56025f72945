"""JSON schemas of flow shops and of sequences."""

from corl.files.json_schemas import TEXT, array, choice, constant, document, either, generated, integer, record
from corl.problems.flowshop.generators import GENERATORS
from corl.problems.flowshop.instance import HORIZON, OBJECTIVES

__all__ = ["SCHEMAS"]

_TABLE = array(array(integer(0, HORIZON), 1), 1)
_INSTANCE = record(
    {"durations": _TABLE},
    {"problem": constant("flowshop"), "name": TEXT, "comment": TEXT, "objective": choice(OBJECTIVES), "setups": array(_TABLE, 1)},
)
SCHEMAS = {
    "instance": document("corl flowshop instance", either(_INSTANCE, generated("flowshop", GENERATORS))),
    "solution": document("corl flowshop solution: the jobs in their sequence, from 0", array(integer(0))),
}
