"""Shared by the tests of orienteering: small random instances, and the best score by enumeration."""

from __future__ import annotations

import pytest

from support.families import orienteering as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (n, kind, seed, closed) -> OrienteeringInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def most():
    """A function: the best score of an instance of at most about seven nodes."""
    return family.most
