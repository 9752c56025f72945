"""Shared by the tests of branch and bound as a decision process: tiny programs of every kind."""

from __future__ import annotations

import pytest

from support.families import milp_branching as family


@pytest.fixture(scope="session")
def tiny():
    """A function (seed, variables) -> BranchingInstance."""
    return family.sample
