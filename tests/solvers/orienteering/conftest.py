"""The instances and the enumeration of the family."""

from __future__ import annotations

import pytest

from support.families import orienteering as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (n, kind, seed, closed) -> OrienteeringInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def most():
    """A function: the best score, by enumeration."""
    return family.most
