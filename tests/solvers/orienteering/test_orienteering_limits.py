"""Time limits on large problems: no solver takes over 0.2 s of processor time beyond its limit."""

from __future__ import annotations

import pytest

from corl.problems.orienteering.generators import generation_2


@pytest.mark.chance
@pytest.mark.parametrize("limit", [0.1, pytest.param(1.0, marks=pytest.mark.long)])
@pytest.mark.parametrize("solver", ["ruin-recreate", "ortools"])
def test_large_problems(overtime, solver, limit):
    """5,000 nodes, the most that OR-Tools takes: its matrix takes seconds."""
    assert overtime(generation_2(size=5000), solver, limit) < 0.2
