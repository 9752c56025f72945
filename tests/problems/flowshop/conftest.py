"""Shared by the tests of the flow shop: random instances of every kind, and the best objective by enumeration."""

from __future__ import annotations

import pytest

from support.families import flowshop as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (kind, jobs, machines, seed) -> FlowShopInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def worth():
    """A function: what a sequence is worth, or a part of one."""
    return family.worth


@pytest.fixture(scope="session")
def least():
    """A function: the least objective of an instance of at most about seven jobs."""
    return family.least
