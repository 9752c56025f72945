"""Shared by the tests of the TSP: random instances of every kind."""

from __future__ import annotations

import pytest

from support.families import tsp as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (kind, n, seed) -> TspInstance."""
    return family.random_instance
