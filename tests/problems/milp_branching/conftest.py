"""Shared by the tests of branch and bound as a decision process: tiny programs of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.milp.instance import from_triplets
from corl.problems.milp_branching.instance import BranchingInstance


def sample(seed: int, variables: int = 5) -> BranchingInstance:
    """Bounded integers and, in every third, a continuous variable; some are infeasible; min or max with a constant."""
    random = np.random.default_rng(seed)
    dense = random.integers(-4, 5, (3, variables)).astype(float)
    rows, columns = np.nonzero(dense)
    low = random.integers(-8, 6, 3) + 0.5
    whole = np.arange(variables) < variables - (seed % 3 == 0)
    return BranchingInstance(
        from_triplets(
            f"t{seed}", ["min", "max"][seed % 2], random.integers(-9, 10, variables) + 0.25, rows, columns, dense[rows, columns],
            low, low + random.integers(1, 7, 3), lower=-1, upper=2, integer=whole, offset=3.5,
        )
    )  # fmt: skip


@pytest.fixture(scope="session")
def tiny():
    """A function (seed, variables) -> BranchingInstance."""
    return sample
