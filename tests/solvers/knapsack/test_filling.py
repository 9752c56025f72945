"""Prices of capacities: sifting a core of the items gives the linear programme's optimum."""

from __future__ import annotations

import pytest

from corl.problems.knapsack.generators import multi
from corl.solvers.knapsack import filling


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("core", [30, 200])
def test_a_core_gives_the_bound_of_all_items(seed, core, monkeypatch):
    """Whatever its size, the bound at its prices is the one at the prices of the whole programme."""
    instance = multi(size=1000 + 300 * seed, constraints=2 + seed, seed=seed)
    whole = filling.linear_bound(instance, filling.prices(instance))
    monkeypatch.setattr(filling, "_CORE_SIZE", core)
    assert filling.linear_bound(instance, filling.prices(instance)) == whole


def test_no_time_no_prices():
    """None where the seconds are too few, and the greedy solver has a solution all the same."""
    instance = multi(size=50, constraints=2)
    assert filling.prices(instance, 1e-9) is None and filling.prices(instance, 60.0) is not None
