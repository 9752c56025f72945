"""Small random instances with every feature that a solver may meet, and their optima by enumeration."""

from __future__ import annotations

import pytest

from support.families.vrp_features import make_instance
from support.mixes.vrp_routes import least_cost


@pytest.fixture(scope="session")
def make():
    """A function (feature, clients, seed) -> VrpInstance."""
    return make_instance


@pytest.fixture(scope="session")
def least():
    """A function VrpInstance -> its optimum."""
    return least_cost
