"""Time limits on large allocations: no solver takes over 0.2 s of processor time beyond its limit."""

from __future__ import annotations

import pytest

from corl.problems.memory_static.generators import large


@pytest.mark.parametrize("limit", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("solver", ["first-fit", "branch-and-bound", "cp-sat"])
def test_large_allocations(overtime, solver, limit):
    """10,000 buffers: a first pass over them by each rule takes half a second."""
    assert overtime(large(size=10_000), solver, limit) < 0.2
