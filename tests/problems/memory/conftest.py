"""Shared by the tests of memory mapping: tiny random programs with alias groups, and random plans for them."""

from __future__ import annotations

import pytest

from support.families import memory as family


@pytest.fixture(scope="session")
def tiny():
    """A function (seed, ops, fast, aliases) -> MappingInstance."""
    return family.tiny


@pytest.fixture(scope="session")
def random_plan():
    """A function (instance, Generator) -> MappingPlan."""
    return family.random_plan
