"""VROOM's JSON: problems and solutions of the routing engine VROOM, read and written; see formats.md."""
