"""The instances and the enumeration of the family."""

from __future__ import annotations

import pytest

from support.families import flowshop as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (kind, jobs, machines, seed) -> FlowShopInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def worth():
    """A function (instance, sequence) -> the objective, by the definition."""
    return family.worth


@pytest.fixture(scope="session")
def least():
    """A function: the least objective, by enumeration."""
    return family.least
