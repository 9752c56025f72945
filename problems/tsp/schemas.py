"""The JSON schema of tours."""

from corl.files.json_schemas import TEXT, array, document, either, integer

__all__ = ["SCHEMAS"]

SCHEMAS = {"solution": document("corl tsp solution: cities in visiting order, by their ids or names",
                                either(array(integer()), array(TEXT)))}  # fmt: skip
