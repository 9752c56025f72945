"""What users hold in Python: NumPy's arrays and numbers are taken wherever lists and numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from corl import registry
from support.families import family

HELD = {name: family(name).HELD for name in registry.problems() if hasattr(family(name), "HELD")}
"""What users hold, by problem; nothing where they hold files, Models and modules."""


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


def test_every_problem_says_what_is_held():
    """A new problem is tested as well."""
    assert set(HELD) == set(registry.problems())


@pytest.mark.parametrize(("name", "number"), [(name, k) for name, values in HELD.items() for k in range(len(values))])
def test_arrays_are_taken_as_lists_are(name, number, tmp_path):
    """Lists, arrays, lists of arrays and NumPy's numbers give the same instance."""
    problem, held = registry.problem(name), HELD[name][number]
    written = []
    for k, data in enumerate((held, arrays(held), rows(held))):
        problem.write(problem.adapt(data), tmp_path / f"{k}.json")
        written.append((tmp_path / f"{k}.json").read_text())
    assert written[0] == written[1] == written[2]
