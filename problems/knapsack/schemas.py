"""JSON schemas of the knapsack problem's instances and solutions."""

from corl.files.json_schemas import TEXT, array, constant, document, either, integer, number, record
from corl.problems.knapsack.instance import LARGEST

__all__ = ["SCHEMAS"]

_NUMBERS = array(number(0, LARGEST), 1)
_INSTANCE = record(
    {"values": _NUMBERS, "weights": either(_NUMBERS, array(_NUMBERS, 1)), "capacities": either(number(0, LARGEST), _NUMBERS)},
    {"problem": constant("knapsack"), "name": TEXT, "comment": TEXT, "first_item": integer(0, 1)},
)
SCHEMAS = {
    "instance": document("corl knapsack instance", _INSTANCE),
    "solution": document("corl knapsack solution: the items taken, in the file's numbers", array(integer())),
}
