"""Shared by the tests of the job shop: random instances of every kind, and the best objective by enumeration."""

from __future__ import annotations

import pytest

from support.families import jobshop as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (kind, jobs, machines, seed) -> JobShopInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def least():
    """A function: the least objective of an instance of at most about seven operations."""
    return family.least
