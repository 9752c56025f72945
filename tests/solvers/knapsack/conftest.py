"""The instances and the enumeration of the family."""

from __future__ import annotations

import pytest

from support.families import knapsack as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (items, constraints, seed, kind) -> KnapsackInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def most():
    """A function: the most that fits, by enumeration."""
    return family.most
