"""Nested search: valid plans, better with more playouts; options."""

from __future__ import annotations

import pytest

import corl
from corl.errors import UsageError
from corl.problems.memory.mapping.generators import dag, layered


def test_more_playouts_are_no_worse():
    """The same bits twice for a seed; with more playouts no worse, and better on most programs."""
    ahead = 0
    for seed in range(3):
        instance = layered(layers=8, fast_mib=2.0, seed=seed)
        one, again = (corl.solve(instance, solver="nested-search", iterations=200, seed=1) for _ in range(2))
        first = corl.solve(instance, solver="nested-search", iterations=1, seed=1)
        assert one.verified and first.objective >= one.objective == again.objective >= one.bound
        ahead += first.objective > one.objective * (1 + 1e-6)
    assert ahead >= 2


def test_restarts_and_options():
    """Biases that begin again lose no plan; options out of range are said in words."""
    short = corl.solve(dag(ops=12, seed=2), solver="nested-search", iterations=60, playouts=2, patience=1)
    assert short.verified and short.limit == "iterations"
    for options in ({"playouts": 0}, {"rate": 0.0}, {"shares": -1.0}, {"patience": 0}):
        with pytest.raises(UsageError, match=f"{next(iter(options))} is"):
            corl.solve(dag(ops=12), solver="nested-search", **options)
