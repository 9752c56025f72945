"""Shared by the tests of static allocation: small random instances, and the lowest height by enumeration."""

from __future__ import annotations

import pytest

from support.families import memory_static as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (buffers, seed, kind) -> StaticInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def overlap():
    """A function (instance, offsets): whether two buffers overlap."""
    return family.overlap


@pytest.fixture(scope="session")
def lowest():
    """A function: the lowest height of a small instance."""
    return family.lowest
