"""Shared by the tests of bandits: small random instances under every kind of constraint."""

from __future__ import annotations

import pytest

from support.families import bandits as family


@pytest.fixture(scope="session")
def some():
    """A function (kind, arms, seed) -> BanditInstance."""
    return family.random_instance
