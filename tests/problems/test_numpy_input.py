"""What users hold in Python: NumPy's arrays and numbers are taken wherever lists and numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from corl import registry

SQUARE = [[0, 2, 3], [2, 0, 4], [3, 4, 0]]
ROUTING = {
    "matrix": SQUARE, "depots": [{"id": 1, "window": [0, 50]}], "vehicles": [{"capacity": 9, "count": 2, "fixed_cost": 1.5}],
    "clients": [{"id": 2, "demand": 3, "service": 1, "window": [0, 40]}, {"id": 3, "demand": 4, "prize": 7, "required": True}],
}  # fmt: skip
HELD = {
    "flowshop": [[[3, 2], [1, 4]], {"durations": [[3, 2], [1, 4]], "setups": [[[0, 1], [2, 0]], [[0, 3], [1, 0]]]}],
    "jobshop": [[[[0, 3], [1, 2]], [[1, 4], [0, 1]]], [[[[0, 3], [1, 4]], [[1, 2]]]]],
    "knapsack": [([3, 4], [2, 3], 4), {"values": [3, 4], "weights": [[2, 3], [1, 1]], "capacities": [4, 2]}],
    "memory-static": [[[0, 2, 8], [1, 3, 4]], {"lower": [0, 1], "upper": [2, 3], "size": [8, 4]}],
    "orienteering": [
        {"points": [[0, 0], [3, 4], [6, 0]], "scores": [0, 5, 3], "limit": 12.5, "start": 0, "end": 2},
        {"matrix": SQUARE, "scores": [0, 5, 3], "limit": 9, "ids": [4, 5, 6]},
    ],
    "tsp": [[[0.0, 1.0], [2.0, 3.0], [4.0, 0.0], [1.0, 1.0]], SQUARE],
    "vrp": [ROUTING],
}
NOTHING = {"bandits", "memory", "milp", "milp-branching"}  # they take files, Models and modules


def arrays(value):
    """`value` with every list of numbers, of any depth, as one array, and every number as NumPy's."""
    if isinstance(value, dict):
        return {key: arrays(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map(arrays, value))
    try:
        found = np.asarray(value)
    except ValueError:  # ragged
        return [arrays(item) for item in value]
    return found[()] if found.dtype.kind in "ifb" else [arrays(item) for item in value]


def rows(value):
    """The same with the innermost lists alone as arrays."""
    if isinstance(value, dict):
        return {key: rows(item) for key, item in value.items()}
    if isinstance(value, list) and isinstance(value[0], (list, dict)):
        return [rows(item) for item in value]
    return tuple(map(rows, value)) if isinstance(value, tuple) else np.asarray(value)[()]


def test_the_table_has_every_problem():
    """A new problem is tested as well."""
    assert set(HELD) | NOTHING == set(registry.problems())


@pytest.mark.parametrize(("name", "number"), [(name, k) for name, values in HELD.items() for k in range(len(values))])
def test_arrays_are_taken_as_lists_are(name, number, tmp_path):
    """Lists, arrays, lists of arrays and NumPy's numbers give the same instance."""
    problem, held = registry.problem(name), HELD[name][number]
    written = []
    for k, data in enumerate((held, arrays(held), rows(held))):
        problem.write(problem.adapt(data), tmp_path / f"{k}.json")
        written.append((tmp_path / f"{k}.json").read_text())
    assert written[0] == written[1] == written[2]
