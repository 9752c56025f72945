"""The JSON schema of branch-and-bound trees."""

from corl.files.json_schemas import TEXT, Schema, array, choice, document, either, number, table

__all__ = ["SCHEMAS"]

_NODE: Schema = {"type": "array", "prefixItems": [TEXT, number(), choice(("up", "down"))], "items": False, "minItems": 3}
_NULL: Schema = {"type": "null"}
_TREE: Schema = {
    "type": "object",
    "properties": {"tree": array(either(_NODE, _NULL)), "incumbent": either(table(number()), _NULL)},
    "required": ["tree", "incumbent"],
}
SCHEMAS = {"solution": document("corl milp-branching solution: a tree in preorder, null for a leaf", _TREE)}
