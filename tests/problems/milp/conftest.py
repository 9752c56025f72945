"""Small random programs of every kind that the formats and the judge must take."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.milp.instance import from_triplets


@pytest.fixture(scope="session")
def random_program():
    """A function (seed) -> MilpInstance of up to 6 variables and 5 rows: free, fixed, one-sided, ranged, empty ones too."""

    def make(seed):
        random = np.random.default_rng(seed)
        n, m = int(random.integers(1, 7)), int(random.integers(0, 6))
        dense = np.where(random.random((m, n)) < 0.6, np.round(random.normal(0, 3, (m, n)), int(random.integers(0, 17))), 0.0)
        rows, columns = np.nonzero(dense)
        low = np.round(random.normal(-4, 5, m), 3)
        high = low + np.where(random.random(m) < 0.4, 0.0, random.integers(1, 9, m))
        low, high = np.where(random.random(m) < 0.4, -np.inf, low), np.where(random.random(m) < 0.3, np.inf, high)
        lower = random.choice([0.0, 0.0, -3.0, 1.0, -np.inf, 0.5], n)
        upper = np.maximum(random.choice([1.0, 1.0, np.inf, 4.0, 0.0, 2.5], n), lower)
        upper = np.where(np.isinf(lower) & (random.random(n) < 0.5), -2.0, upper)
        return from_triplets(
            f"random-{seed}",
            random.choice(["min", "max"]),
            np.round(random.normal(0, 5, n), 12) * (random.random(n) < 0.8),
            rows,
            columns,
            dense[rows, columns],
            low,
            high,
            lower=lower,
            upper=upper,
            integer=random.random(n) < 0.6,
            offset=float(random.choice([0.0, 2.5, -1e-7])),
            names=[f"v#{j}[{j},a]" for j in range(n)],
            row_names=[f"row.{i}" for i in range(m)],
            comment="a\nb c",
        )

    return make
