"""The JSON schema of static allocations."""

from corl.files.json_schemas import document, integer, table

__all__ = ["SCHEMAS"]

SCHEMAS = {"solution": document("corl memory-static solution: {buffer: offset}", table(integer()))}
