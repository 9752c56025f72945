"""Shared by the tests of vehicle routing: small random instances of every kind."""

from __future__ import annotations

import pytest

from support.families import vrp as family
from support.mixes.vrp_routes import least_cost


@pytest.fixture(scope="session")
def random_vrp():
    """A function (seed, clients, plain) -> VrpInstance."""
    return family.random_vrp


@pytest.fixture(scope="session")
def plain_cost():
    """A function (instance, routes) -> the objective in plain Python, or None."""
    return family.plain_cost


@pytest.fixture(scope="session")
def best_cost():
    """A function (instance) -> the optimum by enumeration."""
    return least_cost
