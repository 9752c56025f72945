"""The JSON schema of solutions of mixed-integer programs."""

from corl.files.json_schemas import document, number, table

__all__ = ["SCHEMAS"]

SCHEMAS = {"solution": document("corl milp solution: {variable: value}, zeros left out", table(number()))}
