"""The instances and the enumeration of the family."""

from __future__ import annotations

import pytest

from support.families import memory_static as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (buffers, seed, kind) -> StaticInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def lowest():
    """A function: the lowest height, by enumeration."""
    return family.lowest
