"""Shared by the tests of the knapsack: small random instances, and the best value by enumeration."""

from __future__ import annotations

import pytest

from support.families import knapsack as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (items, constraints, seed, kind) -> KnapsackInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def most():
    """A function: the best value of an instance of at most about fourteen items."""
    return family.most
