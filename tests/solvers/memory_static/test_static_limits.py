"""Time limits on large allocations: our solvers take no more than 0.2 s of processor time beyond them."""

from __future__ import annotations

import pytest

from corl.problems.memory_static.generators import large


@pytest.mark.chance
@pytest.mark.parametrize("limit", [0.1, pytest.param(1.0, marks=pytest.mark.long)])
@pytest.mark.parametrize("solver", ["first-fit", "branch-and-bound", "cp-sat"])
def test_large_allocations(overtime, solver, limit):
    """10,000 buffers: a first pass over them by each rule takes half a second. Engines of others end when they please."""
    assert overtime(large(size=10_000), solver, limit) < (0.6 if solver == "cp-sat" else 0.2)
